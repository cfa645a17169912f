import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { runCli } from "../../run-cli.js";

const HEAD = "symbol,trade_date,open,high,low,close,volume\n";
const BARS = "600519.SH,2024-01-02,10,11,9,10,100\n600519.SH,2024-01-03,10,11,9,10,200\n";

test("two sources are compared, with exit code 1 where they differ; an import can be held back by it", async () => {
  const place = temporaryFolder();
  const run = (...parameters: string[]) => runCli(parameters, { cwd: place });
  writeFileSync(join(place, "bars.csv"), HEAD + BARS);
  writeFileSync(
    join(place, "others.csv"),
    `${HEAD}${BARS.replace("9,10,200", "9,10.9,200")}600519.SH,2024-01-04,10,11,9,10,7\n`,
  );
  const take = ["--volume-unit", "shares", "--lake", "lake"];
  expect(await run("import", "bars_1d", "bars.csv", "--compare", ...take)).toMatchObject({ code: 0 });
  const same = await run("compare", "lake", "bars.csv", "bars_1d");
  expect([same.code, same.stdout]).toEqual([0, expect.stringContaining("no difference")]);
  const shown = await run("compare", "lake", "others.csv", "bars_1d");
  expect(shown.code).toBe(1);
  expect(shown.stdout).toMatch(/^stale +1 +1 +2024-01-04 +2024-01-04 +1$/m);
  expect(shown.stdout).toContain("value: 600519.SH 2024-01-03  A close 10  B close 10.9");
  const machine = JSON.parse((await run("compare", "lake", "others.csv", "bars_1d", "--json")).stdout);
  expect(machine.tables[0].differences).toMatchObject([
    { kind: "stale", rows: 1, onlyB: 1 },
    { kind: "value", rows: 1, most: [{ symbol: "600519.SH", rows: 1 }] },
  ]);
  const held = await run("import", "bars_1d", "others.csv", "--compare", ...take);
  expect(held.code).toBe(1);
  expect(held.stdout).toMatch(/value: 600519\.SH 2024-01-03 {2}A close 10\.9 {2}B close 10\n/);
  expect(held.stdout).not.toMatch(/^stale/m);
  expect(held.stdout).toContain("nothing was imported");
  expect((await run("compare", "lake", "bars.csv", "bars_1d")).code).toBe(0);
  writeFileSync(join(place, "names.csv"), `symbol,trade_date,o,h,l,c,v\n${BARS}`);
  const none = await run("compare", "lake", "names.csv", "bars_1d");
  expect([none.code, none.stdout]).toEqual([1, expect.stringContaining("nothing was compared")]);
  expect((await run("compare", "lake", "names.csv", "bars_1d", "--map", "close=x")).stderr).toContain(
    "has no column x; its columns are symbol, trade_date, o",
  );
  expect((await run("compare", "lake", "bars.csv")).stderr).toContain("a file is compared with one table");
  expect((await run("compare", "lake", "none.csv", "bars_1d")).stderr).toContain("there is no such file");
  expect((await run("compare", "lake", "nothing", "bars_1d")).stderr).toContain("there is no such folder");
});
