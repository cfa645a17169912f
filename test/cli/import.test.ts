import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { runCli } from "./run-cli.js";

test("an import that fails when it writes lake.duckdb shows what has landed, and then the error", async () => {
  const place = temporaryFolder();
  const lake = join(place, "lake");
  const file = join(place, "600519.SH.csv");
  writeFileSync(
    file,
    "date,open,high,low,close,volume\n2024-01-02,10,11,9,10,100\n2024-01-03,10,11,9,10,100\n",
  );
  // A folder that is not empty cannot be replaced by a file.
  mkdirSync(join(lake, "lake.duckdb", "taken"), { recursive: true });
  const shown = await runCli(["import", "bars_1d", file, "--lake", lake]);
  expect(shown.code).toBe(1);
  expect(shown.stdout).toMatch(/^bars_1d +2 /m);
  expect(shown.stderr).toMatch(/^error: lake\.duckdb: the views could not be created again/m);
  const again = await runCli(["import", "bars_1d", file, "--lake", lake, "--json"]);
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stdout)).toMatchObject({
    landed: [{ table: "bars_1d", inserted: 0, unchanged: 2 }],
  });
});
