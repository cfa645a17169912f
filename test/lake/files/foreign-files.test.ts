import { mkdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { literal } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { commit } from "../../../src/lake/log/commit.js";
import { schemaActions } from "../../../src/lake/log/commit-actions.js";
import type { Action } from "../../../src/lake/log/delta-actions.js";
import { encodePath, type Snapshot } from "../../../src/lake/log/snapshot.js";
import { checkTable } from "../../../src/lake/maintenance/check/check-table.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, liveRows, openSession, T0, temporaryLake } from "../temporary-lake.js";

const AT = "2026-11-02T16:00:00.000Z";
const FOLDER = "region=CN/year=2026";

interface Row {
  readonly symbol: string;
  readonly at: number;
  readonly close: number;
  readonly open_interest: number | null;
  readonly type: string;
}

const ROWS = `SELECT symbol, epoch_ms(timestamp)::DOUBLE AS at, close, open_interest, typeof(timestamp) AS type
  FROM live ORDER BY symbol, timestamp`;

/** Commits a file as another program may write it: from a query over the live rows, with different statistics. */
async function addForeign(
  session: Session,
  lake: Lake,
  {
    name,
    folder = FOLDER,
    path = folder === "" ? name : `${folder}/${name}`,
    select,
    stats,
  }: { name: string; folder?: string; path?: string; select: string; stats: string | undefined },
): Promise<void> {
  const base = await lake.snapshot(BARS_1D);
  const [own] = lake.filesOf(base).urls;
  const file = join(lake.location, "bars_1d", folder, name);
  mkdirSync(dirname(file), { recursive: true });
  await session.run(
    `COPY (SELECT ${select} FROM read_parquet(${literal(own as string)}, hive_partitioning = false)) TO ${literal(file)} (FORMAT parquet)`,
  );
  const add = {
    path,
    partitionValues: { year: "2026", region: "CN" },
    size: statSync(file).size,
    modificationTime: T0,
    dataChange: true,
    ...(stats === undefined ? {} : { stats }),
  };
  await commitTo(lake, base, [{ add }]);
}

async function commitTo(lake: Lake, base: Snapshot, actions: readonly Action[]): Promise<void> {
  expect(await commit(lake, base, actions, T0)).toBeDefined();
}

async function oneBar(): Promise<[Lake, Session]> {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: AT, close: 10 }]);
  return [lake, session];
}

const statsAt = (symbol: string, at: string): string =>
  JSON.stringify({
    numRecords: 1,
    minValues: { symbol, timestamp: at },
    maxValues: { symbol, timestamp: at },
  });

test.each([
  "2026-11-02T16:00:00Z",
  "2026-11-02T16:00:00.000000Z",
  "2026-11-02T21:45:00.000+05:45",
  "2026-12-02T16:00:00",
  "2 November",
])("a bar that another program landed, with %s in the log, is found and not doubled", async (written) => {
  const [lake, session] = await oneBar();
  const select = "* REPLACE ('000001.SZ' AS symbol)";
  await addForeign(session, lake, { name: "part-0.parquet", select, stats: statsAt("000001.SZ", written) });
  const bar = { symbol: "000001.SZ", at: AT, close: 10 };
  expect(await land(session, lake, BARS_1D, [bar])).toMatchObject({ inserted: 0, updated: 0, unchanged: 1 });
  const changed = { ...bar, close: 10.5 };
  expect(await land(session, lake, BARS_1D, [changed])).toMatchObject({ inserted: 0, updated: 1 });
  const rows = await liveRows<Row>(session, lake, BARS_1D, ROWS);
  expect(rows.map(({ symbol, close }) => [symbol, close])).toEqual([
    ["000001.SZ", 10.5],
    ["600519.SH", 10],
  ]);
});

test.each(["UTC", "Asia/Kathmandu"])(
  "files with other columns and types are read together with our own, in the zone %s too",
  async (zone) => {
    const [lake, session] = await oneBar();
    const files = [
      ["a", "* EXCLUDE (open_interest, settlement_price) REPLACE ('a' AS symbol)"],
      ["b", "* REPLACE ('b' AS symbol, timezone('UTC', timestamp) AS timestamp)"],
      [
        "c",
        "* REPLACE ('c' AS symbol, timezone('UTC', timestamp)::TIMESTAMP_NS AS timestamp, close::FLOAT AS close)",
      ],
      ["d", "lot, * EXCLUDE (lot) REPLACE (encode('d\u{1f600}') AS symbol)"],
    ] as const;
    for (const [name, select] of files) {
      await addForeign(session, lake, { name: `${name}.parquet`, select, stats: undefined });
    }
    await session.run(`SET TimeZone = ${literal(zone)}`);
    const rows = await liveRows<Row>(session, lake, BARS_1D, ROWS);
    const [at, type] = [Date.parse(AT), "TIMESTAMP WITH TIME ZONE"];
    expect(rows).toEqual(
      ["600519.SH", "a", "b", "c", "d\u{1f600}"].map((symbol) => ({
        symbol,
        at,
        close: 10,
        open_interest: null,
        type,
      })),
    );
  },
);

test("a compaction takes what another program wrote, and writes instants as instants", async () => {
  const [lake, session] = await oneBar();
  const select =
    "* EXCLUDE (settlement_price) REPLACE ('000001.SZ' AS symbol, timezone('UTC', timestamp) AS timestamp)";
  for (const name of ["part-0.parquet", "part-1.parquet"]) {
    await addForeign(session, lake, { name, select, stats: name === "part-0.parquet" ? "{}" : undefined });
  }
  const before = await liveRows<Row>(session, lake, BARS_1D, ROWS);
  const report = await optimize(session, lake, BARS_1D, { runId: "test" });
  expect(report).toMatchObject({ partitions: 1, filesBefore: 3, filesAfter: 1 });
  expect(await liveRows<Row>(session, lake, BARS_1D, ROWS)).toEqual(before);
  expect(lake.filesOf(await lake.snapshot(BARS_1D)).foreign).toEqual([]);
});

test("a file is removed by the very path that it was added by, however that is encoded", async () => {
  const [lake, session] = await oneBar();
  const path = `${FOLDER}/part%2D0%26&ü.parquet`;
  const select = "* REPLACE ('000001.SZ' AS symbol)";
  await addForeign(session, lake, { name: "part-0&&ü.parquet", path, select, stats: undefined });
  await optimize(session, lake, BARS_1D, { runId: "test" });
  const removed = [...(await lake.snapshot(BARS_1D)).removed.values()];
  expect(removed.map((remove) => remove.path)).toContain(path);
});

/** Folders in which a legal file may be: only the log gives its partition values, here CN and 2026. */
const FOLDERS = [
  "",
  "bucket/7",
  "region=US/year=1999",
  "year=2026/region=CN",
  "x=1/region=CN/year=2026",
  "region=%zz/year=2026",
];

test("files that lie outside the folders of their partition are read by what the log says", async () => {
  const [lake, session] = await oneBar();
  for (const [n, folder] of FOLDERS.entries()) {
    const select = `* REPLACE ('${n}.SH' AS symbol)`;
    await addForeign(session, lake, {
      name: `part-${n}.parquet`,
      folder,
      path: encodePath(join(folder, `part-${n}.parquet`)),
      select,
      stats: undefined,
    });
  }
  const expected = [...FOLDERS.keys()].map((n) => ({ symbol: `${n}.SH`, region: "CN", year: 2026 }));
  expected.push({ symbol: "600519.SH", region: "CN", year: 2026 });
  const query = "SELECT symbol, region, year FROM live WHERE region = 'CN' AND year = 2026 ORDER BY symbol";
  expect(await liveRows(session, lake, BARS_1D, query)).toEqual(expected);
  const { session: reader } = await openReader(lake);
  using opened = reader;
  expect(await opened.json("SELECT symbol, region, year FROM bars_1d ORDER BY symbol")).toEqual(expected);
  // One of their bars is found, changed in its file, and compacted with the others.
  const bar = { symbol: "0.SH", at: AT, close: 10 };
  expect(await land(session, lake, BARS_1D, [bar])).toMatchObject({ inserted: 0, unchanged: 1 });
  expect(await land(session, lake, BARS_1D, [{ ...bar, close: 10.5 }])).toMatchObject({ updated: 1 });
  const { findings } = await checkTable(lake, BARS_1D, { deep: true });
  expect(findings.filter(({ severity }) => severity !== "info")).toEqual([]);
  expect(await optimize(session, lake, BARS_1D, { runId: "test" })).toMatchObject({ filesAfter: 1 });
  expect(await liveRows(session, lake, BARS_1D, query)).toEqual(expected);
});

test("a file outside its folder is read in a table that got more columns, and named where it is missing", async () => {
  const [lake, session] = await oneBar();
  const base = await lake.snapshot(BARS_1D);
  const extra = { name: "extra", type: "double", nullable: true, doc: "" } as const;
  await commitTo(lake, base, schemaActions(base, [...BARS_1D.columns, extra], T0));
  const select = "* REPLACE ('000001.SZ' AS symbol)";
  await addForeign(session, lake, { name: "part-0.parquet", folder: "", select, stats: undefined });
  const query = "SELECT symbol, region, extra FROM live ORDER BY symbol";
  expect(await liveRows(session, lake, BARS_1D, query)).toEqual([
    { symbol: "000001.SZ", region: "CN", extra: null },
    { symbol: "600519.SH", region: "CN", extra: null },
  ]);
  rmSync(join(lake.location, "bars_1d", "part-0.parquet"));
  await expect(liveRows(session, lake, BARS_1D, query)).rejects.toThrow(
    "table bars_1d: part-0.parquet is missing",
  );
});

test("a file that the log names by its whole path is read where it is", async () => {
  const [lake, session] = await oneBar();
  const path = `file://${join(lake.location, "else where", "part-0.parquet")}`;
  const select = "* REPLACE ('000001.SZ' AS symbol)";
  await addForeign(session, lake, {
    name: "part-0.parquet",
    folder: "../else where",
    path: encodeURI(path),
    select,
    stats: undefined,
  });
  const rows = await liveRows<Row>(session, lake, BARS_1D, ROWS);
  expect(rows.map(({ symbol }) => symbol)).toEqual(["000001.SZ", "600519.SH"]);
  expect(
    (await checkTable(lake, BARS_1D, { deep: true })).findings.filter(({ severity }) => severity === "error"),
  ).toEqual([]);
  expect((await lake.snapshotAt(BARS_1D, { asOf: T0 })).files.size).toBe(2);
});
