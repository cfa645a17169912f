import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import type { TradingDate } from "../../src/core/time.js";
import { compareLakes } from "../../src/jobs/maintenance/compare-lakes.js";
import { Lake } from "../../src/lake/lake.js";
import { openReader } from "../../src/lake/open-reader.js";
import { startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { runCli, runProcess } from "../cli/run-cli.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { IS_REPEAT, once } from "../once.js";
import { pickFrom, SWEEP } from "../sweep.js";

const noLimits = process.platform === "win32";

/** Bars of many symbols that hardly compress. @returns the path of a CSV file. */
function manyBars(folder: string, days: number, price = 10): string {
  const lines = ["symbol,date,open,high,low,close,volume"];
  for (let n = 0; n < 100; n++) {
    for (let day = 1; day <= days; day++) {
      const close = price + ((n * 7919 + day * 104_729) % 9973) / 100;
      const bar = [close, close + 1, close - 1, close, (n + 1) * day * 31].join(",");
      lines.push(`${600_000 + n}.SH,2024-01-${String(day).padStart(2, "0")},${bar}`);
    }
  }
  const file = join(folder, `bars-${days}-${price}.csv`);
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

function oneBar(folder: string, close = 10): string {
  const file = join(folder, `one-${close}.csv`);
  writeFileSync(file, `symbol,date,open,high,low,close,volume\n600000.SH,2024-01-02,10,99,9,${close},100\n`);
  return file;
}

/** The daily bars that a fresh reader sees: version, number of rows and sum of the closes. */
async function stateOf(folder: string): Promise<object> {
  const { session, snapshots } = await openReader(new Lake(folder), { statement: "bars_1d" });
  using reader = session;
  const [row] = await reader.json<object>(
    "SELECT count(*)::INTEGER AS bars, round(sum(close), 2) AS closes FROM bars_1d",
  );
  return { ...row, version: snapshots.find(({ table }) => table.name === "bars_1d")?.version };
}

const staged = (lake: string): string[] => readdirSync(join(lake, ".staging"));

async function expectSound(lake: string): Promise<void> {
  const { code, stdout } = await runCli(["check", "--deep", "--lake", lake]);
  expect([code, stdout]).toEqual([0, expect.not.stringMatching(/error|warning/)]);
}

const NOT_WRITTEN =
  /^error: the lake could not be written: File too large \(.*\/\.staging\/.*\.parquet\)\nhint: {2}a limit on the size of a file was reached \(ulimit -f shows it\), with [\d.]+ [MG]B free in .*run the command again\n$/m;

test.skipIf(IS_REPEAT || noLimits)(
  "import: a data file that cannot be written leaves nothing behind, and the next import completes",
  async () => {
    const folder = temporaryFolder();
    const lake = join(folder, "lake");
    const command = ["import", "bars_1d", manyBars(folder, 28), "--lake", lake];
    const failed = await runProcess(command, { fileLimitKib: 8 });
    expect(failed.stderr).toMatch(NOT_WRITTEN);
    expect(failed.code).toBe(1);
    expect([staged(lake), existsSync(join(lake, "bars_1d"))]).toEqual([[], false]);
    expect(await stateOf(lake)).toMatchObject({ bars: 0, version: -1 });
    expect((await runCli(command)).code).toBe(0);
    expect(await stateOf(lake)).toMatchObject({ bars: 2800, version: 0 });
    await expectSound(lake);
  },
);

test.skipIf(IS_REPEAT || noLimits)("import: a log entry that cannot be written is no commit", async () => {
  const folder = temporaryFolder();
  const lake = join(folder, "lake");
  const command = ["import", "bars_1d", oneBar(folder), "--lake", lake];
  const failed = await runProcess(command, { fileLimitKib: 3 });
  expect(failed.stderr).toMatch(
    /the lake could not be written: File too large \(.*\/_delta_log\/0{20}\.json\)\nhint/,
  );
  expect(failed.stderr).not.toMatch(/^ {4}at /m);
  expect(failed.code).toBe(1);
  expect(staged(lake)).toEqual([]);
  expect(await stateOf(lake)).toMatchObject({ bars: 0, version: -1 });
  expect((await runCli(command)).code).toBe(0);
  expect(await stateOf(lake)).toMatchObject({ bars: 1, version: 0 });
  await expectSound(lake);
});

test.skipIf(noLimits || SWEEP === "few")(
  "import: views that cannot be written are distinguished from rows that landed",
  async () => {
    const folder = temporaryFolder();
    const lake = join(folder, "lake");
    const command = ["import", "bars_1d", oneBar(folder), "--lake", lake];
    const failed = await runProcess(command, { fileLimitKib: 8 });
    expect(failed.stderr).toMatch(
      /^error: lake\.duckdb: the views could not be created again, while the tables are as committed: the lake could not be written: File too large/,
    );
    expect(failed.code).toBe(1);
    expect([staged(lake), existsSync(join(lake, "lake.duckdb"))]).toEqual([[], false]);
    expect(await stateOf(lake)).toMatchObject({ bars: 1, version: 0 });
    const again = await runCli([...command, "--json"]);
    expect([again.code, JSON.parse(again.stdout)]).toMatchObject([
      0,
      { landed: [{ inserted: 0, unchanged: 1 }] },
    ]);
    expect(existsSync(join(lake, "lake.duckdb"))).toBe(true);
  },
);

test.skipIf(noLimits || SWEEP === "few")(
  "a merge and a compaction that cannot be written leave the versions and rows that were there",
  async () => {
    const folder = temporaryFolder();
    const lake = join(folder, "lake");
    for (const days of [10, 28])
      expect((await runCli(["import", "bars_1d", manyBars(folder, days), "--lake", lake])).code).toBe(0);
    const before = await stateOf(lake);
    expect(before).toMatchObject({ bars: 2800, version: 1 });
    for (const command of [["import", "bars_1d", oneBar(folder, 77)], ["optimize"]]) {
      const failed = await runProcess([...command, "--lake", lake], { fileLimitKib: 4 });
      expect([command[0], failed.stderr]).toEqual([command[0], expect.stringMatching(NOT_WRITTEN)]);
      expect(failed.code).toBe(1);
      expect(staged(lake)).toEqual([]);
      expect(await stateOf(lake)).toEqual(before);
      await expectSound(lake);
    }
    expect((await runCli(["optimize", "--lake", lake])).code).toBe(0);
    expect(await stateOf(lake)).toEqual({ ...before, version: 2 });
    expect((await runCli(["import", "bars_1d", oneBar(folder, 77), "--lake", lake])).code).toBe(0);
    expect(await stateOf(lake)).toMatchObject({ bars: 2800, version: 3 });
    await expectSound(lake);
  },
);

test.skipIf(noLimits)("run: responses that could not be kept are requested again", async () => {
  const folder = temporaryFolder();
  const served = new Lake(join(folder, "served"));
  const market = simulateMarket({ seed: 5, symbols: 12, days: 60, end: "2025-11-20" as TradingDate });
  await fillLake(served, market, { minuteDays: 0, runId: "sim", now: systemClock.now() });
  const service = await startService(served, { port: 0, keys: plainKeys(["key"]), clock: systemClock });
  onTestFinished(() => service.close());
  const target = join(folder, "target");
  const env = { BARLAKE_URL: service.url, BARLAKE_API_KEY: "key", BARLAKE_LAKE: target };
  writeFileSync(join(folder, "symbols"), market.instruments.map(({ symbol }) => symbol).join("\n"));
  const symbols = `@${join(folder, "symbols")}`;
  const pipelines = pickFrom(
    [
      ["daily", ["bars_1d"]],
      ["financials", ["balance_sheet", "cash_flow"]],
    ] as const,
    { few: 1, more: 2, all: 2 },
  );
  for (const [pipeline, [table]] of pipelines) {
    const command = [
      "run",
      pipeline,
      "--symbols",
      symbols,
      ...(pipeline === "daily" ? ["--from", "2025-06-01", "--to", "2025-11-21"] : []),
    ];
    const failed = await runProcess(command, { env, fileLimitKib: 7 });
    expect(failed.stdout).toMatch(
      /stopped: file \S+ could not be written: File too large; .*run the command again/,
    );
    expect(failed.code).toBe(1);
    expect(existsSync(join(target, table))).toBe(false);
    const { code, stdout } = await runCli([...command, "-v"], { env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^${table} +[\\d,]+ +0 +0`, "m"))]);
  }
  const expected: readonly string[] = pipelines.flatMap(([, tables]) => tables);
  const compared = (await compareLakes(served, new Lake(target))).filter(({ table }) =>
    expected.includes(table),
  );
  expect(compared.map(({ onlyLeft, onlyRight }) => onlyLeft + onlyRight)).toEqual(expected.map(() => 0));
  expect(compared.every(({ rows }) => rows > 0)).toBe(true);
  await expectSound(target);
});

/** Mounts a file system of the given size (KiB); undefined if that is not permitted. */
function smallDisk(kib: number): string | undefined {
  const folder = temporaryFolder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kib}k`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  onTestFinished(() => {
    execFileSync("umount", [folder]);
  });
  return folder;
}

once(
  "a full disk: the free space is reported, what was there stays, and the next run needs nothing but free space",
  async (context) => {
    const disk = smallDisk(800);
    if (disk === undefined) return context.skip("no separate file system can be mounted here");
    const folder = temporaryFolder();
    const lake = join(disk, "lake");
    expect((await runCli(["import", "bars_1d", oneBar(folder), "--lake", lake])).code).toBe(0);
    const before = await stateOf(lake);
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, "ballast"), Buffer.alloc(bavail * bsize - 8192));
    const command = ["import", "bars_1d", manyBars(folder, 28, 20), "--lake", lake];
    const failed = await runCli(command);
    expect(failed.stderr).toMatch(
      /could not be written: No space left on device[^\n]*\nhint: {2}the disk is full, with [\d.]+ MB free in /,
    );
    expect(failed.code).toBe(1);
    expect(staged(lake)).toEqual([]);
    expect(await stateOf(lake)).toEqual(before);
    writeFileSync(join(disk, "ballast"), "");
    execFileSync("mount", ["-o", "remount,size=8m", disk]);
    expect((await runCli(command)).code).toBe(0);
    expect(await stateOf(lake)).toMatchObject({ bars: 2800, version: 1 });
    await expectSound(lake);
  },
);
