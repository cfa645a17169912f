import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { regionSql } from "../../../src/db/market/region-sql.js";
import { parquetRelation } from "../../../src/db/parquet-relation.js";
import { literal } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { isDataFile } from "../../../src/lake/vacuum.js";
import type { LandedPeriod } from "../../../src/market/period.js";
import { REGIONS, type Region } from "../../../src/market/regions.js";
import { finalEnd } from "../../../src/market/sessions.js";
import { regionOf } from "../../../src/market/symbol.js";
import { ASKED_AGAIN_SOON } from "../../../src/plan/absence.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { REQUESTS } from "../../../src/schema/requests.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../../src/schema/statements.js";
import { TABLES } from "../../../src/schema/tables.js";
import type { Event } from "./chronicle.js";
import type { Schedule } from "./fault-schedule.js";
import type { TrueMarket } from "./true-market.js";

/** A lake after a life, and what is true by then. */
export interface LakeState {
  readonly session: Session;
  readonly lake: Lake;
  readonly market: TrueMarket;
  readonly schedule: Schedule;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether the undisturbed life is over: the lake must equal the truth then. */
  readonly isLast: boolean;
  /** What happened so far. */
  readonly events: readonly Event[];
}

/** What a lake has that is not true, or has not though it says so, or lacks at the end. */
export async function lakeFindings(state: LakeState): Promise<string[]> {
  const { schedule, lake, isLast } = state;
  const findings: string[] = [];
  for (const pipeline of schedule.pipelines) {
    if (pipeline.kind === "bars")
      findings.push(...(await barFindings(state, pipeline.name, pipeline.period)));
    if (pipeline.kind === "statements") {
      findings.push(...(await statementFindings(state, BALANCE_SHEET)));
      findings.push(...(await statementFindings(state, CASH_FLOW)));
    }
    if (pipeline.kind === "reference" && isLast) findings.push(...(await referenceFindings(state)));
  }
  if (!isLast) return findings;
  const kept = await readdir(join(lake.folder, "answers"), { recursive: true }).catch(() => []);
  if (kept.length > 0) findings.push(`answers/ still holds ${kept.join(", ")}`);
  return findings;
}

/** Data files of tables that no version refers to, and what is left of staged ones. */
export async function strayFiles(lake: Lake): Promise<ReadonlySet<string>> {
  const stray = new Set<string>();
  for (const table of TABLES) {
    const { files, removed } = await lake.wholeSnapshot(table);
    for (const { path } of await lake.storage.walk(table.name)) {
      if (isDataFile(path) && !files.has(path) && !removed.has(path)) stray.add(`${table.name}/${path}`);
    }
  }
  for (const { path } of await lake.storage.walk(".staging")) stray.add(`.staging/${path}`);
  return stray;
}

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

/** Makes tables of every bar of a market in every version that it will ever have, by period: `truth_1d`, `truth_1m`. */
export async function tellBars(
  state: Pick<LakeState, "session" | "lake" | "market" | "schedule">,
): Promise<void> {
  const { market, schedule } = state;
  for (const pipeline of schedule.pipelines) {
    if (pipeline.kind !== "bars") continue;
    const rows = market.symbols.flatMap((symbol) =>
      [...market.versions(pipeline.period, symbol, market.shape.end)].map((bar) => {
        return { ...bar, symbol, lot: REGIONS[regionOf(symbol) as Region].lot };
      }),
    );
    await tell(state, `truth_${pipeline.period}`, rows, { ...BAR_TYPES, version: "INTEGER" });
  }
}

async function barFindings(state: LakeState, name: string, period: LandedPeriod): Promise<string[]> {
  const { session, now, isLast, events } = state;
  const table = period === "1d" ? BARS_1D : BARS_1M;
  const truth = `truth_${period}`;
  const findings: string[] = [];
  const compare = (what: string, sql: string): Promise<void> =>
    none(session, findings, `${table.name}: ${what}`, sql);
  const versions = `SELECT * EXCLUDE (version) FROM ${truth}`;
  const landed = `SELECT ${BAR_COLUMNS} FROM (${await rowsOf(state, table)})`;
  await compare("bars that the service never told", `(${landed}) EXCEPT (${versions})`);
  await compare(
    "a bar more than once",
    `SELECT symbol, timestamp, count(*) AS n FROM (${landed}) GROUP BY ALL HAVING n > 1`,
  );
  await compare(
    "covered and not landed",
    coveredButAbsent(table, truth, landed, await rowsOf(state, REQUESTS)),
  );
  const promised = promiseOf(events, name);
  // What a report leaves open it does not promise.
  const open = promised?.open.map(({ symbol, start, end }) => `(${literal(symbol)}, ${start}, ${end})`) ?? [];
  const isOpen = `EXISTS (FROM (VALUES ${["('', 0, 0)", ...open].join(", ")}) o(s, f, e)
    WHERE o.s = symbol AND "timestamp" >= o.f AND "timestamp" < o.e)`;
  if (promised?.kept) {
    const final = `CASE ${regionSql("symbol")} ${Object.keys(REGIONS)
      .map((region) => `WHEN ${literal(region)} THEN ${finalEnd(region as Region, promised.began)}`)
      .join(" ")} END`;
    await compare(
      "promised and not landed",
      `SELECT DISTINCT symbol, timestamp FROM ${truth} ANTI JOIN (${landed}) USING (symbol, timestamp)
       WHERE timestamp < ${final} AND NOT ${isOpen}`,
    );
  }
  if (!isLast) return findings;
  const newest = `${versions} QUALIFY version = max(version) OVER (PARTITION BY symbol, timestamp)`;
  await compare("lacks what is true", `FROM ((${newest}) EXCEPT (${landed})) WHERE NOT ${isOpen}`);
  await compare("has what is not true", `(${landed}) EXCEPT (${newest})`);
  const finals = Object.keys(REGIONS).map(
    (region) => `WHEN ${literal(region)} THEN ${finalEnd(region as Region, now)}`,
  );
  await compare(
    "finality",
    `SELECT symbol, timestamp, is_final FROM (${await rowsOf(state, table)})
     WHERE is_final <> (epoch_ms(timestamp) < CASE region ${finals.join(" ")} END)`,
  );
  return findings;
}

/** What the last run of a pipeline promised; undefined where none has ended in the last life. */
function promiseOf(events: readonly Event[], pipeline: string) {
  const life = events.at(-1)?.life;
  const own = events.filter(
    (event) => event.life === life && "pipeline" in event && event.pipeline === pipeline,
  );
  const began = own.find((event) => event.kind === "began")?.at;
  const ended = own.find((event) => event.kind === "ended");
  if (began === undefined || ended?.kind !== "ended") return undefined;
  // A run in which requests failed does not say what it lacks for that.
  const kept = ended.status === "complete" || (ended.status === "partial" && ended.failures.length === 0);
  return { began, kept, open: ended.open };
}

/** Bars that the ledger counts as answered, and as final, and that are not there. */
function coveredButAbsent(table: TableSchema, truth: string, landed: string, ledger: string): string {
  return `WITH covered AS (
      SELECT unnest(symbols) AS symbol, epoch_ms(window_start) AS s, epoch_ms(least(window_end, final_end)) AS e
      FROM (${ledger})
      WHERE dataset = ${literal(table.name)} AND status IN ('answered', 'empty') AND window_start IS NOT NULL
        AND (reason IS NULL OR reason NOT IN (${ASKED_AGAIN_SOON.map(literal).join(", ")}))),
    bars AS (SELECT DISTINCT symbol, timestamp AS t FROM ${truth})
    SELECT DISTINCT b.symbol, b.t FROM bars b JOIN covered c ON b.symbol = c.symbol AND b.t >= c.s AND b.t < c.e
    ANTI JOIN (${landed}) l ON l.symbol = b.symbol AND l.timestamp = b.t`;
}

async function statementFindings(state: LakeState, table: TableSchema): Promise<string[]> {
  const { session, market, now, isLast } = state;
  const name = table.name as "balance_sheet" | "cash_flow";
  const field = name === "balance_sheet" ? "total_assets" : "capex";
  const rows = market.symbols.flatMap((symbol) =>
    (market.statements(name, symbol, now) ?? []).map((record) => ({
      symbol,
      ...record,
      value: record[field],
    })),
  );
  await tell(state, "truth", rows, {
    symbol: "VARCHAR",
    period_end: "DATE",
    announce_date: "DATE",
    value: "DOUBLE",
    version: "DOUBLE",
  });
  const { columns, files } = await state.lake.snapshot(table);
  if (files.size === 0 && !isLast) return [];
  const hasVersion = columns.some((column) => column.name === "version");
  const landed = `SELECT symbol, period_end, announce_date, ${field} AS value,
    ${hasVersion ? "version" : "CAST(NULL AS DOUBLE) AS version"}, first_seen_at FROM (${await rowsOf(state, table)})`;
  const findings: string[] = [];
  const compare = (what: string, sql: string): Promise<void> =>
    none(session, findings, `${table.name}: ${what}`, sql);
  const key = "symbol, period_end, announce_date";
  await compare(
    "versions out of order",
    `SELECT *, lag(version) OVER (PARTITION BY ${key} ORDER BY first_seen_at) AS before FROM (${landed})
     QUALIFY before >= version`,
  );
  if (!isLast) return findings;
  const newest = `SELECT ${key}, value, version FROM (${landed})
    QUALIFY row_number() OVER (PARTITION BY ${key} ORDER BY first_seen_at DESC) = 1`;
  const told = `SELECT ${key}, value, version FROM truth`;
  await compare("lacks what is true", `(${told}) EXCEPT (${newest})`);
  await compare("has what is not true", `(${newest}) EXCEPT (${told})`);
  return findings;
}

async function referenceFindings(state: LakeState): Promise<string[]> {
  const { session, market, now } = state;
  const findings: string[] = [];
  const exchanges = ["SH", "SZ", "US"].map((exchange) => ({
    exchange,
    count: market.instruments(exchange, now).length,
  }));
  const instruments = exchanges
    .flatMap(({ exchange }) => market.instruments(exchange, now))
    .map((one) => {
      const ext = one.ext as { limit_up: number; listing_date?: string } | undefined;
      return { ...one, limit_up: ext?.limit_up ?? null, listing_date: ext?.listing_date ?? null };
    });
  const universes = market.universes.map((id) => ({ id, symbol_count: market.members(id, now).length }));
  const members = market.universes.flatMap((id) => market.members(id, now).map((symbol) => ({ id, symbol })));
  const tables: [TableSchema, object[], Record<string, string>][] = [
    [EXCHANGES, exchanges, { exchange: "VARCHAR", count: "BIGINT" }],
    [
      INSTRUMENTS,
      instruments,
      {
        symbol: "VARCHAR",
        exchange: "VARCHAR",
        name: "VARCHAR",
        type: "VARCHAR",
        limit_up: "DOUBLE",
        listing_date: "DATE",
      },
    ],
    [UNIVERSES, universes, { id: "VARCHAR", symbol_count: "BIGINT" }],
    [UNIVERSE_MEMBERS, members, { id: "VARCHAR", symbol: "VARCHAR" }],
  ];
  for (const [table, rows, columns] of tables) {
    await tell(state, "truth", rows, columns);
    const names = Object.keys(columns).join(", ");
    const all = await rowsOf(state, table);
    const current = `SELECT ${names} FROM (${all}) WHERE valid_to IS NULL`;
    const told = `SELECT ${names} FROM truth`;
    const subject = table.key.filter((name) => name !== "valid_from").join(", ");
    await none(session, findings, `${table.name}: lacks what is true`, `(${told}) EXCEPT ALL (${current})`);
    await none(session, findings, `${table.name}: has what is not true`, `(${current}) EXCEPT ALL (${told})`);
    await none(
      session,
      findings,
      `${table.name}: versions that meet`,
      `SELECT ${subject}, valid_from, valid_to, lead(valid_from) OVER (PARTITION BY ${subject} ORDER BY valid_from) AS next
       FROM (${all}) QUALIFY valid_to <= valid_from OR (next IS NOT NULL AND (valid_to IS NULL OR valid_to > next))`,
    );
  }
  return findings;
}

/** Makes a table of what is true. */
async function tell(
  { session, lake }: Pick<LakeState, "session" | "lake">,
  name: string,
  rows: readonly object[],
  columns: Readonly<Record<string, string>>,
): Promise<void> {
  const file = join(lake.folder, "..", "truth.ndjson");
  await writeFile(file, rows.map((row) => JSON.stringify(row)).join("\n"));
  const types = Object.entries(columns).map(([column, type]) => `${column}: ${literal(type)}`);
  await session.run(`CREATE OR REPLACE TEMP TABLE ${name} AS
    FROM read_json(${literal(file)}, format = 'newline_delimited', columns = {${types.join(", ")}})`);
}

async function rowsOf({ session, lake }: LakeState, table: TableSchema): Promise<string> {
  return parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
}

/** Adds a finding where a query has rows: how many, and the first of them. */
async function none(session: Session, findings: string[], what: string, sql: string): Promise<void> {
  const rows = await session.json(`SELECT *, count(*) OVER () AS found FROM (${sql}) LIMIT 1`);
  if (rows.length > 0) {
    const text = JSON.stringify(rows[0], (_, value: unknown) =>
      typeof value === "bigint" ? Number(value) : value,
    );
    findings.push(`${what}: ${text}`);
  }
}
