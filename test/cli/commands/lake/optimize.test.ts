import { expect, test, vi } from "vitest";
import { EXIT } from "../../../../src/cli/cli.js";
import { addOptimize, growthText } from "../../../../src/cli/commands/lake/optimize.js";
import { Lake } from "../../../../src/lake/lake.js";
import { readLog } from "../../../../src/lake/log/read-log.js";
import { emptySnapshot } from "../../../../src/lake/log/snapshot.js";
import { BARS_1D, BARS_1M } from "../../../../src/schema/bars.js";
import { land, openSession, temporaryLake } from "../../../lake/temporary-lake.js";
import { runCli } from "../../run-cli.js";
import { type CommandResult, runCommand } from "./run-command.js";

const QUERY = "SELECT symbol, trade_date::VARCHAR AS date, close FROM bars_1d ORDER BY ALL";

/** A lake with one row in each file, of which there are three at most. */
async function scatteredLake(files = 3): Promise<string> {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (const [n, symbol] of ["600519.SH", "000001.SZ", "600000.SH"].slice(0, files).entries())
    await land(session, lake, BARS_1D, [
      { symbol, at: `2024-01-0${n + 2}T00:00:00+08:00`, close: 10 + n / 10 },
    ]);
  return lake.location;
}

test("optimize compacts, shows what it did, and the views read the new files", async () => {
  const lake = await scatteredLake();
  const rows = await runCli(["sql", "--lake", lake, "--format", "csv", QUERY]);
  const { code, stdout } = await runCli(["optimize", "bars_1d", "--lake", lake]);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /table +compacted +files before +after +size before +after\nbars_1d +1 +3 +1 +[\d.]+ kB +/,
  );
  expect(stdout).toContain("the replaced files remain for older versions, until barlake vacuum deletes them");
  const after = await runCli(["sql", "--lake", lake, "--format", "csv", QUERY]);
  expect(rows.stdout.split("\n")).toHaveLength(5);
  expect(after.stdout).toBe(rows.stdout);
  const state = "SELECT files, version FROM raw.tables WHERE name = 'bars_1d'";
  const tables = await runCli(["sql", "--lake", lake, "--format", "csv", state]);
  expect(tables.stdout).toBe("files,version\n1,3\n");
});

test("a landed file that is alone is left as it is, and it says why; --rewrite rewrites it", async () => {
  const lake = await scatteredLake(1);
  const optimize = (...more: string[]) => runCli(["optimize", "bars_1d", "--lake", lake, ...more]);
  const { stdout } = await optimize();
  expect(stdout).toMatch(/\nbars_1d +0 +1 +1 /);
  expect(stdout).toMatch(/\nleft as landed: 1 sorted file with nothing to be joined with; --rewrite .*\n$/);
  expect(JSON.parse((await optimize("--json")).stdout).tables).toMatchObject([
    { partitions: 0, asLanded: 1 },
  ]);
  const rewritten = await optimize("--rewrite");
  expect(rewritten.stdout).toMatch(/\nbars_1d +1 +1 +1 /);
  expect(rewritten.stdout).not.toContain("left as landed");
});

test("where tables become larger, it says why", () => {
  const one = { partitions: 1, bytesBefore: 100, bytesAfter: 125 } as const;
  expect(growthText([{ ...one, codec: "snappy" }])).toMatch(
    /^larger than before: .* snappy, which is quicker/,
  );
  const quiet = "the replaced files remain for older versions, until barlake vacuum deletes them\n";
  expect(growthText([{ ...one, codec: "snappy", bytesAfter: 90 }])).toBe(quiet);
  expect(growthText([{ ...one, codec: "zstd" }])).toBe(quiet);
  expect(growthText([{ ...one, codec: "snappy", partitions: 0 }])).toBe("");
});

test("without tables all are looked at; JSON for machines; the second time nothing is left to do", async () => {
  const lake = await scatteredLake();
  const first = await runCli(["optimize", "--lake", lake, "--json"]);
  expect(first.code).toBe(0);
  expect(JSON.parse(first.stdout)).toMatchObject({
    interrupted: false,
    tables: [{ table: "bars_1d", partitions: 1, skipped: [], filesBefore: 3, filesAfter: 1, version: 3 }],
  });
  const second = await runCli(["optimize", "--lake", lake, "--json"]);
  expect(JSON.parse(second.stdout)).toMatchObject({
    tables: [{ table: "bars_1d", partitions: 0, filesBefore: 1, filesAfter: 1, version: 3 }],
  });
});

/** Runs the command on two tables. The signal aborts as the log of the table `interruptIn` is read; with "" before. */
async function interrupted(
  { location }: Lake,
  interruptIn: string,
  ...more: string[]
): Promise<CommandResult> {
  const stop = new AbortController();
  if (interruptIn === "") stop.abort();
  using _ = vi.spyOn(Lake.prototype, "snapshot").mockImplementation(function (this: Lake, table) {
    if (table.name === interruptIn) stop.abort();
    return readLog(this.storage, emptySnapshot(table));
  });
  const args = ["optimize", BARS_1D.name, BARS_1M.name, "--lake", location, ...more];
  return await runCommand(addOptimize, args, stop.signal);
}

test("an interrupted optimize says so, and shows what it did before", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (const at of ["2026-11-02T16:00:00Z", "2026-11-03T16:00:00Z"])
    await land(session, lake, BARS_1D, [{ at }]);
  const rest = "interrupted: the next run compacts the rest\n";
  expect(await interrupted(lake, "")).toEqual({ code: EXIT.interrupted, stdout: rest });
  const { code, stdout } = await interrupted(lake, BARS_1D.name);
  expect(code).toBe(EXIT.interrupted);
  expect(stdout).toMatch(/\nbars_1d +0 +2 +2 [^]*\n/);
  expect(stdout.endsWith(rest)).toBe(true);
  expect(JSON.parse((await interrupted(lake, "", "--json")).stdout)).toEqual({
    interrupted: true,
    tables: [],
  });
  expect(JSON.parse((await interrupted(lake, BARS_1D.name, "--json")).stdout)).toMatchObject({
    interrupted: true,
    tables: [{ table: "bars_1d", partitions: 0 }],
  });
});
