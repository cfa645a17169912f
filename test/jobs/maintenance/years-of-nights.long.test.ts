import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DAY_MS } from "../../../src/core/time.js";
import { literal, literalList } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import { checkLake } from "../../../src/jobs/maintenance/check-lake.js";
import { MOST_LANDED_FILES } from "../../../src/jobs/maintenance/optimize-lake.js";
import { vacuumLake } from "../../../src/jobs/maintenance/vacuum-lake.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { Lake } from "../../../src/lake/lake.js";
import { landedFiles } from "../../../src/lake/maintenance/optimize.js";
import { publish } from "../../../src/lake/publish.js";
import { BARS_1D, TRADING_DAYS } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { REQUESTS, RUNS } from "../../../src/schema/runs.js";
import { TABLES } from "../../../src/schema/tables.js";
import { json } from "../../faults/service/scripted-service.js";
import { pythonHas } from "../../interop/python.js";
import { pythonReadings } from "../../interop/python-readings.js";
import { questionsOf } from "../../interop/readings.js";
import { openSession, queryLake, temporaryFolder } from "../../lake/temporary-lake.js";
import { weekdays } from "../minute-market.js";
import { barsOn, scriptedMarket } from "../scripted-market.js";

const NIGHTS = 400;
const START = Date.parse("2024-03-02T14:00:00Z");
/** The index gives the trading days. */
const SYMBOLS = ["000001.SH", "600519.SH"];
/** `lookback` makes each night ask again, on weekends too. */
const DAILY: PipelineDefinition = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "2024-02-26",
  symbols: SYMBOLS,
  lookback: "2d",
};
const DAYS = weekdays("2024-02-26", "2025-06-01");
/** A session of China has settled so long after midnight. */
const SETTLED_MS = 17 * 3_600_000;
const WRITTEN = [BARS_1D, TRADING_DAYS, REQUESTS, RUNS];
const NEWEST_BARS = `SELECT symbol, epoch_ms(timestamp)::DOUBLE AS at FROM`;

test(`${NIGHTS} nights: files and logs stay as they are after the first months, and every reader finds every row`, async () => {
  const { lake, clock, run } = await scriptedMarket(
    (seen, response) => json(response, 200, { data: barsOn(DAYS, seen) }),
    new Date(START).toISOString(),
  );
  const nights: { readonly data: number; readonly log: number; readonly at: number }[] = [];
  const sent: { readonly run_id: string; readonly requests: number }[] = [];
  for (let night = 1; night <= NIGHTS; night++) {
    clock.advance(START + night * DAY_MS - clock.now());
    const { runId, status, requests, compaction } = await run(DAILY);
    expect([status, compaction?.faults ?? []]).toEqual(["complete", []]);
    sent.push({ run_id: runId, requests: requests.sent });
    // A schedule does it each day; here it would take as long as the runs.
    if (night % 3 === 0) {
      const { errors } = await vacuumLake(lake, WRITTEN, { retentionMs: 30 * DAY_MS }, clock);
      expect(errors).toEqual([]);
    }
    nights.push({ ...(await sizeOf(lake)), at: clock.now() });
  }

  const most = (of: "data" | "log", from: number, to: number): number =>
    Math.max(...nights.slice(from, to).map((one) => one[of]));
  for (const of of ["data", "log"] as const) {
    // Once the retention of 30 days, and the commits between two checkpoints, are over, as many go as come.
    const [early, late] = [most(of, 60, 200), most(of, 200, NIGHTS)];
    expect(late).toBeLessThanOrEqual(early + 10);
    expect(late).toBeLessThan(NIGHTS);
  }
  expect((await checkLake(lake, TABLES)).findings).toEqual([]);

  const daysAt = (at: number): number[] => DAYS.filter((day) => day + SETTLED_MS <= at);
  const barsAt = (at: number) => SYMBOLS.flatMap((symbol) => daysAt(at).map((day) => ({ symbol, at: day })));
  const session = await openSession();
  // As a reader that knows nothing but the protocol.
  const rows = async (table: TableSchema, columns: string): Promise<unknown[]> =>
    session.json(
      `SELECT ${columns} FROM read_parquet(${literalList(await liveFiles(session, lake, table))}) ORDER BY ALL`,
    );
  expect(await rows(BARS_1D, "symbol, epoch_ms(timestamp)::DOUBLE AS at")).toEqual(barsAt(clock.now()));
  expect(await rows(TRADING_DAYS, "epoch_ms(trade_date)::DOUBLE AS day")).toHaveLength(
    daysAt(clock.now()).length,
  );
  expect(await rows(RUNS, "run_id, requests_sent::INTEGER AS requests")).toEqual(sent);
  expect(
    await session.json(
      `SELECT run_id, count(*)::INTEGER AS requests
       FROM read_parquet(${literalList(await liveFiles(session, lake, REQUESTS))}) WHERE attempts > 0 GROUP BY run_id ORDER BY run_id`,
    ),
  ).toEqual(sent);
  // As a program of another kind, over the database of views.
  const published = new Lake(lake.location);
  await publish(published);
  await session.run(`ATTACH ${literal(published.databaseFile)} AS lake (READ_ONLY)`);
  expect(await session.json(`${NEWEST_BARS} lake.raw.bars_1d ORDER BY ALL`)).toEqual(barsAt(clock.now()));
  // Every version of 30 days is there, with its files.
  for (const { at } of nights.slice(-30))
    expect(await queryLake(lake, `${NEWEST_BARS} raw.bars_1d ORDER BY ALL`, { asOf: at })).toEqual(
      barsAt(at),
    );
  const first = lake.snapshotAt(REQUESTS, { versions: new Map([["requests", 0]]) });
  await expect(first).rejects.toThrow(/its log begins neither at version 0/);
  if (!pythonHas("deltalake", "pyarrow", "polars")) return;
  const newest = new Map((await lake.snapshots()).map(({ table, version }) => [table.name, version]));
  const questions = await questionsOf(session, lake, {
    oldest: (table) => Math.max(0, (newest.get(table) ?? 0) - 2),
  });
  expect(questions.length).toBeGreaterThan(WRITTEN.length);
  const { found, expected } = pythonReadings(temporaryFolder(), questions);
  expect(found).toEqual(expected);
});

/** Numbers of stored files: of data, besides the one that each month or year of a table needs, and of logs. */
async function sizeOf(lake: Lake): Promise<{ readonly data: number; readonly log: number }> {
  let [data, log] = [0, 0];
  for (const table of WRITTEN) {
    const snapshot = await lake.snapshot(table);
    expect(landedFiles(snapshot)).toBeLessThanOrEqual(MOST_LANDED_FILES);
    const folder = join(lake.location, table.name);
    const partitions = [...snapshot.files.values()].map((file) => JSON.stringify(file.partitionValues));
    const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const entries = all.filter((path) => /^_delta_log\/\d/.test(path)).length;
    data += all.filter((path) => path.endsWith(".parquet") && !path.startsWith("_")).length;
    data -= new Set(partitions).size;
    log += entries;
  }
  return { data, log };
}

/** The paths of a table's live files by its log: the newest checkpoint, and the commits after it. */
async function liveFiles(session: Session, { location }: Lake, { name }: TableSchema): Promise<string[]> {
  const log = join(location, name, "_delta_log");
  const { version } = JSON.parse(readFileSync(join(log, "_last_checkpoint"), "utf8")) as { version: number };
  const digits = (n: number): string => String(n).padStart(20, "0");
  const live = new Set<string>();
  const checkpoint = literal(join(log, `${digits(version)}.checkpoint.parquet`));
  for (const { path } of await session.json<{ path: string }>(
    `SELECT add.path AS path FROM read_parquet(${checkpoint}) WHERE add IS NOT NULL`,
  ))
    live.add(path);
  for (const entry of readdirSync(log)
    .filter((one) => one.endsWith(".json") && one > digits(version + 1))
    .sort())
    for (const line of readFileSync(join(log, entry), "utf8").trim().split("\n")) {
      const { add, remove } = JSON.parse(line) as Record<"add" | "remove", { path: string } | undefined>;
      if (remove) live.delete(remove.path);
      if (add) live.add(add.path);
    }
  return [...live].map((path) => join(location, name, decodeURIComponent(path)));
}
