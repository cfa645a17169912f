import { copyFileSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { EXIT } from "../../../../src/cli/cli.js";
import { addCheck } from "../../../../src/cli/commands/lake/check.js";
import { Lake } from "../../../../src/lake/lake.js";
import { readLog } from "../../../../src/lake/log/read-log.js";
import { emptySnapshot } from "../../../../src/lake/log/snapshot.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { runCli } from "../../run-cli.js";
import { runCommand } from "./run-command.js";

/** A lake with one imported bar. @returns its folder and its data file. */
async function smallLake(): Promise<{ lake: string; file: string }> {
  const place = temporaryFolder();
  const lake = join(place, "lake");
  writeFileSync(join(place, "600519.SH.csv"), "date,open,high,low,close,volume\n2024-01-02,10,11,9,10,100\n");
  expect((await runCli(["import", "bars_1d", join(place, "600519.SH.csv"), "--lake", lake])).code).toBe(0);
  const folder = join(lake, "bars_1d", "region=CN", "year=2024");
  return { lake, file: join(folder, readdirSync(folder)[0] as string) };
}

test("a sound lake: exit code 0, and what was looked at", async () => {
  const { lake } = await smallLake();
  const shallow = await runCli(["check", "--lake", lake]);
  expect([shallow.code, shallow.stdout]).toEqual([
    0,
    expect.stringMatching(/^1 table, 1 file \(.*\): nothing found\n$/),
  ]);
  const deep = await runCli(["check", "--deep", "--lake", lake, "--json"]);
  expect(deep.code).toBe(0);
  expect(JSON.parse(deep.stdout)).toMatchObject({
    deep: true,
    interrupted: false,
    tables: [{ table: "bars_1d", version: 0, files: 1, rows: 1 }],
    findings: [],
  });
});

test("findings: exit code 1, a table of them, and what to do", async () => {
  const { lake, file } = await smallLake();
  truncateSync(file, 100);
  const { code, stdout } = await runCli(["check", "bars_1d", "--lake", lake]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^1 table, 1 file \(.*\): 1 error\n\nseverity +table +version +rule +what\n/);
  expect(stdout).toMatch(
    /^error +bars_1d +0 +file_size +bars_1d\/region=CN\/year=2024\/p-.* has 100 bytes, and \d+ by the log$/m,
  );
  expect(stdout).toMatch(/^what to do:\n +file_size: restore it from a backup/m);
  const other = await runCli(["check", "bars_1m", "--lake", lake]);
  expect(other.code).toBe(0);
});

test("what is only worth knowing does not change the exit code", async () => {
  const { lake, file } = await smallLake();
  copyFileSync(file, `${file.slice(0, -8)}-stray.parquet`);
  mkdirSync(join(lake, ".staging"), { recursive: true });
  writeFileSync(join(lake, ".staging", "left.put"), "x");
  const { code, stdout } = await runCli(["check", "--deep", "--lake", lake, "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    findings: [
      { severity: "info", table: "bars_1d", rule: "file_unknown" },
      { severity: "info", rule: "staged_leftover", file: ".staging" },
    ],
  });
});

test("a part that fails leaves the results of the others, and its error", async () => {
  const { lake } = await smallLake();
  // The record of verifications cannot be written.
  writeFileSync(join(lake, "verified"), "");
  const parts = ["--deep", "--scrub", "--audits", "--sample", "1", "--lake", lake];
  const shown = await runCli(["check", ...parts]);
  expect(shown.stdout).toMatch(/^1 table, 1 file \(.*\), 1 row read: 1 info\n[^]*\n\d+ audits: /);
  expect(shown.stderr).toMatch(/^error: .*\nerror: .*verified/m);
  const { code, stdout } = await runCli(["check", ...parts, "--json"]);
  expect([shown.code, code]).toEqual([1, 1]);
  expect(JSON.parse(stdout)).toMatchObject({
    tables: [{ table: "bars_1d", rows: 1 }],
    findings: [{ rule: "verification_unrecorded" }],
    audits: { audits: expect.any(Number) },
    failures: [expect.stringContaining("verified"), expect.any(String)],
  });
});

test("audits over a damaged file fail; the findings of the others are shown, and then the error", async () => {
  const { lake } = await smallLake();
  const place = temporaryFolder();
  const csv = (name: string, lines: readonly string[]): string => {
    writeFileSync(join(place, name), `date,open,high,low,close,volume\n${lines.join("\n")}\n`);
    return join(place, name);
  };
  // A Saturday, which an audit finds.
  const daily = csv("600000.SH.csv", ["2024-01-06,10,11,9,10,100"]);
  const minutes = csv("600001.SH.csv", ["2024-01-02 09:31:00,10,11,9,10,100"]);
  expect((await runCli(["import", "bars_1d", daily, "--lake", lake])).code).toBe(0);
  expect((await runCli(["import", "bars_1m", minutes, "--lake", lake])).code).toBe(0);
  const folder = join(lake, "bars_1m", "region=CN", "month=2024-01-01");
  truncateSync(join(folder, readdirSync(folder)[0] as string), 100);
  const { code, stdout, stderr } = await runCli(["check", "bars_1d", "--audits", "--lake", lake]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/no_session: 1 row/);
  expect(stderr).toMatch(/^error: audits .*minute_labels.*: .*bars_1m/);
});

test("an interrupted check says so, and not that nothing was found", async () => {
  const { lake } = await smallLake();
  const interrupted = async (at: "before" | "bars_1d", ...more: string[]) => {
    const stop = new AbortController();
    if (at === "before") stop.abort();
    using _ = vi.spyOn(Lake.prototype, "snapshot").mockImplementation(function (this: Lake, table) {
      if (table.name === at) stop.abort();
      return readLog(this.storage, emptySnapshot(table));
    });
    return await runCommand(addCheck, ["check", "--lake", lake, ...more], stop.signal);
  };
  expect(await interrupted("before")).toEqual({
    code: EXIT.interrupted,
    stdout: "interrupted: 0 tables checked\n",
  });
  const { code, stdout } = await interrupted("bars_1d");
  expect(code).toBe(EXIT.interrupted);
  expect(stdout).toMatch(/^1 table, 1 file \(.*\): nothing found until then; interrupted\n$/);
  expect(JSON.parse((await interrupted("bars_1d", "--json")).stdout)).toMatchObject({
    interrupted: true,
    tables: [{ table: "bars_1d" }],
    findings: [],
  });
});
