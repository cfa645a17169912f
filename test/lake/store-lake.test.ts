import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildDataset } from "../../src/dataset/build-dataset.js";
import { type DatasetSpec, defineDataset } from "../../src/dataset/spec.js";
import { listDatasets } from "../../src/dataset/store/dataset-folder.js";
import { isSound, verifyDataset } from "../../src/dataset/store/verify-dataset.js";
import { Session } from "../../src/db/session/session.js";
import { compactAfterRun, MOST_LANDED_FILES } from "../../src/jobs/maintenance/optimize-lake.js";
import { writeDataFile } from "../../src/lake/files/data-file.js";
import { ROW_GROUP_ROWS } from "../../src/lake/files/parquet/write-rows.js";
import type { Lake } from "../../src/lake/lake.js";
import { writeCheckpoint } from "../../src/lake/log/checkpoint.js";
import { commit } from "../../src/lake/log/commit.js";
import { schemaActions } from "../../src/lake/log/commit-actions.js";
import { PROTOCOL } from "../../src/lake/log/delta-actions.js";
import { commitFile, listLog } from "../../src/lake/log/log-files.js";
import { checkTable } from "../../src/lake/maintenance/check/check-table.js";
import { copyLake } from "../../src/lake/maintenance/copy-lake.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { vacuum } from "../../src/lake/maintenance/vacuum.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { DUCKDB_TYPE } from "../../src/schema/column.js";
import { TABLES } from "../../src/schema/tables.js";
import { startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { HAS_STORE, storeLakes } from "../object-store/store-lakes.js";
import { once } from "../once.js";
import { fillSimulated } from "../sql/simulated-lake.js";
import { SWEEP } from "../sweep.js";
import { land, openSession, queryLake, T0, temporaryFolder, temporaryLake } from "./temporary-lake.js";

const DAY_1 = "2026-11-19T07:00:00Z";
const DAY_2 = "2026-11-20T07:00:00Z";

/** The texts of a table's commits, without what chance or the time of the machine decide. */
async function logOf(lake: Lake, versions: number): Promise<string[]> {
  const texts: string[] = [];
  for (let version = 0; version < versions; version++) {
    const text = (await lake.storage.readText(commitFile("bars_1d", version))) ?? "";
    texts.push(
      text
        .replaceAll(/-[0-9a-f]{8}\.parquet/g, "-X.parquet")
        .replaceAll(/"id":"[0-9a-f-]{36}"/g, '"id":"X"')
        .replaceAll(/"(modificationTime|timestamp|deletionTimestamp|createdTime)":\d+/g, '"$1":0'),
    );
  }
  return texts;
}

async function rowsOf(lake: Lake, sql: string, versions?: ReadonlyMap<string, number>): Promise<unknown[]> {
  return queryLake(lake, sql, versions === undefined ? {} : { versions });
}

function datasetOf(output: string | undefined): DatasetSpec {
  return defineDataset({
    name: "test",
    universe: { region: "CN" },
    from: "2026-01-05",
    fields: ["close"],
    format: "long-parquet",
    ...(output !== undefined && { output }),
  });
}

describe.skipIf(!HAS_STORE)("a lake on a store", () => {
  const stores = storeLakes();

  once(
    "lands, updates, compacts, checks, deletes and reads as a lake in a folder, with the same log",
    async () => {
      const facts = [];
      for (const lake of [temporaryLake(), stores.open(stores.newLocation())]) {
        using session = await Session.open(lake.access);
        const bars = ["600519.SH", "000001.SZ", "AAPL.US"].map((symbol) => ({ symbol, at: DAY_1 }));
        const landed = [await land(session, lake, BARS_1D, bars, { now: T0 })];
        landed.push(await land(session, lake, BARS_1D, [{ at: DAY_2, close: 10.25 }], { now: T0 + 1000 }));
        landed.push(await land(session, lake, BARS_1D, [{ at: DAY_1, close: 9.5 }], { now: T0 + 2000 }));
        // Nothing new: no commit.
        landed.push(await land(session, lake, BARS_1D, [{ at: DAY_1, close: 9.5 }], { now: T0 + 3000 }));
        const sql = "SELECT symbol, epoch_ms(timestamp)::DOUBLE AS at, close FROM bars_1d ORDER BY ALL";
        const optimized = await optimize(session, lake, BARS_1D, { runId: "test" });
        const versions = (await lake.snapshot(BARS_1D)).version + 1;
        const before = await rowsOf(lake, sql, new Map([["bars_1d", 1]]));
        const { findings } = await checkTable(lake, BARS_1D, { deep: true });
        const now = (await lake.storage.time()) as number;
        const { deleted, kept } = await vacuum(lake, BARS_1D, {
          now: now + 86_400_000 * 9e5,
          retentionMs: 0,
        });
        facts.push({
          landed: landed.map(({ inserted, updated, unchanged }) => ({ inserted, updated, unchanged })),
          optimized: { ...optimized, bytesAfter: 0 },
          rows: await rowsOf(lake, sql),
          before,
          findings: findings.map(({ rule }) => rule),
          deleted: [deleted.length, kept],
          log: await logOf(lake, versions),
          gone: await rowsOf(lake, sql, new Map([["bars_1d", 1]])).catch(
            (error: Error) => error.message.split(":")[1],
          ),
        });
      }
      expect(facts[1]).toEqual(facts[0]);
      expect(facts[1]).toMatchObject({ findings: [], gone: " version 1 can no longer be read" });
    },
  );

  test.skipIf(SWEEP === "few")("is compacted after a run, and its log is shortened", async () => {
    const location = stores.newLocation();
    const lake = stores.open(location);
    using session = await Session.open(lake.access);
    const days = Array.from({ length: MOST_LANDED_FILES + 1 }, (_, n) => T0 - n * 86_400_000);
    for (const [n, at] of days.entries()) await land(session, lake, BARS_1D, [{ at }], { now: T0 + n });
    const sql = "SELECT epoch_ms(timestamp)::DOUBLE AS at FROM bars_1d ORDER BY ALL";
    const rows = await rowsOf(lake, sql);
    expect(rows).toHaveLength(days.length);
    await compactAfterRun(lake, [BARS_1D], lake.clock, { runId: "test" });
    const compacted = await stores.open(location).snapshot(BARS_1D);
    expect([compacted.version, compacted.files.size]).toEqual([days.length, 1]);
    await writeCheckpoint(lake, compacted, T0);
    await land(session, lake, BARS_1D, [{ at: days[0] as number, close: 9.5 }], { now: T0 + 1000 });
    const options = { now: T0 + 40 * 86_400_000, retentionMs: 0 };
    expect(await vacuum(stores.open(location), BARS_1D, options)).toMatchObject({ logEntries: days.length });
    const after = stores.open(location);
    expect((await listLog(after.storage, BARS_1D.name)).commits).toEqual([days.length, days.length + 1]);
    expect(await rowsOf(after, sql)).toEqual(rows);
    expect((await checkTable(after, BARS_1D, { deep: true })).findings).toEqual([]);
  });

  test.skipIf(SWEEP === "few")(
    "is copied with its history, and gives the same responses and datasets as the folder",
    async () => {
      const place = temporaryFolder();
      const { lake } = await fillSimulated(join(place, "lake"), {
        symbols: 6,
        days: 60,
        end: "2026-03-31",
        minuteDays: 1,
      });
      const session = await openSession();
      await land(session, lake, BARS_1D, [{ at: "2026-03-30T07:00:00Z", close: 9.5 }], { now: T0 });
      await optimize(session, lake, BARS_1D, { runId: "test" });
      const location = stores.newLocation();
      // A copy that is stopped: a reader of its destination sees whole versions, or none.
      const stopping = new AbortController();
      const stopped = copyLake(lake, stores.open(location), {
        signal: stopping.signal,
        onProgress: ({ done }) => void (done === 3 && stopping.abort()),
      });
      await expect(stopped).rejects.toThrow("aborted");
      expect((await stores.open(location).snapshots()).map(({ version }) => version)).toEqual(
        TABLES.map(() => -1),
      );
      const there = (await stores.open(location).storage.walk("")).filter(({ path }) =>
        path.endsWith(".parquet"),
      );
      expect(there.length).toBeGreaterThan(2);
      const first = await copyLake(lake, stores.open(location));
      expect(first.reduce((sum, { present }) => sum + present, 0)).toBe(there.length);
      // The source moves on.
      await land(session, lake, BARS_1D, [{ at: "2026-03-31T07:00:00Z", close: 9.75 }], { now: T0 + 1000 });
      const second = await copyLake(lake, stores.open(location));
      expect(second.filter(({ files, commits }) => files + commits > 0)).toMatchObject([
        { table: "bars_1d", files: 1, commits: 1 },
      ]);
      const copy = stores.open(location);
      for (const table of TABLES) {
        const [original, copied] = [await lake.wholeSnapshot(table), await copy.wholeSnapshot(table)];
        expect(copied).toEqual(original);
      }
      expect((await checkTable(copy, BARS_1D, { deep: true })).findings).toEqual([]);
      const back = temporaryLake();
      await copyLake(copy, back);
      const contents = async ({ storage }: Lake): Promise<(string | undefined)[]> => {
        const paths = (await storage.walk("bars_1d")).map(({ path }) => path);
        return [...paths, ...(await Promise.all(paths.map((path) => storage.readText(`bars_1d/${path}`))))];
      };
      expect(await contents(back)).toEqual(await contents(lake));
      await land(session, back, BARS_1D, [{ at: DAY_2 }], { now: T0 + 2000 });
      await land(session, lake, BARS_1D, [{ at: DAY_2, close: 8 }], { now: T0 + 2000 });
      await expect(copyLake(back, lake)).rejects.toThrow(
        /is not a beginning of .*: table bars_1d has another version/,
      );
      await expect(copyLake(back, copy)).resolves.toBeDefined();

      const copyOf = stores.open(location);
      const responses = [];
      const contentsOfDatasets = [];
      for (const one of [back, copyOf]) {
        const service = await startService(one, {
          port: 0,
          keys: plainKeys(["key"]),
          clock: { now: () => T0 },
        });
        try {
          const symbols = (await rowsOf(one, "SELECT symbol FROM instruments ORDER BY symbol LIMIT 3")) as {
            symbol: string;
          }[];
          const query = `symbols=${symbols.map(({ symbol }) => symbol).join(",")}&period=1d&adjust=forward&count=50`;
          const response = await fetch(`${service.url}/v1/klines/batch?${query}`, {
            headers: { "x-api-key": "key" },
          });
          responses.push([response.status, await response.text()]);
        } finally {
          await service.close();
        }
        const output = join(place, `dataset-${responses.length}`);
        contentsOfDatasets.push((await buildDataset(one, datasetOf(output))).content);
      }
      expect(responses[1]).toEqual(responses[0]);
      expect(responses[0]?.[0]).toBe(200);
      expect(contentsOfDatasets[1]).toBe(contentsOfDatasets[0]);

      // A dataset in the lake itself: it is there when it is whole, may be replaced, and its damage is found.
      const spec = datasetOf(undefined);
      const built = await buildDataset(copyOf, spec);
      expect(built).toMatchObject({
        folder: `${location}/datasets/test/long-parquet`,
        content: contentsOfDatasets[0],
      });
      await expect(buildDataset(copyOf, spec)).rejects.toThrow(/is there already/);
      await copyOf.storage.delete("datasets/test/long-parquet/manifest.json");
      await expect(buildDataset(copyOf, spec)).rejects.toThrow(/is there, and no dataset/);
      await buildDataset(copyOf, spec, { existing: "replace" });
      expect((await listDatasets(copyOf)).map(({ folder, fault }) => [folder, fault])).toEqual([
        [built.folder, undefined],
      ]);
      expect(isSound(await verifyDataset(copyOf, built.folder))).toBe(true);
      const [file] = (await copyOf.storage.walk("datasets")).filter(({ path }) => path.endsWith(".parquet"));
      await copyOf.storage.put(`datasets/${file?.path}`, "other");
      expect((await verifyDataset(copyOf, built.folder)).damage).toEqual([
        `${file?.path.split("/").slice(2).join("/")} is not as it was written`,
      ]);
    },
  );

  once("a table of 10,000 files is opened with 4 requests, and then looked at with one", async () => {
    const location = stores.newLocation();
    const lake = stores.open(location);
    const adds = Array.from({ length: 10_000 }, (_, n) => ({
      add: {
        path: `region=CN/year=${2000 + (n % 20)}/p-${String(n).padStart(16, "0")}-00000000.parquet`,
        partitionValues: { region: "CN", year: String(2000 + (n % 20)) },
        size: 1000,
        modificationTime: T0,
        dataChange: true,
        stats: '{"numRecords":1}',
      },
    }));
    const base = await lake.snapshot(BARS_1D);
    const actions = [...schemaActions(base, base.columns, T0), ...adds];
    expect(actions[0]).toEqual({ protocol: PROTOCOL });
    const first = await commit(lake, base, actions, T0);
    const second = await commit(lake, first as never, [{ commitInfo: { timestamp: T0 } }], T0);
    await writeCheckpoint(lake, second as never, T0);
    const other = stores.open(location);
    const opened = await stores.requestsOf(async () => {
      expect((await other.snapshot(BARS_1D)).files.size).toBe(10_000);
    });
    expect(opened.map((one) => one.split(" ")[0])).toEqual(["GET", "LIST", "GET", "GET"]);
    expect(await stores.requestsOf(() => other.snapshot(BARS_1D))).toHaveLength(1);
  });

  once(
    "a question reads only files that it needs, each with few requests, and the same one none again",
    async () => {
      const lake = stores.open(stores.newLocation());
      using session = await Session.open(lake.access);
      const years = [2022, 2023, 2024, 2025];
      const bars = years.map((year) => ({ at: `${year}-11-19T07:00:00Z` }));
      await land(session, lake, BARS_1D, bars, { now: T0 });
      const asked = (sql: string) => async (): Promise<void> =>
        void (await reader.session.run(sql).then((result) => result.getRows()));
      const reader = await openReader(lake, { verify: true });
      using own = reader.session;
      expect(own).toBeDefined();
      const point = "FROM bars_1d WHERE symbol = '600519.SH' AND year = 2024";
      const first = await stores.requestsOf(asked(`SELECT close ${point}`));
      expect([...new Set(first.map((one) => /year=\d+/.exec(one)?.[0]))]).toEqual(["year=2024"]);
      // DuckDB asks for the size and, of a small file, for all of it; then it is verified.
      expect(first.map((one) => one.split(" ")[0])).toEqual(["HEAD", "GET", "HEAD", "GET"]);
      expect(await stores.requestsOf(asked(`SELECT close ${point}`))).toEqual([]);
      expect((await stores.requestsOf(asked(`SELECT volume ${point}`))).length).toBeLessThanOrEqual(2);
      // Another process of this machine does not read a verified file again to verify it.
      const { session: later } = await openReader(stores.open(lake.location), { verify: true });
      using next = later;
      const again = await stores.requestsOf(() => next.run(`SELECT close ${point}`));
      expect(again.map((one) => one.split(" ")[0])).toEqual(["HEAD", "GET", "HEAD"]);
      // A condition on dates rules files out, too, though they are few.
      const dated = await stores.requestsOf(
        asked("SELECT close FROM bars_1d WHERE symbol = '600519.SH' AND trade_date = '2023-11-19'"),
      );
      expect([...new Set(dated.map((one) => /year=\d+/.exec(one)?.[0]))]).toEqual(["year=2023"]);
      expect(dated.map((one) => one.split(" ")[0])).toEqual(["HEAD", "GET", "HEAD", "GET"]);
    },
  );

  once(
    "a question to many files has few connections, and a connection that the store has closed is replaced",
    async () => {
      const lake = stores.open(stores.newLocation());
      using session = await Session.open(lake.access);
      const bars = Array.from({ length: 8 }, (_, n) => ({ at: `${2018 + n}-11-19T07:00:00Z` }));
      await land(session, lake, BARS_1D, bars, { now: T0 });
      // Verification has other connections.
      const { session: reader } = await openReader(lake, { verify: false, threads: 2 });
      using own = reader;
      const counts: unknown[] = [];
      const ask = (years: string) => async (): Promise<void> =>
        void counts.push(await own.json(`SELECT count(close)::INT AS n FROM bars_1d WHERE year ${years}`));
      expect(await stores.requestsOf(ask("< 2022"))).toHaveLength(8);
      expect(stores.connections()).toBeLessThanOrEqual(2);
      stores.store.closeConnections();
      expect(await stores.requestsOf(ask(">= 2022"))).toHaveLength(8);
      expect(counts).toEqual([[{ n: 4 }], [{ n: 4 }]]);
    },
  );

  once("the row groups of a file are read at the same time, by all threads", async () => {
    const lake = stores.open(stores.newLocation());
    using session = await Session.open(lake.access);
    const rows = 3 * ROW_GROUP_ROWS;
    const bars = `SELECT printf('%06d.SH', 600000 + s) AS symbol, d::DATE AS trade_date, d::TIMESTAMPTZ AS timestamp, 1.5 AS close
      FROM range(${rows / 120}) a(s), range(TIMESTAMP '2025-01-01', TIMESTAMP '2025-05-01', INTERVAL 1 DAY) b(d)`;
    const base = await lake.snapshot(BARS_1D);
    const given = ["symbol", "trade_date", "timestamp", "close"];
    const others = BARS_1D.columns.filter(({ name }) => !given.includes(name));
    const sql = `SELECT *, ${others.map(({ name, type }) => `NULL::${DUCKDB_TYPE[type]} AS ${name}`).join(", ")} FROM (${bars})`;
    const values = { region: "CN", year: "2025" };
    const add = await writeDataFile(session, lake, base, sql, values, { as: "compacted", now: T0 });
    await commit(lake, base, [...schemaActions(base, base.columns, T0), { add }], T0);
    const { session: reader } = await openReader(lake, { verify: false, threads: 2 });
    using own = reader;
    expect(await own.json("SELECT count(*)::INT AS n FROM bars_1d")).toEqual([{ n: rows }]);
    // The footer was read. The first request of a row group gets its response when another one has arrived.
    let asked = 0;
    let release = (): void => {};
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { faultOf } = stores.store;
    stores.store.faultOf = () => {
      asked += 1;
      if (asked === 2) release();
      return { kind: "held", until: both };
    };
    try {
      expect(await own.json("SELECT sum(close) AS sum FROM bars_1d")).toEqual([{ sum: 1.5 * rows }]);
    } finally {
      stores.store.faultOf = faultOf;
    }
    expect(asked).toBe(2);
  });

  once("a damaged or missing object is noticed by the statement that reads it", async () => {
    const lake = stores.open(stores.newLocation());
    using session = await Session.open(lake.access);
    await land(session, lake, BARS_1D, [{ at: DAY_1 }], { now: T0 });
    const [file] = (await lake.snapshot(BARS_1D)).files.keys();
    const path = `bars_1d/${file}`;
    const bytes = (await lake.storage.readRange(path, { last: 1e9 })) as Buffer;
    const staged = await lake.work.newFile("parquet");
    const at = bytes.indexOf("600519.SH");
    bytes.write("600518.SH", at);
    writeFileSync(staged, bytes);
    await lake.storage.delete(path);
    await lake.storage.putFileIfAbsent(staged, path);
    await lake.work.discard(staged);
    await expect(rowsOf(stores.open(lake.location), "SELECT symbol, close FROM bars_1d")).rejects.toThrow(
      /^table bars_1d: .*\.parquet is not what was written/,
    );
    await expect(copyLake(stores.open(lake.location), temporaryLake())).rejects.toThrow(
      /is not what was written/,
    );
    await lake.storage.delete(path);
    await expect(
      rowsOf(stores.open(lake.location), "SELECT symbol, close FROM bars_1d"),
    ).rejects.toMatchObject({
      message: `table ${path.replace("/", ": ")} is missing`,
      hint: expect.stringContaining("barlake repair"),
    });
  });
});
