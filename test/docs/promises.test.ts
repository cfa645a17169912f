import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);

test("every test that docs/promises.md names is there", () => {
  const text = readFileSync(new URL("docs/promises.md", ROOT), "utf8");
  const named = [...text.matchAll(/`(test\/[\w/-]+\.test\.ts)`/g)].map(([, path]) => path as string);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((path) => !existsSync(fileURLToPath(new URL(path, ROOT))))).toEqual([]);
});
