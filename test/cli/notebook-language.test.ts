import { expect, test, vi } from "vitest";
import { findNotebook } from "../../src/cli/notebook/find-notebook.js";

test.each([
  [{ LANG: "zh_CN.UTF-8" }, "标的"],
  [{ LANG: "en_US.UTF-8", LC_MESSAGES: "zh_CN.UTF-8" }, "标的"],
  [{ LANG: "zh_CN.UTF-8", LC_ALL: "C" }, "Instrument"],
  [{ LC_ALL: "", LANG: "zh_CN.UTF-8" }, "标的"],
  [{}, "Instrument"],
])("a notebook in a terminal with %j is %s", async (environment, title) => {
  for (const name of ["LC_ALL", "LC_MESSAGES", "LANG"]) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const { notebook } = await findNotebook("instrument");
  vi.unstubAllEnvs();
  expect(notebook.title).toBe(title);
});
