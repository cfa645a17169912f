import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { runCli } from "../run-cli.js";

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

const BARE = "date,open,high,low,close,volume\n2026-11-18,10,11,9,10.5,100\n2026-11-19,10,9,11,10.5,100\n";

test("bare codes get their exchange, one file its symbol; a dry run judges the rows and makes nothing", async () => {
  const place = temporaryFolder();
  writeFileSync(join(place, "AAPL.csv"), BARE);
  const run = (...parameters: string[]) =>
    runCli(["import", "bars_1d", "AAPL.csv", "--lake", "lake", ...parameters], { cwd: place });
  const dry = await run("--exchange", "US", "--dry-run");
  expect(dry.stdout).toMatch(/^dry run: nothing was written\n[^\n]*\nbars_1d +1\n/m);
  expect(dry.stdout).toMatch(
    /1 row set aside\n[^\n]*\n +1 +high_below_low +AAPL\.csv +3 +high 9\.0 is below low 11\.0/,
  );
  const machine = await run("--exchange", "US", "--dry-run", "--json");
  expect(JSON.parse(machine.stdout)).toMatchObject({
    dryRun: true,
    landed: [{ table: "bars_1d", inserted: 1 }],
  });
  expect(readdirSync(place)).toEqual(["AAPL.csv"]);
  expect((await run()).stderr).toMatch(
    /its name is not a symbol\nhint: +add --symbol AAPL\.US, or --exchange US/,
  );
  expect((await run("--exchange", "NYSE")).stderr).toMatch(
    /--exchange NYSE: is not known\nhint: +the suffixes are SH/,
  );
  expect((await run("--symbol", "MSFT.US", "AAPL.csv")).stderr).toMatch(
    /--symbol MSFT\.US: is for one file, and there are 2/,
  );
  expect(await run("--exchange", "US")).toMatchObject({ code: 0 });
  expect(await run("--symbol", "MSFT.US")).toMatchObject({ code: 0 });
  const found = await runCli(
    ["sql", "SELECT symbol FROM bars_1d ORDER BY 1", "--format", "csv", "--lake", "lake"],
    {
      cwd: place,
    },
  );
  expect(found.stdout).toBe("symbol\nAAPL.US\nMSFT.US\n");
});

test("a column is mapped whose name contains an equals sign", async () => {
  const place = temporaryFolder();
  writeFileSync(join(place, "AAPL.US.csv"), BARE.replace("volume", "volume=lots"));
  const parameters = ["import", "bars_1d", "AAPL.US.csv", "--lake", "lake", "--dry-run"];
  const shown = await runCli([...parameters, "--map", "volume=volume=lots"], { cwd: place });
  expect(shown.stdout).toMatch(/^bars_1d +1$/m);
});

test("an exchange completes only the symbols of a column that have none", async () => {
  const place = temporaryFolder();
  const row = ",2026-11-18,10,11,9,10.5,100\n";
  const symbols = ["AAPL", "BRK.B", "MSFT.US", "700.HK"];
  writeFileSync(
    join(place, "all.csv"),
    `symbol,date,open,high,low,close,volume\n${symbols.map((one) => one + row).join("")}`,
  );
  const lake = ["--lake", "lake"];
  expect(
    await runCli(["import", "bars_1d", "all.csv", "--exchange", "US", ...lake], { cwd: place }),
  ).toMatchObject({ code: 0 });
  const found = await runCli(["sql", "SELECT symbol FROM bars_1d ORDER BY 1", "--format", "csv", ...lake], {
    cwd: place,
  });
  expect(found.stdout).toBe("symbol\n00700.HK\nAAPL.US\nBRK.B.US\nMSFT.US\n");
});

test("a pipe is refused: it can be read once, and may have no end", async () => {
  const place = temporaryFolder();
  execFileSync("mkfifo", [join(place, "600519.SH.csv")]);
  const shown = await runCli(["import", "bars_1d", "600519.SH.csv", "--lake", "lake"], { cwd: place });
  expect(shown).toMatchObject({ code: 2, stdout: "" });
  expect(shown.stderr).toMatch(/^error: file 600519\.SH\.csv: is no file\nhint: +write what a pipe gives/);
  expect(existsSync(join(place, "lake", "bars_1d"))).toBe(false);
});
