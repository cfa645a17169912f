import { MINUTE_MS } from "../../../../src/core/time.js";
import { literal } from "../../../../src/db/quote.js";
import type { LandedPeriod } from "../../../../src/market/period.js";
import { REGIONS, type Region } from "../../../../src/market/regions.js";
import { finalEnd } from "../../../../src/market/sessions.js";
import { regionOf } from "../../../../src/market/symbol.js";
import { ASKED_AGAIN_SOON } from "../../../../src/plan/absence/absence.js";
import { BARS_1D, BARS_1M } from "../../../../src/schema/bars.js";
import type { TableSchema } from "../../../../src/schema/column.js";
import { REQUESTS } from "../../../../src/schema/runs.js";
import { FOREIGN } from "../foreign-writer.js";
import { type LakeState, none, rowsOf, tableOf } from "./lake-state.js";
import { latestRecheck } from "./lookback.js";
import { byRegion, isIn, promiseOf } from "./promised.js";
import { withdrawnFindings } from "./withdrawn-findings.js";

const BAR_TYPES = {
  symbol: "VARCHAR",
  timestamp: "BIGINT",
  open: "DOUBLE",
  high: "DOUBLE",
  low: "DOUBLE",
  close: "DOUBLE",
  volume: "BIGINT",
  amount: "DOUBLE",
  prev_close: "DOUBLE",
  lot: "INTEGER",
};
const BAR_COLUMNS = Object.keys(BAR_TYPES)
  .map((name) => (name === "timestamp" ? "epoch_ms(timestamp) AS timestamp" : name))
  .join(", ");
/** Longest time from the planning of a request to its last response: a bar withdrawn in it may have come or not. */
const LONGEST_REQUEST_MS = 120 * MINUTE_MS;

/**
 * Creates tables of every bar of a market in all its versions, by period: `truth_1d`, `truth_1m`. The tables of landed
 * bars are empty: `before_1d`, `before_1m`.
 */
export async function stateBars(
  state: Pick<LakeState, "session" | "lake" | "market" | "schedule">,
): Promise<void> {
  const { market, schedule, session } = state;
  for (const pipeline of schedule.pipelines) {
    if (pipeline.kind !== "bars") continue;
    const rows = market.symbols.flatMap((symbol) =>
      [...market.versions(pipeline.period, symbol, market.shape.end)].map((bar) => {
        return { ...bar, symbol, lot: REGIONS[regionOf(symbol) as Region].lot };
      }),
    );
    const types = { ...BAR_TYPES, version: "INTEGER", since: "DOUBLE", until: "DOUBLE" };
    await tableOf(state, `truth_${pipeline.period}`, rows, types);
    await session.run(
      `CREATE OR REPLACE TEMP TABLE before_${pipeline.period} (symbol VARCHAR, timestamp BIGINT)`,
    );
  }
}

/** Errors of a table of bars: untrue bars, and missing bars that the ledger or a report says are there. */
export async function barFindings(state: LakeState, name: string, period: LandedPeriod): Promise<string[]> {
  const { session, now, isLast, events } = state;
  const table = period === "1d" ? BARS_1D : BARS_1M;
  const findings: string[] = [];
  const compare = (what: string, sql: string): Promise<void> =>
    none(session, findings, `${table.name}: ${what}`, sql);
  await makeTables(state, table, period);
  await compare(
    "bars that the service never gave",
    `SELECT ${Object.keys(BAR_TYPES).join(", ")} FROM landed EXCEPT
     SELECT ${Object.keys(BAR_TYPES).join(", ")} FROM truth_${period}`,
  );
  await compare(
    "a bar more than once",
    "SELECT symbol, timestamp, count(*) AS n FROM landed GROUP BY ALL HAVING n > 1",
  );
  await compare(
    "a bar that had landed is gone",
    `SELECT * FROM before_${period} b ANTI JOIN landed USING (symbol, timestamp)
     WHERE NOT EXISTS (FROM losses o WHERE o.deleted AND o.symbol = b.symbol AND b.timestamp >= o.s AND b.timestamp < o.e)`,
  );
  await session.run(`CREATE OR REPLACE TEMP TABLE before_${period} AS SELECT symbol, timestamp FROM landed`);
  await compare(
    "covered and not landed",
    `FROM bars WHERE landed IS NULL AND asked_at + ${LONGEST_REQUEST_MS} < gone_at AND NOT excused`,
  );
  await compare("older than what came", "FROM bars WHERE landed < given AND NOT excused");
  const promised = promiseOf(events, name);
  // A report does not promise what it leaves open.
  const isOpen = promised === undefined ? "false" : isIn(promised.open);
  if (promised?.kept) {
    const final = byRegion((region) => finalEnd(region, promised.began));
    await compare(
      "promised and not landed",
      `FROM bars WHERE landed IS NULL AND timestamp < ${final} AND gone_at > ${promised.ended}
         AND NOT excused AND NOT ${isOpen}`,
    );
    findings.push(...(await withdrawnFindings(state, table, promised)));
  }
  if (!isLast) return findings;
  const isThere = `gone_at > ${now} AND NOT excused AND NOT ${isOpen}`;
  await compare("lacks what the service has", `FROM bars WHERE landed IS NULL AND ${isThere}`);
  const recheck = byRegion((region) => latestRecheck(region, promised?.began ?? now));
  // A bar that was corrected after it was requested, and is not requested again.
  const isOld = `timestamp < ${recheck} AND asked_at < newest_since`;
  await compare(
    "older than what the service has",
    `FROM bars WHERE landed < newest AND ${isThere} AND NOT (${isOld})`,
  );
  const final = byRegion((region) => finalEnd(region, now));
  await compare(
    "finality",
    `SELECT symbol, timestamp, is_final FROM landed JOIN bars USING (symbol, timestamp)
     WHERE is_final <> (timestamp < ${final}) AND gone_at > ${now} AND NOT excused`,
  );
  await countMet(state, isOld);
  return findings;
}

/**
 * Creates temporary tables of the current state.
 *
 * - `landed`: the table's bars, without those of another engine.
 * - `losses`: times of symbols that a response left out, or that another engine deleted, and when.
 * - `bars`: each bar that was ever given, with the newest version, the version that has landed, and the service's
 *   version when the bar was last requested; `excused` if the last response left it out, or it was deleted later.
 */
async function makeTables(state: LakeState, table: TableSchema, period: LandedPeriod): Promise<void> {
  const { session, events } = state;
  const truth = `truth_${period}`;
  await session.run(`CREATE OR REPLACE TEMP TABLE landed AS
    SELECT ${BAR_COLUMNS}, is_final FROM (${await rowsOf(state, table)}) WHERE symbol NOT LIKE '${FOREIGN}%'`);
  const losses = events.flatMap((event) => {
    const lost = event.kind === "asked" && event.period === period ? event.leftOut : undefined;
    const deleted = event.kind === "foreign" && event.table === table.name ? event.deleted : undefined;
    const time = lost ?? deleted;
    if (time === undefined) return [];
    return [`(${literal(time.symbol)}, ${time.start}, ${time.end}, ${event.at}, ${deleted !== undefined})`];
  });
  await session.run(`CREATE OR REPLACE TEMP TABLE losses AS
    FROM (VALUES ${["('', 0, 0, 0, false)", ...losses].join(", ")}) o(symbol, s, e, lost_at, deleted)`);
  await session.run(`CREATE OR REPLACE TEMP TABLE asked AS
    WITH covered AS (
      SELECT unnest(symbols) AS symbol, epoch_ms(window_start) AS s, epoch_ms(least(window_end, final_end)) AS e,
        epoch_ms(asked_at) AS asked_at
      FROM (${await rowsOf(state, REQUESTS)})
      WHERE dataset = ${literal(table.name)} AND status IN ('answered', 'empty') AND window_start IS NOT NULL
        AND (reason IS NULL OR reason NOT IN (${ASKED_AGAIN_SOON.map(literal).join(", ")})))
    SELECT b.symbol, b.timestamp, max(asked_at) AS asked_at FROM (SELECT DISTINCT symbol, timestamp FROM ${truth}) b
      JOIN covered c ON b.symbol = c.symbol AND b.timestamp >= c.s AND b.timestamp < c.e
    GROUP BY ALL`);
  const values = Object.keys(BAR_TYPES).filter((column) => column !== "symbol" && column !== "timestamp");
  const isSame = values.map((column) => `t.${column} IS NOT DISTINCT FROM l.${column}`).join(" AND ");
  await session.run(`CREATE OR REPLACE TEMP TABLE bars AS
    WITH versions AS (
      SELECT symbol, timestamp, max(version) AS newest, max(since) AS newest_since, max(until) AS gone_at,
        max(asked_at) AS asked_at, max(version) FILTER (since <= asked_at AND until > asked_at) AS given,
        max(version) FILTER (l.symbol IS NOT NULL AND ${isSame}) AS landed
      FROM ${truth} t LEFT JOIN asked USING (symbol, timestamp) LEFT JOIN landed l USING (symbol, timestamp)
      GROUP BY ALL)
    SELECT *, EXISTS (FROM losses o WHERE o.symbol = v.symbol AND v.timestamp >= o.s AND v.timestamp < o.e
      AND o.lost_at >= v.asked_at) AS excused
    FROM versions v`);
}

/** Counts the outcomes of bars when a schedule is over. */
async function countMet({ session, now, met }: LakeState, isOld: string): Promise<void> {
  const isDeleted =
    "EXISTS (FROM losses o WHERE deleted AND o.symbol = bars.symbol AND timestamp >= s AND timestamp < e)";
  const [counts = {}] = await session.json<Record<string, number>>(
    `SELECT count(*) FILTER (gone_at <= ${now} AND landed IS NOT NULL)::INT AS "bar: withdrawn, and kept",
       count(*) FILTER (gone_at <= ${now} AND landed IS NULL)::INT AS "bar: withdrawn before it came",
       count(*) FILTER (gone_at > ${now} AND landed < newest AND ${isOld})::INT AS "bar: corrected, and not requested again",
       count(*) FILTER (excused AND landed IS NULL AND NOT ${isDeleted})::INT AS "bar: left out, and believed",
       count(*) FILTER (excused AND landed IS NULL AND ${isDeleted})::INT AS "bar: deleted by another engine, and not missed",
       count(*) FILTER (EXISTS (FROM losses o WHERE NOT deleted AND o.symbol = bars.symbol AND timestamp >= s AND timestamp < e)
         AND NOT excused AND landed IS NOT NULL)::INT AS "bar: left out, and landed later"
     FROM bars`,
  );
  for (const [what, times] of Object.entries(counts)) met(what, times);
}
