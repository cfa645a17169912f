import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { literal } from "../../../../src/db/quote.js";
import { Session } from "../../../../src/db/session/session.js";
import { checkLake } from "../../../../src/jobs/maintenance/check-lake.js";
import { Lake } from "../../../../src/lake/lake.js";
import { commit } from "../../../../src/lake/log/commit.js";
import type { Action, AddFile } from "../../../../src/lake/log/delta-actions.js";
import { addActionOf } from "../../../../src/lake/log/snapshot.js";
import { checkTable } from "../../../../src/lake/maintenance/check/check-table.js";
import type { Finding } from "../../../../src/lake/maintenance/check/finding.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { REQUESTS } from "../../../../src/schema/runs.js";
import { land, openSession, T0, temporaryLake } from "../../temporary-lake.js";

const day = (n: number): string => `2026-11-${String(n).padStart(2, "0")}T16:00:00Z`;

interface Place {
  readonly lake: Lake;
  readonly session: Session;
  /** Path on disk of a file of the table. */
  readonly path: (name: string) => string;
  /** Path on disk of a log entry. */
  readonly entry: (version: number) => string;
  /** The table's only live file, relative to the table. */
  readonly file: string;
}

/** A lake with three versions of one partition: two bars, one of them changed, and then changed again. */
async function threeVersions(): Promise<Place> {
  const [lake, session] = [temporaryLake(), await openSession()];
  cpSync(template, lake.location, { recursive: true });
  const path = (name: string): string => join(lake.location, "bars_1d", name);
  const [file = ""] = (await lake.snapshot(BARS_1D)).files.keys();
  const entry = (version: number): string => path(`_delta_log/${String(version).padStart(20, "0")}.json`);
  return { lake, session, path, entry, file };
}

let template: string;

beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), "barlake-"));
  const lake = new Lake(template, { hasDatabase: false });
  using session = await Session.open({ threads: 1 });
  await land(session, lake, BARS_1D, [{ at: day(2) }, { at: day(3), symbol: "600000.SH" }], { now: T0 });
  await land(session, lake, BARS_1D, [{ at: day(2), close: 10.25 }], { now: T0 + 1000 });
  await land(session, lake, BARS_1D, [{ at: day(2), close: 9.5 }], { now: T0 + 2000 });
});

afterAll(() => rmSync(template, { recursive: true, force: true }));

async function findings(lake: Lake, deep: boolean): Promise<readonly Finding[]> {
  return (await checkTable(new Lake(lake.location), BARS_1D, { deep })).findings;
}

/** The findings: severity, rule and version of each. */
async function found(lake: Lake, deep: boolean): Promise<string[]> {
  const all = await findings(lake, deep);
  return all.map(({ severity, rule, version }) => `${severity} ${rule} ${version ?? "-"}`);
}

/** Replaces a text in a file. */
function edit(path: string, from: string | RegExp, to: string): void {
  const text = readFileSync(path, "utf8");
  expect(text).toMatch(from);
  writeFileSync(path, text.replace(from, to));
}

/** Adds a file as another program might: its rows come from a query over `live`, the rows of the only live file. */
async function addForeign(
  { lake, session, path, file }: Place,
  query: string,
  more: Partial<AddFile> = {},
  name = "region=CN/year=2026/part-0.parquet",
): Promise<void> {
  mkdirSync(dirname(path(name)), { recursive: true });
  const live = `read_parquet(${literal(path(file))}, hive_partitioning = false)`;
  await session.run(`COPY (WITH live AS (FROM ${live}) ${query}) TO ${literal(path(name))} (FORMAT parquet)`);
  const add: AddFile = {
    path: name,
    partitionValues: { region: "CN", year: "2026" },
    size: statSync(path(name)).size,
    modificationTime: T0,
    dataChange: true,
    ...more,
  };
  await commit(lake, await lake.snapshot(BARS_1D), [{ commitInfo: { timestamp: T0 } }, { add }], T0);
}

/** Rows that no other file has. */
const OTHER = "SELECT * REPLACE (replace(symbol, '60', '61') AS symbol)";

test("a table without a folder, and a lake without one, have no findings", async () => {
  const lake = temporaryLake();
  expect(await checkLake(lake, [BARS_1D, REQUESTS], { deep: true })).toEqual({
    tables: [],
    findings: [],
    errors: [],
  });
});

/** Damage that is visible in the log and in the names and sizes of files. */
const SHALLOW: readonly [string, (place: Place) => unknown, readonly string[]][] = [
  ["an entry is gone from the middle", ({ entry }) => rmSync(entry(1)), ["error log_entry_missing 1"]],
  ["the first entry is gone", ({ entry }) => rmSync(entry(0)), ["error log_begins_late 0"]],
  ["an entry is empty", ({ entry }) => truncateSync(entry(2), 0), ["error log_entry_unreadable 2"]],
  ["an entry is cut", ({ entry }) => truncateSync(entry(1), 200), ["error log_entry_unreadable 1"]],
  [
    "an entry is all zeros",
    ({ entry }) => writeFileSync(entry(1), Buffer.alloc(500)),
    ["error log_entry_unreadable 1"],
  ],
  [
    "an entry is a folder",
    ({ entry }) => {
      rmSync(entry(2));
      mkdirSync(entry(2));
    },
    ["error log_entry_unreadable 2"],
  ],
  [
    "the newest entry is a link to nowhere",
    ({ entry }) => {
      rmSync(entry(2));
      symlinkSync("/nowhere/at/all", entry(2));
    },
    ["error log_entry_missing 2"],
  ],
  [
    "an entry asks for a newer reader",
    ({ entry }) => appendFileSync(entry(2), '{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}\n'),
    ["error log_not_understood 2"],
  ],
  [
    "an action lacks what it must have",
    ({ entry }) => appendFileSync(entry(2), '{"add":{"size":1}}\n'),
    ["error log_entry_unreadable 2"],
  ],
  [
    "the table is partitioned otherwise",
    ({ entry }) => edit(entry(0), '"partitionColumns":["region","year"]', '"partitionColumns":["region"]'),
    ["error log_schema 2"],
  ],
  [
    "a column has another type",
    ({ entry }) =>
      edit(
        entry(0),
        String.raw`\"name\":\"lot\",\"type\":\"integer\"`,
        String.raw`\"name\":\"lot\",\"type\":\"long\"`,
      ),
    ["error log_schema 2"],
  ],
  ["a live file is gone", ({ path, file }) => rmSync(path(file)), ["error file_missing 2"]],
  [
    "a live file is a folder",
    ({ path, file }) => {
      rmSync(path(file));
      mkdirSync(path(file));
    },
    ["error file_missing 2"],
  ],
  ["a live file is cut", ({ path, file }) => truncateSync(path(file), 1000), ["error file_size 2"]],
  ["a live file is empty", ({ path, file }) => truncateSync(path(file), 0), ["error file_size 2"]],
  [
    "a file is in no version",
    ({ path, file }) => copyFileSync(path(file), path("region=CN/year=2026/p-stray.parquet")),
    ["info file_unknown -"],
  ],
  [
    "a partition is no number",
    ({ entry }) => edit(entry(2), /("add":.*"year":)"2026"/, '$1"soon"'),
    ["error partition_value 2"],
  ],
  [
    "a partition is null",
    ({ entry }) => edit(entry(2), /("add":.*"region":)"CN"/, "$1null"),
    ["error partition_value 2"],
  ],
  [
    "a partition is not the folder's",
    ({ entry }) => edit(entry(2), /("add":.*"region":)"CN"/, '$1"HK"'),
    ["error partition_value 2"],
  ],
  [
    "statistics are damaged",
    ({ entry }) => edit(entry(2), '"stats":"{', '"stats":"{{'),
    ["error statistics_unreadable 2"],
  ],
  [
    "statistics are absent",
    ({ entry }) => edit(entry(2), /"stats":"[^}]*}[^}]*}[^}]*}}"/, '"stats":null'),
    ["info statistics_absent 2"],
  ],
  [
    "the least is above the greatest",
    ({ entry }) =>
      edit(entry(2), String.raw`minValues\":{\"symbol\":\"6`, String.raw`minValues\":{\"symbol\":\"9`),
    ["error statistics_wrong 2"],
  ],
  [
    "_last_checkpoint names a version that the log does not have",
    ({ path }) => writeFileSync(path("_delta_log/_last_checkpoint"), '{"version":50,"size":9}'),
    ["error last_checkpoint -"],
  ],
  [
    "_last_checkpoint names a checkpoint that is not there",
    ({ path }) => writeFileSync(path("_delta_log/_last_checkpoint"), '{"version":1,"size":9}'),
    ["warning last_checkpoint -"],
  ],
  [
    "_last_checkpoint is garbage",
    ({ path }) => writeFileSync(path("_delta_log/_last_checkpoint"), "50"),
    ["warning last_checkpoint -"],
  ],
  [
    "a checkpoint is garbage",
    ({ path }) => writeFileSync(path(`_delta_log/${"1".padStart(20, "0")}.checkpoint.parquet`), "garbage"),
    ["error checkpoint_unreadable 1"],
  ],
];

test.each(SHALLOW)("%s", async (_, damage, rules) => {
  const place = await threeVersions();
  expect(await found(place.lake, false)).toEqual([]);
  await damage(place);
  expect(await found(place.lake, false)).toEqual(rules);
  for (const one of await findings(place.lake, false)) {
    expect(one.table).toBe("bars_1d");
    expect(one.message.startsWith(one.file ?? "table bars_1d")).toBe(true);
    expect(one.message).not.toContain("\n");
    expect(one.hint).not.toBe("");
  }
});

/** Damage that is visible only when the rows are read. */
const DEEP: readonly [string, (place: Place) => unknown, readonly string[]][] = [
  [
    "a byte has changed",
    ({ path, file }) => {
      const bytes = readFileSync(path(file));
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      writeFileSync(path(file), bytes);
    },
    ["error file_content 2"],
  ],
  [
    "a file is another one of the same size",
    (place) => {
      const bytes = Buffer.alloc(statSync(place.path(place.file)).size, "PAR1");
      writeFileSync(place.path(place.file), bytes);
    },
    ["error file_content 2"],
  ],
  [
    "another writer's file is no Parquet",
    async (place) => {
      await addForeign(place, `${OTHER} FROM live`);
      const name = place.path("region=CN/year=2026/part-0.parquet");
      writeFileSync(name, Buffer.alloc(statSync(name).size, 7));
    },
    ["info statistics_absent 3", "error file_unreadable 3"],
  ],
  [
    "the log counts other rows",
    ({ entry }) => edit(entry(2), String.raw`numRecords\":2`, String.raw`numRecords\":3`),
    ["error row_count 2"],
  ],
  [
    "a statistic hides rows",
    ({ entry }) => edit(entry(2), /(maxValues.*)2026-11-03T16/, "$12026-11-03T15"),
    ["error statistics_wrong 2"],
  ],
  [
    "a statistic is wider than need be",
    ({ entry }) => edit(entry(2), /(maxValues.*)2026-11-03T16/, "$12026-11-03T17"),
    ["warning statistics_wrong 2"],
  ],
];

test.each(DEEP)("only a deep check shows: %s", async (_, damage, rules) => {
  const place = await threeVersions();
  await damage(place);
  expect((await found(place.lake, false)).filter((rule) => !rule.startsWith("info"))).toEqual([]);
  expect(await found(place.lake, true)).toEqual(rules);
});

const ELSEWHERE = { region: "HK", year: "2025" };

/** Files added by another program, by the errors of their rows. */
const FOREIGN: readonly [string, string, readonly string[]][] = [
  ["nothing", `${OTHER} FROM live ORDER BY symbol, timestamp`, []],
  [
    "a required column is null",
    "SELECT * REPLACE ('000001.SZ' AS symbol, NULL::DOUBLE AS close) FROM live ORDER BY timestamp",
    ["error null_in_required 3"],
  ],
  ["another order", `${OTHER} FROM live ORDER BY symbol DESC`, ["warning not_sorted 3"]],
  [
    "another type",
    "SELECT * REPLACE ('000001.SZ' AS symbol, close::FLOAT AS close) FROM live ORDER BY timestamp",
    ["error columns 3"],
  ],
  [
    "a column is lacking",
    `${OTHER.replace("*", "* EXCLUDE (prev_close)")} FROM live ORDER BY symbol`,
    ["error columns 3"],
  ],
  ["a key column is lacking", "SELECT * EXCLUDE (symbol) FROM live", ["error columns 3"]],
  ["a column too many", `${OTHER}, 1 AS surplus FROM live ORDER BY symbol`, ["warning columns 3"]],
  ["a key twice", `${OTHER} FROM (FROM live UNION ALL FROM live) ORDER BY symbol`, ["error duplicate_key 3"]],
  [
    "a key twice, unsorted",
    `${OTHER} FROM (FROM live UNION ALL FROM live)`,
    ["warning not_sorted 3", "error duplicate_key 3"],
  ],
  ["keys of another file", "FROM live", ["error duplicate_key 3"]],
];

test.each(FOREIGN)("rows of another program: %s", async (_, query, rules) => {
  const place = await threeVersions();
  await addForeign(place, query);
  expect(await found(place.lake, true)).toEqual(["info statistics_absent 3", ...rules]);
});

test("rows in the wrong partition are found, by region and by year", async () => {
  const place = await threeVersions();
  const name = "region=HK/year=2025/part-0.parquet";
  await addForeign(place, `${OTHER} FROM live ORDER BY symbol`, { partitionValues: ELSEWHERE }, name);
  const messages = (await findings(place.lake, true)).map(({ message }) => message);
  expect(messages.slice(1)).toEqual([
    `bars_1d/${name} has 2 rows that do not belong to region HK`,
    `bars_1d/${name} has 2 rows that do not belong to year 2025`,
  ]);
});

test("a repeated key is named with both files", async () => {
  const place = await threeVersions();
  await addForeign(place, "FROM live WHERE symbol = '600519.SH'");
  const [, duplicate] = await findings(place.lake, true);
  expect(duplicate?.message).toBe(
    `bars_1d/${place.file} and bars_1d/region=CN/year=2026/part-0.parquet: a key (symbol, timestamp) more than once: 600519.SH 2026-11-02 16:00:00+00`,
  );
});

test("a checkpoint must be what the log gives; one that replaces lost entries is taken as it is", async () => {
  const { lake, path, entry } = await threeVersions();
  let newest = await lake.snapshot(BARS_1D);
  for (let version = 3; version <= 52; version++) {
    const actions: Action[] = [{ commitInfo: { timestamp: T0 + version } }];
    newest = (await commit(lake, newest, actions, T0)) as typeof newest;
  }
  expect(await found(lake, true)).toEqual([]);
  const text = readFileSync(entry(50), "utf8");
  const [file] = newest.files.values();
  const add = addActionOf(file as NonNullable<typeof file>);
  writeFileSync(entry(50), `${text}${JSON.stringify({ add: { ...add, size: 1 } })}\n`);
  writeFileSync(entry(51), `${text}${JSON.stringify({ add })}\n`);
  expect(await found(lake, true)).toEqual(["error checkpoint_differs 50"]);
  for (let version = 0; version <= 50; version++) renameSync(entry(version), `${entry(version)}.gone`);
  expect(await found(lake, true)).toEqual([]);
  truncateSync(path(`_delta_log/${"50".padStart(20, "0")}.checkpoint.parquet`), 300);
  expect(await found(lake, true)).toEqual(["error checkpoint_unreadable 50"]);
});

test("a file that is committed, or replaced and deleted, while the check goes on is no finding", async () => {
  const { lake, session, path, entry, file } = await threeVersions();
  const racing = new Lake(lake.location);
  const walk = racing.storage.walk.bind(racing.storage);
  let walks = 0;
  Object.assign(racing.storage, {
    async walk(folder: string) {
      const stored = await walk(folder);
      if (walks++ === 0) await land(session, lake, BARS_1D, [{ at: day(5) }], { now: T0 + 5000 });
      return stored;
    },
  });
  expect((await checkTable(racing, BARS_1D, { deep: true })).findings).toEqual([]);
  const remove = { path: file, dataChange: true, deletionTimestamp: T0 };
  const gone = await checkTable(lake, BARS_1D, {
    deep: true,
    onProgress: () => {
      writeFileSync(entry(4), `${JSON.stringify({ remove })}\n`);
      rmSync(path(file), { force: true });
    },
  });
  expect([gone.version, gone.findings]).toEqual([3, []]);
});

test("a deep check of a lake that cannot be written reports all that it found", async () => {
  const { lake, path, file } = await threeVersions();
  writeFileSync(join(lake.location, "verified"), "");
  const { findings: sound } = await checkTable(lake, BARS_1D, { deep: true, now: T0 });
  expect(sound).toMatchObject([
    { severity: "info", table: "bars_1d", version: 2, rule: "verification_unrecorded" },
  ]);
  await land(await openSession(), lake, BARS_1D, [{ at: "2025-11-03T16:00:00Z" }], { now: T0 + 3000 });
  truncateSync(path(file), 100);
  const { findings: damaged } = await checkTable(lake, BARS_1D, { deep: true, now: T0 });
  expect(damaged.map(({ rule }) => rule).sort()).toEqual(["file_size", "verification_unrecorded"]);
});
