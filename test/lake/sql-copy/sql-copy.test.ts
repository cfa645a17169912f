import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type LakeConnection, openLake } from "../../../src/api/lake/open-lake.js";
import type { Session } from "../../../src/db/session/session.js";
import { verifyOnce } from "../../../src/lake/files/verify-content.js";
import type { Lake } from "../../../src/lake/lake.js";
import { readableTables, viewsKey } from "../../../src/lake/lake-views.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import type { Snapshot } from "../../../src/lake/log/snapshot.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { openReader } from "../../../src/lake/open-reader.js";
import type { SegmentPlace } from "../../../src/lake/segments/segment-folder.js";
import { buildSqlCopy, SqlCopyBuilder } from "../../../src/lake/sql-copy/build-sql-copy.js";
import { MINUTES_SHARE } from "../../../src/lake/sql-copy/copied-months.js";
import { asksFor, type SqlCopyFile, sqlCopyFiles } from "../../../src/lake/sql-copy/sql-copy.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { BALANCE_SHEET, INCOME, METRICS, SHARES } from "../../../src/schema/statements.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { land, openSession, T0, type TestBar, temporaryFolder, temporaryLake } from "../temporary-lake.js";

const DAY_MS = 86_400_000;
const SYMBOLS = ["600519.SH", "000001.SZ", "00700.HK"];
const midnight = (day: number): number => Date.parse("2025-12-20T16:00:00Z") + day * DAY_MS;
const dateOf = (day: number): string => new Date(midnight(day) + DAY_MS / 2).toISOString().slice(0, 10);

/** Questions whose rows have one order, or come in the order of the files. */
const QUESTIONS = [
  "FROM bars_1d",
  "SELECT * FROM raw.bars_1d LIMIT 3",
  "FROM ex_events ORDER BY ALL",
  "FROM adjusted('1d', 'forward') ORDER BY ALL",
  "FROM adjusted('1d', 'backward_additive') ORDER BY ALL",
  "SELECT symbol, count(*) AS n, max(close) AS close FROM adjusted('1d', 'backward') GROUP BY symbol ORDER BY ALL",
  "FROM bars('1d') ORDER BY ALL",
  "SELECT shares, vwap, symbol FROM bars_1d WHERE trade_date > DATE '2025-12-22'",
  "FROM adjusted('1w', 'backward_additive', as_of := DATE '2026-01-02') ORDER BY ALL",
  "FROM daily_fundamentals ORDER BY ALL",
  "FROM daily_metrics ORDER BY ALL",
  "FROM daily_valuation ORDER BY ALL",
  "FROM daily_status ORDER BY ALL",
  "FROM raw.known_income ORDER BY ALL",
  "SELECT count(*) AS n FROM returns WHERE symbol = '600519.SH'",
  "FROM bar_spans ORDER BY ALL",
  "FROM bars_1m ORDER BY ALL",
  "SELECT symbol, close FROM raw.bars_1m WHERE trade_date >= DATE '2026-01-01' ORDER BY ALL",
  "SELECT count(*) AS n, max(close) AS close FROM bars_1m WHERE \"timestamp\" < TIMESTAMPTZ '2025-12-28 00:00:00Z'",
  "FROM bars('5m') WHERE trade_date < DATE '2026-01-01' ORDER BY ALL",
  "FROM adjusted('60m', 'forward') ORDER BY ALL",
  "SELECT region, month, count(*) AS n FROM bars_1m GROUP BY ALL ORDER BY ALL",
];

interface Connections {
  readonly plain: LakeConnection;
  readonly copied: LakeConnection;
  readonly folder: string;
}

async function bothWays(location: string, use: (connections: Connections) => Promise<void>): Promise<void> {
  const folder = temporaryFolder();
  const options = { hasDatabase: false, threads: 1 };
  await using plain = openLake(location, { ...options, segments: false });
  await using copied = openLake(location, { ...options, segments: { folder, copyFrom: 1 } });
  await use({ plain, copied, folder });
}

/** What a question gives: the schema with its metadata, and the rows, or the error. */
async function resultOf(
  lake: LakeConnection,
  sql: string,
  versions: Record<string, number>,
): Promise<unknown> {
  try {
    const found = await lake.query(sql, {}, { versions });
    return { schema: found.schema, rows: found.rows() };
  } catch (error) {
    return String(error);
  }
}

function copiesIn(folder: string): string[] {
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".duckdb"))
        .map((name) => join(folder, name))
        .sort()
    : [];
}

const anyDay = fc.nat(50);
const anyBar: fc.Arbitrary<TestBar> = fc
  .tuple(fc.constantFrom(...SYMBOLS), anyDay, fc.constantFrom(0, 10, 10.5, 1e-9, 123_456.789), fc.nat(1000))
  .map(([symbol, day, price, volume]) => ({
    symbol,
    at: midnight(day),
    open: price,
    high: price,
    low: price,
    close: price,
    prevClose: price === 10 ? 8 : price,
    volume,
  }));
const anyMinute: fc.Arbitrary<TestBar> = fc
  .tuple(anyBar, fc.integer({ min: 9 * 60, max: 16 * 60 }))
  .map(([bar, minute]) => ({ ...bar, at: Number(bar.at) + minute * 60_000 }));
const anyStatement = fc.record({
  kind: fc.constant("statement" as const),
  table: fc.constantFrom(BALANCE_SHEET, INCOME, METRICS, SHARES),
  symbol: fc.constantFrom(...SYMBOLS),
  period: fc.constantFrom("2025-06-30", "2025-09-30", "2025-12-31"),
  announced: fc.option(anyDay, { nil: undefined }),
  seen: anyDay,
});
const anyStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("land" as const),
      bars: fc.array(anyBar, { minLength: 1, maxLength: 25 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("minutes" as const),
      bars: fc.array(anyMinute, { minLength: 1, maxLength: 40 }),
      // The months of these bars are not copied yet.
      isNew: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: anyStatement },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("optimize" as const),
      table: fc.constantFrom(BARS_1D, BARS_1M),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("build" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("damage" as const),
      how: fc.constantFrom("delete", "truncate", "flip", "flip", "swap", "replace", "zero", "all"),
      which: fc.nat(),
      where: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    }),
  },
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

/** Damages the copies in a folder, also while sessions have them open. */
function damage(folder: string, { how, which, where }: Extract<Step, { kind: "damage" }>): void {
  const files = copiesIn(folder);
  const [file, other] = [files[which % files.length], files[(which + 1) % files.length]];
  if (file === undefined || other === undefined) return;
  const bytes = readFileSync(file);
  const at = Math.floor(where * bytes.length);
  if (how === "all") rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 10 });
  else if (how === "delete") rmSync(file);
  else if (how === "truncate") truncateSync(file, at);
  else if (how === "swap") copyFileSync(other, file);
  else if (how === "replace") {
    copyFileSync(other, `${file}.new`);
    renameSync(`${file}.new`, file);
  } else {
    if (how === "zero") bytes.fill(0, at, Math.min(at + 300_000, bytes.length));
    else bytes[at] = (bytes[at] as number) ^ (1 << (which % 8));
    writeFileSync(file, bytes);
  }
}

async function perform(session: Session, lake: Lake, { copied, folder }: Connections, step: Step) {
  if (step.kind === "land") await land(session, lake, BARS_1D, step.bars);
  else if (step.kind === "minutes")
    await land(session, lake, BARS_1M, step.bars, step.isNew ? { now: lake.clock.now() } : {});
  else if (step.kind === "build") await copied.buildSegments(["bars_1d", "bars_1m"]);
  else if (step.kind === "damage") damage(folder, step);
  else if (step.kind === "optimize") await optimize(session, lake, step.table, { runId: "test" });
  else {
    const { table, symbol, period, announced, seen } = step;
    const row = {
      symbol,
      region: symbol.endsWith("HK") ? "HK" : "CN",
      period_end: period,
      announce_date: announced === undefined ? null : dateOf(announced),
      first_seen_at: midnight(seen),
    };
    await stageObjects(session, "versions_in", table.columns, [row]);
    await upsert(session, lake, table, "versions_in", { operation: "TEST", runId: "test", now: T0 });
  }
}

test("with damaged, missing or swapped copies, every query gives what it gives without them", async () => {
  const session = await openSession();
  let used = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyStep, fc.nat(), fc.option(fc.nat(2))), { minLength: 4, maxLength: 9 }),
      async (steps) => {
        const lake = temporaryLake();
        await land(session, lake, BARS_1D, [{ at: midnight(0) }, { at: midnight(12), prevClose: 5 }]);
        const minutes = [0, 12, 30].map((day) => ({ at: midnight(day) + 10 * 3_600_000, close: 10 + day }));
        await land(session, lake, BARS_1M, minutes);
        await bothWays(lake.location, async (connections) => {
          await connections.copied.buildSegments(["bars_1d", "bars_1m"]);
          expect(copiesIn(connections.folder)).toHaveLength(2);
          used += copiesIn(connections.folder).length;
          for (const [step, question, back] of steps) {
            await perform(session, lake, connections, step);
            const versions: Record<string, number> = {};
            for (const table of back === null ? [] : [BARS_1D, BARS_1M])
              versions[table.name] = Math.max(0, (await lake.snapshot(table)).version - (back ?? 0));
            for (const nth of [0, 1, 2]) {
              const sql = QUESTIONS[(question + nth) % QUESTIONS.length] as string;
              const found = await resultOf(connections.copied, sql, versions);
              expect(found, sql).toEqual(await resultOf(connections.plain, sql, versions));
            }
          }
        });
      },
    ),
    { numRuns: cases({ few: 1, more: 3, all: 150 }), endOnFailure: true },
  );
  expect(used).toBeGreaterThan(0);
});

/** A lake whose bars have ex-events. */
async function lakeOfDays(session: Session, close = 10): Promise<Lake> {
  const lake = temporaryLake();
  const bars = [0, 1, 2, 3].flatMap((day) =>
    SYMBOLS.map((symbol) => ({ symbol, at: midnight(day), close: close + day, prevClose: 8 + day })),
  );
  await land(session, lake, BARS_1D, bars);
  return lake;
}

/** What a user can see of a lake's views. */
const CATALOG = `SELECT schema_name, table_name, column_name, data_type, c.comment AS "column", v.comment AS "view"
  FROM duckdb_columns() AS c JOIN duckdb_views() AS v USING (database_name, schema_name)
  WHERE v.view_name = c.table_name AND database_name = current_database() AND NOT c.internal ORDER BY ALL`;

once("the views read the copy, and are described as without it: the data files are not needed", async () => {
  const session = await openSession();
  const lake = await lakeOfDays(session);
  await bothWays(lake.location, async ({ plain, copied, folder }) => {
    const questions = [...QUESTIONS, CATALOG];
    const expected = await Promise.all(questions.map((sql) => resultOf(plain, sql, {})));
    await copied.buildSegments(["bars_1d"]);
    const [copy = ""] = copiesIn(folder);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    for (const file of (await lake.snapshot(BARS_1D)).files.keys())
      writeFileSync(join(lake.location, BARS_1D.name, file), "damaged");
    for (const [at, sql] of questions.entries())
      expect(await resultOf(copied, sql, {}), sql).toEqual(expected[at]);
    const rows: unknown[] = [];
    for await (const batch of copied.stream("FROM bars_1d")) rows.push(...batch.toArray());
    expect(rows).toHaveLength(12);
    // A fault of another file that a statement reads is not the copy's.
    const missing = join(lake.location, "corrupt.csv");
    await expect(copied.query(`FROM bars_1d, read_csv('${missing}')`)).rejects.toThrow("corrupt.csv");
    expect(copiesIn(folder)).toEqual([copy]);
    // What others may write is not read, and neither is a log that would be applied to it.
    chmodSync(copy, 0o666);
    await using other = openLake(lake.location, { segments: { folder, copyFrom: 1 } });
    await expect(other.query("FROM bars_1d")).rejects.toThrow("bars_1d");
  });
});

once("months in which nothing is new come from the copy, and the others from the files", async () => {
  const session = await openSession();
  const lake = temporaryLake();
  const at = (day: number): { at: number; close: number } => ({
    at: midnight(day) + 10 * 3_600_000,
    close: 10 + day,
  });
  const now = lake.clock.now();
  await land(session, lake, BARS_1M, [at(-60)], { now });
  await land(session, lake, BARS_1M, [at(-20), at(0), at(12)]);
  await land(session, lake, BARS_1M, [at(45)], { now });
  const months = (of: string): string => `SELECT close FROM raw.bars_1m WHERE ${of} ORDER BY close`;
  const copied = months("trade_date BETWEEN DATE '2025-11-01' AND DATE '2026-01-31'");
  const instants = months(
    "\"timestamp\" BETWEEN TIMESTAMPTZ '2025-11-02 00:00:00Z' AND TIMESTAMPTZ '2026-01-20 00:00:00Z'",
  );
  const every = months("true");
  await bothWays(lake.location, async ({ plain, copied: open, folder }) => {
    const questions = [copied, instants, every];
    const expected = await Promise.all(questions.map((sql) => resultOf(plain, sql, {})));
    await open.buildSegments(["bars_1m"]);
    expect(copiesIn(folder)).toHaveLength(1);
    for (const [n, sql] of questions.entries())
      expect(await resultOf(open, sql, {}), sql).toEqual(expected[n]);
    expect((await open.query(every)).rows()).toHaveLength(5);
    // A session for one statement attaches only what the statement may read.
    const copies = open.lake.segmentPlace({ folder, copyFrom: 1 });
    for (const [statement, kinds] of [
      ["FROM bars('5m')", ["minutes"]],
      ["FROM bars('1d')", []],
    ] as const) {
      using reader = await openReader(lake, { threads: 1, copies, statement });
      expect(reader.copies.map(({ file }) => file.kind)).toEqual(kinds);
    }
    // The files of these months are not read.
    for (const { path, partitionValues } of (await lake.snapshot(BARS_1M)).files.values())
      if (["2025-11-01", "2025-12-01", "2026-01-01"].includes(partitionValues.month ?? ""))
        writeFileSync(join(lake.location, BARS_1M.name, path), "damaged");
    for (const [n, sql] of questions.entries())
      expect(await resultOf(open, sql, {}), sql).toEqual(expected[n]);
  });
});

once(
  "the newest months are copied as far as the space permits, and only for queries that name minutes",
  async () => {
    const session = await openSession();
    const lake = temporaryLake();
    await land(session, lake, BARS_1M, [
      ...[-60, 0].map((day) => ({ at: midnight(day) + 10 * 3_600_000 })),
      ...[30, 31, 32].map((day) => ({ at: midnight(day) + 10 * 3_600_000 })),
    ]);
    const { snapshots } = await readableTables(lake, {});
    const place: SegmentPlace = { root: "root", folder: "lake", copyFrom: 1 };
    const rowsWith = (rows: number | undefined, now = lake.clock.now()): number | undefined => {
      const maxBytes = rows === undefined ? undefined : (rows * 9) / MINUTES_SHARE;
      const found = sqlCopyFiles(snapshots, { ...place, maxBytes }, "views", now);
      return found.find(({ kind }) => kind === "minutes")?.rows;
    };
    expect([undefined, 5, 4, 3, 2].map((rows) => rowsWith(rows))).toEqual([5, 5, 4, 3, undefined]);
    expect([3_599_999, 3_600_000].map((ms) => rowsWith(undefined, T0 + ms))).toEqual([undefined, 5]);
    const queries = [
      "FROM bars_1m",
      "FROM bars('5m')",
      "FROM adjusted($p, 'none')",
      "FROM BARS_1M",
      "FROM bars('1d')",
      "FROM bars('1M')",
      "SELECT '5 m'",
    ];
    const asked = queries.map((sql) => asksFor("minutes", sql, { p: sql.includes("$p") ? "30m" : "1d" }));
    expect(asked).toEqual([true, true, true, true, false, false, false]);
  },
);

once(
  "a lake of few bars, or with files of other programs, has no copy; one that has is built for the second query",
  async () => {
    const session = await openSession();
    const lake = await lakeOfDays(session);
    const folder = temporaryFolder();
    const place = (copyFrom: number): SegmentPlace => ({
      root: folder,
      folder: join(folder, "lake"),
      copyFrom,
    });
    const copyOf = async (copyFrom: number): Promise<SqlCopyFile | undefined> => {
      using reader = await openReader(lake, { threads: 1, copies: place(copyFrom) });
      return reader.missingCopies[0];
    };
    expect(await copyOf(13)).toBeUndefined();
    const copy = (await copyOf(12)) as SqlCopyFile;
    const note = async (times: number): Promise<void> => {
      await using builder = new SqlCopyBuilder(lake, place(12), () => built());
      let built = (): void => {};
      const isBuilt = new Promise<void>((resolve) => {
        built = resolve;
      });
      for (let n = 0; n < times; n++) builder.note(copy);
      if (times > 1) await isBuilt;
    };
    await note(1);
    expect(copiesIn(folder)).toEqual([]);
    await note(2);
    expect(copiesIn(folder)).toEqual([copy.path]);
    const { snapshots } = await readableTables(lake, {});
    expect(sqlCopyFiles(snapshots, place(12), viewsKey(), lake.clock.now())).toEqual([copy]);
    const withForeign = snapshots.map((snapshot): Snapshot => {
      const [file] = snapshot.files.values();
      if (snapshot.table !== BARS_1D || file === undefined) return snapshot;
      const path = "region=CN/year=2025/part-0.parquet";
      return { ...snapshot, files: new Map([...snapshot.files, [path, { ...file, path }]]) };
    });
    expect(sqlCopyFiles(withForeign, place(12), viewsKey(), lake.clock.now())).toEqual([]);
  },
);

once("what has damaged a file since a read has verified it does not come into a copy", async () => {
  const session = await openSession();
  const [lake, other] = [await lakeOfDays(session), await lakeOfDays(session, 11)];
  const snapshot = await lake.snapshot(BARS_1D);
  const fileOf = async (one: Lake): Promise<string> => {
    const files = [...(await one.snapshot(BARS_1D)).files.values()];
    const cn = files.find(({ partitionValues }) => partitionValues.region === "CN");
    return join(one.location, BARS_1D.name, cn?.path ?? "");
  };
  await verifyOnce(lake, snapshot, snapshot.files.values());
  copyFileSync(await fileOf(other), await fileOf(lake));
  const root = temporaryFolder();
  const place: SegmentPlace = { root, folder: join(root, "lake"), copyFrom: 1 };
  await expect(buildSqlCopy(lake, place, "days", new AbortController().signal)).rejects.toThrow(
    "is not what was written",
  );
  expect(copiesIn(root)).toEqual([]);
});
