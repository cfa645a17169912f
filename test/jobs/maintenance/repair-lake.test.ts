import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type RepairOptions,
  type RepairReport,
  repairLake,
} from "../../../src/jobs/maintenance/repair-lake.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { Lake } from "../../../src/lake/lake.js";
import { withdrawRows } from "../../../src/lake/land/absent-days.js";
import { writeCheckpoint } from "../../../src/lake/log/checkpoint.js";
import { checkTable } from "../../../src/lake/maintenance/check/check-table.js";
import { optimize, setCodec } from "../../../src/lake/maintenance/optimize.js";
import { vacuum } from "../../../src/lake/maintenance/vacuum.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { TABLES } from "../../../src/schema/tables.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { json, type Script, type Seen } from "../../faults/service/scripted-service.js";
import { endlessFiles } from "../../lake/endless-files.js";
import {
  land,
  openSession,
  queryLake,
  T0,
  temporaryFolder,
  temporaryLake,
} from "../../lake/temporary-lake.js";
import { barsOn, filledMarket, scriptedMarket } from "../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2023-12-27" };
/** Midnights in Shanghai of trading dates around the end of a year: files of 2023 and of 2024. */
const DAYS = ["2023-12-27", "2023-12-28", "2024-01-07", "2024-01-08"].map((day) =>
  Date.parse(`${day}T16:00:00Z`),
);
const SYMBOLS = ["600519.SH", "601398.SH"];
const right: Script = (seen, response) => json(response, 200, { data: barsOn(DAYS, seen) });

/** The lake as another process opens it; without `lake.duckdb`, which takes longer to write than the rows here. */
const fresh = ({ location }: Lake): Lake => new Lake(location, { hasDatabase: false });

async function ingested() {
  const market = await filledMarket(
    right,
    "2024-01-13T00:00:00Z",
    { filledBy: import.meta.url, name: "daily", isDamaged: true },
    async (run) =>
      expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ status: "complete", rows: 8 }),
  );
  market.clock.advance(3_600_000);
  const repair = async (options: Partial<RepairOptions> = {}): Promise<readonly RepairReport[]> => {
    const lake = fresh(market.lake);
    const { reports, errors } = await repairLake(
      lake,
      TABLES,
      { runId: "repair-1", ...options },
      market.clock,
    );
    if (errors.length > 0) throw errors[0];
    return reports;
  };
  return { ...market, repair };
}

/** The data file of a year. */
function fileOf(lake: Lake, year: number): string {
  const folder = join(lake.location, "bars_1d", "region=CN", `year=${year}`);
  return join(folder, readdirSync(folder).find((name) => name.endsWith(".parquet")) as string);
}

async function bars(lake: Lake): Promise<unknown[]> {
  return queryLake(fresh(lake), "SELECT symbol, trade_date, close FROM bars_1d ORDER BY ALL");
}

/** Number of rows in the existing files, according to the log. */
async function barsLeft(lake: Lake): Promise<number> {
  const snapshot = await fresh(lake).snapshot(BARS_1D);
  const files = [...snapshot.files.values()].filter((file) => existsSync(lake.urlOf(snapshot, file)));
  return files.reduce((sum, { stats }) => sum + (stats?.numRecords ?? 0), 0);
}

function flip(path: string): void {
  const bytes = readFileSync(path);
  const middle = bytes.length >> 1;
  for (let at = middle; at < middle + 8; at++) bytes[at] = (bytes[at] as number) ^ 0xff;
  writeFileSync(path, bytes);
}

const window = ({ query }: Seen): string =>
  ["start_time", "end_time"]
    .map((name) => new Date(Number(query.get(name))).toISOString().slice(0, 10))
    .join(" ");

test.each([
  ["missing", (path: string) => rmSync(path)],
  ["damaged", flip],
])(
  "a %s file is taken out of the log, and a run asks for what was in it, and for nothing else",
  async (kind, harm) => {
    const { lake, service, run, repair, clock } = await ingested();
    const before = await bars(lake);
    expect((await repair()).flatMap(({ files }) => files)).toEqual([]);
    harm(fileOf(lake, 2024));
    const found = (await repair({ dryRun: true })).flatMap(({ files }) => files);
    expect(found).toMatchObject([
      {
        kind,
        outcome: "found",
        rows: 4,
        symbols: { first: "600519.SH", last: "601398.SH" },
        range: { start: DAYS[2], end: (DAYS[3] as number) + 1 },
        symbolsAskedAgain: 2,
      },
    ]);
    const version = (await fresh(lake).snapshot(BARS_1D)).version;
    const [report] = (await repair()).filter(({ files }) => files.length > 0);
    expect(report).toMatchObject({ table: "bars_1d", version: version + 1, files: [{ outcome: "removed" }] });
    // The remaining files can be read, and the check finds nothing.
    expect(await bars(lake)).toEqual(before.slice(0, 2).concat(before.slice(4, 6)));
    const { findings } = await checkTable(fresh(lake), BARS_1D, { deep: true });
    expect(findings.filter(({ severity }) => severity !== "info")).toEqual([]);
    const sent = service.seen.length;
    clock.advance(1000);
    expect(await run(DAILY, { repair: true })).toMatchObject({ status: "complete", rows: 4 });
    expect(service.seen.slice(sent).map(window)).toEqual(["2024-01-07 2024-01-08"]);
    expect(await bars(lake)).toEqual(before);
    clock.advance(1000);
    expect((await run(DAILY, { repair: true })).requests.sent).toBe(0);
    expect((await repair()).flatMap(({ files }) => files)).toEqual([]);
  },
);

test("what was recorded by a clock that was ahead is requested again after a loss, and only once", async () => {
  const { lake, run, clock } = await scriptedMarket(right, "2024-03-13T00:00:00Z");
  const options = { symbols: SYMBOLS, to: "2024-01-10" };
  const repair = (runId: string): Promise<unknown> => repairLake(fresh(lake), TABLES, { runId }, clock);
  await run(DAILY, options);
  const before = await bars(lake);
  clock.advance(1000);
  rmSync(fileOf(lake, 2023));
  await repair("repair-1");
  clock.advance(-59 * 86_400_000);
  rmSync(fileOf(lake, 2024));
  await repair("repair-2");
  clock.advance(1000);
  expect((await run(DAILY, options)).landed[0]).toMatchObject({ table: "bars_1d", inserted: 8 });
  expect(await bars(lake)).toEqual(before);
  clock.advance(1000);
  expect((await run(DAILY, options)).requests.sent).toBe(0);
});

test("lost files are put back from a copy of the lake, and nothing is asked for", async () => {
  const { lake, run, repair, clock } = await ingested();
  const before = await bars(lake);
  const copy = join(temporaryFolder(), "copy");
  cpSync(lake.location, copy, { recursive: true });
  rmSync(fileOf(lake, 2023));
  flip(fileOf(lake, 2024));
  const { version } = await fresh(lake).snapshot(BARS_1D);
  const reports = await repair({ from: new Lake(copy) });
  expect(reports.flatMap(({ files }) => files.map(({ outcome }) => outcome))).toEqual([
    "restored",
    "restored",
  ]);
  expect(reports.find(({ table }) => table === "bars_1d")?.version).toBe(version);
  expect(await bars(lake)).toEqual(before);
  clock.advance(1000);
  expect((await run(DAILY, { repair: true })).requests.sent).toBe(0);
});

test("rows are copied from a copy of the lake whose files are others, and asked for all the same", async () => {
  const { lake, service, run, repair, clock } = await ingested();
  clock.advance(3_600_000);
  // A second file of each year: the copy is compacted, so that it has none of these names.
  expect(await run(DAILY, { symbols: ["600000.SH"] })).toMatchObject({ status: "complete", rows: 4 });
  clock.advance(1000);
  const before = await bars(lake);
  const copy = new Lake(join(temporaryFolder(), "copy"));
  cpSync(lake.location, copy.location, { recursive: true });
  await optimize(await openSession(), copy, BARS_1D, { runId: "test" });
  await vacuum(copy, BARS_1D, { now: Date.now() + 1000, retentionMs: 0 });
  rmSync(fileOf(lake, 2024));
  const lost = before.length - (await barsLeft(lake));
  const [report] = (await repair({ from: copy })).filter(({ files }) => files.length > 0);
  expect(report?.files).toMatchObject([{ outcome: "copied", rows: lost, copiedRows: lost }]);
  expect(await bars(lake)).toEqual(before);
  const sent = service.seen.length;
  clock.advance(1000);
  expect(await run(DAILY, { repair: true })).toMatchObject({ status: "complete", rows: lost });
  expect(service.seen.length).toBeGreaterThan(sent);
  expect(await bars(lake)).toEqual(before);
  const { findings } = await checkTable(fresh(lake), BARS_1D, { deep: true });
  expect(findings.filter(({ severity }) => severity !== "info")).toEqual([]);
});

test.each([
  ["whose log lacks the withdrawal", "withdrawal", /rows were withdrawn since the copy was made/],
  [
    "that is older than the log, which a vacuum has shortened",
    "shortened",
    /or the log is too short to tell/,
  ],
  ["that has more rows than were lost", "other", /the copy has 4 rows for the 3 that were lost/],
])("withdrawn rows do not come back from a copy %s", async (_, kind, reason) => {
  const { lake, repair } = await ingested();
  const copy = new Lake(join(temporaryFolder(), "copy"));
  cpSync(lake.location, copy.location, { recursive: true });
  const session = await openSession();
  await session.run(
    "CREATE TEMP TABLE gone AS SELECT '600519.SH' AS symbol, TIMESTAMPTZ '2024-01-07 16:00:00+00' AS timestamp",
  );
  const old = fileOf(lake, 2024);
  await withdrawRows(session, lake, BARS_1D, "gone", { runId: "withdrawal", now: Date.now() });
  rmSync(old);
  const log = join(lake.location, "bars_1d", "_delta_log");
  if (kind === "shortened") {
    await setCodec(lake, BARS_1D, "zstd", "codec", lake.clock);
    const newest = await lake.snapshot(BARS_1D);
    await writeCheckpoint(lake, newest, Date.now());
    for (const name of readdirSync(log))
      if (name.endsWith(".json") && Number.parseInt(name, 10) < newest.version) rmSync(join(log, name));
  }
  if (kind === "other") {
    // Another program has deleted the row: the log has no withdrawal.
    const entry = join(log, readdirSync(log).sort().at(-1) as string);
    writeFileSync(entry, readFileSync(entry, "utf8").replace('"WITHDRAW"', '"DELETE"'));
  }
  rmSync(fileOf(lake, 2024));
  const [report] = (await repair({ from: copy })).filter(({ files }) => files.length > 0);
  expect(report?.files).toMatchObject([{ outcome: "removed", copiedRows: 0, symbolsAskedAgain: 2 }]);
  expect(report?.files[0]?.notCopied).toMatch(reason);
  expect(await bars(lake)).toHaveLength(4);
});

test("a copy whose file is damaged too is not taken", async () => {
  const { lake, repair } = await ingested();
  const copy = join(temporaryFolder(), "copy");
  cpSync(lake.location, copy, { recursive: true });
  const path = fileOf(lake, 2024);
  flip(path);
  copyFileSync(path, join(copy, path.slice(lake.location.length)));
  const reports = await repair({ from: new Lake(copy) });
  expect(reports.flatMap(({ files }) => files.map(({ outcome }) => outcome))).toEqual(["removed"]);
  // The damaged file stays available for inspection, until a vacuum.
  expect(existsSync(path)).toBe(true);
});

test("a file that this process cannot read may be sound: the repair ends, and the table does not change", async () => {
  const { lake, repair } = await ingested();
  const path = fileOf(lake, 2024);
  renameSync(path, `${path}.elsewhere`);
  mkdirSync(path);
  const { version } = await fresh(lake).snapshot(BARS_1D);
  await expect(repair()).rejects.toThrow(/year=2024\/p-\S+ is not readable: .*; the table was not changed$/);
  expect((await fresh(lake).snapshot(BARS_1D)).version).toBe(version);
  rmdirSync(path);
  renameSync(`${path}.elsewhere`, path);
  expect((await repair()).flatMap(({ files }) => files)).toEqual([]);
});

test("a lost part of the ledger is taken out, and what it said is requested again", async () => {
  const { lake, service, run, repair, clock } = await ingested();
  const folder = join(lake.location, "requests");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (name.endsWith(".parquet")) rmSync(join(folder, name));
  const [report] = (await repair()).filter(({ files }) => files.length > 0);
  expect(report).toMatchObject({ table: "requests", files: [{ kind: "missing", outcome: "removed" }] });
  clock.advance(1000);
  const sent = service.seen.length;
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({
    status: "complete",
    landed: [{ inserted: 0, unchanged: 8 }],
  });
  expect(service.seen.length).toBeGreaterThan(sent);
});

test("an interrupt ends the comparison of a long file, and changes nothing", async () => {
  const [lake, session, stop] = [temporaryLake(), await openSession(), new AbortController()];
  await land(session, lake, BARS_1D, [{ at: "2024-01-08T16:00:00Z" }, { at: "2023-01-08T16:00:00Z" }]);
  const pieces = endlessFiles(lake, stop);
  const options = { runId: "repair-1", signal: stop.signal };
  const { reports, errors } = await repairLake(lake, [BARS_1D], options, { now: () => T0 });
  expect([reports, errors, pieces()]).toEqual([[], [], 2]);
  expect((await lake.snapshot(BARS_1D)).version).toBe(0);
});

test("an interrupt as the last file is compared leaves the table as it is", async () => {
  const [lake, session, stop] = [temporaryLake(), await openSession(), new AbortController()];
  await land(session, lake, BARS_1D, [{ at: "2024-01-08T16:00:00Z" }]);
  rmSync(fileOf(lake, 2024));
  const options = {
    runId: "repair-1",
    signal: stop.signal,
    onProgress: () => queueMicrotask(() => stop.abort()),
  };
  const { reports, errors } = await repairLake(lake, [BARS_1D], options, { now: () => T0 });
  expect([reports, errors, stop.signal.aborted]).toEqual([[], [], true]);
  expect((await lake.snapshot(BARS_1D)).version).toBe(0);
});

test("bars that no service was asked for are reported as such", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2024-01-08T16:00:00Z" }]);
  rmSync(fileOf(lake, 2024));
  const { reports } = await repairLake(
    lake,
    [BARS_1D],
    { runId: "repair-1" },
    { now: () => Date.parse("2026-01-01") },
  );
  expect(reports).toMatchObject([
    { checked: 1, files: [{ outcome: "removed", symbolsAskedAgain: 0, rows: 1 }] },
  ]);
  expect(await bars(lake)).toEqual([]);
});

/** A lake whose files of both years are lost, and the repair of it over a storage that fails at some calls. */
async function twiceLost() {
  const [{ location }, session] = [temporaryLake(), await openSession()];
  const days = [{ at: "2023-01-08T16:00:00Z" }, { at: "2024-01-08T16:00:00Z" }];
  await land(session, new Lake(location), BARS_1D, days);
  const whole = join(temporaryFolder(), "whole");
  cpSync(location, whole, { recursive: true });
  for (const year of [2023, 2024]) rmSync(fileOf(new Lake(location), year));
  const repairOver = async (faults: Partial<Storage>, from?: Lake) => {
    const storage = { ...folderStorage(location), ...faults };
    const lake = new Lake(location, { storage, clock: virtualClock(T0), hasDatabase: false });
    const options = { runId: "repair-1", ...(from && { from }) };
    const { reports, errors } = await repairLake(lake, [BARS_1D], options, { now: () => T0 });
    return { report: reports[0], errors: errors.map((error) => (error as Error).message) };
  };
  return { own: folderStorage(location), lake: new Lake(location), session, whole, repairOver };
}

const broken = new Error("the storage is broken");

/** A storage that fails when the second file of the bars is put into it. */
function failingAtSecondFile(own: Storage): Partial<Storage> {
  let files = 0;
  const isSecond = (path: string): boolean => path.startsWith("bars_1d/") && ++files === 2;
  return {
    putFileIfAbsent: (localFile, path) =>
      isSecond(path) ? Promise.reject(broken) : own.putFileIfAbsent(localFile, path),
  };
}

test.each<[string, (own: Storage) => Partial<Storage>, from: "whole" | "other files" | undefined, object]>([
  [
    "before lost files are taken out",
    () => ({ putIfAbsent: () => Promise.reject(broken) }),
    undefined,
    { version: 0, files: [{ outcome: "found" }, { outcome: "found" }] },
  ],
  [
    "of a commit that was made all the same",
    (own) => ({
      async putIfAbsent(path, text) {
        const done = await own.putIfAbsent(path, text);
        if (path.startsWith("bars_1d/")) throw broken;
        return done;
      },
    }),
    undefined,
    { version: 1, files: [{ outcome: "removed" }, { outcome: "removed" }] },
  ],
  [
    "while rows are copied",
    failingAtSecondFile,
    "other files",
    { version: 2, files: [{ outcome: "copied", copiedRows: 1 }, { outcome: "removed" }] },
  ],
  [
    "while files are put back",
    failingAtSecondFile,
    "whole",
    { version: 0, files: [{ outcome: "restored" }, { outcome: "found" }] },
  ],
])("an error %s does not hide what became of each file", async (_, faultsOf, from, expected) => {
  const { own, session, whole, repairOver } = await twiceLost();
  const others = temporaryLake();
  const days = ["2023-01-08T16:00:00Z", "2024-01-08T16:00:00Z"].map((at) => ({ at, close: 11 }));
  await land(session, others, BARS_1D, days);
  const source = from && (from === "whole" ? new Lake(whole) : others);
  const { report, errors } = await repairOver(faultsOf(own), source);
  expect(errors).toEqual([broken.message]);
  expect(report).toMatchObject(expected);
});

test("after an error, a file that another program has removed is reported as removed, and the others as found", async () => {
  const { own, lake, repairOver } = await twiceLost();
  const { files } = await lake.snapshot(BARS_1D);
  const file = [...files.values()].find(({ partitionValues }) => partitionValues["year"] === "2023");
  const { report, errors } = await repairOver({
    async putIfAbsent(path) {
      // Another program commits this version first, and then the storage fails.
      const remove = { path: file?.path, deletionTimestamp: T0, dataChange: true };
      await own.putIfAbsent(path, `${JSON.stringify({ remove })}\n`);
      throw broken;
    },
  });
  expect(errors).toEqual([broken.message]);
  expect(report).toMatchObject({ version: 1 });
  const outcomes = report?.files.map(({ file: { partitionValues }, outcome }) => [
    partitionValues["year"],
    outcome,
  ]);
  expect(outcomes?.sort()).toEqual([
    ["2023", "removed"],
    ["2024", "found"],
  ]);
});
