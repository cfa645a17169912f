import { dateOfEpochDay, epochDay, MINUTE_MS, type TradingDate } from "../../core/time.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { isRegion, REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import type { CellValue, Evidence, EvidenceReport } from "./quality-data.js";
import { unitsOf } from "./read-findings.js";

/** Which bars are read as evidence. */
export interface EvidenceRequest {
  /** A symbol; or a region, for the bars of all its symbols on the days. */
  readonly subject: string;
  readonly evidence: Exclude<Evidence, "none">;
  readonly first: TradingDate;
  readonly last: TradingDate;
  /** Label of the bar in epoch milliseconds, for `minutes`; undefined: the whole first day. */
  readonly at: number | undefined;
}

/** Most bars that are listed; of a longer stretch, the newest ones. */
const MOST_BARS = 200;
/** Number of days shown before and after the days in question. */
const DAYS_AROUND = 10;
/** Number of minutes shown before and after the bar in question. */
const MINUTES_AROUND = 15;

const PRICES = ["open", "high", "low", "close", "volume", "amount", "prev_close"];
/** Columns of each kind of evidence, after the time. */
const COLUMNS: Readonly<Record<EvidenceRequest["evidence"], readonly string[]>> = {
  days: ["trade_date", ...PRICES, "lot", "is_final"],
  minutes: ["timestamp", ...PRICES, "lot", "is_final"],
  "minute days": ["trade_date", "bars", "first_label", "last_label", "volume", "amount"],
};
/** Units of columns that no view has. */
const OWN_UNITS: Readonly<Record<string, string>> = {
  timestamp: "UTC",
  bars: "bars",
  first_label: "UTC",
  last_label: "UTC",
};

/**
 * The bars that a finding is about, with the bars around them. A session without a bar is a row without values. The
 * bars are shown as they landed, without adjustment.
 */
export async function readEvidence(session: Session, request: EvidenceRequest): Promise<EvidenceReport> {
  const isOfRegion = isRegion(request.subject);
  const columns = isOfRegion ? ["symbol", ...COLUMNS.days] : COLUMNS[request.evidence];
  const { sql, values } = isOfRegion ? regionDays(request) : QUERIES[request.evidence](request);
  const found = await session.json<
    Readonly<Record<string, CellValue>> & { readonly seconds: number; readonly in_question: boolean }
  >(
    `SELECT ${columns.map((name) => `"${name}"`).join(", ")}, seconds, in_question
     FROM (${sql}) ORDER BY seconds DESC, ${columns[0]} LIMIT ${MOST_BARS + 1}`,
    values,
  );
  const units = await unitsOf(session);
  const rows = found.slice(0, MOST_BARS).reverse();
  return {
    columns: columns.map((name) => ({ name, unit: OWN_UNITS[name] ?? units.get(name) ?? null })),
    rows: rows.map((row) => ({
      values: columns.map((name) => row[name] ?? null),
      isInQuestion: row.in_question,
      time: row.seconds,
    })),
    hasMore: found.length > MOST_BARS,
  };
}

type Query = { readonly sql: string; readonly values: string[] };

const SHOWN_PRICES =
  "b.open, b.high, b.low, b.close, b.volume::DOUBLE AS volume, b.amount, b.prev_close, b.lot, b.is_final";
const MARKS = "d.trade_date BETWEEN CAST($2 AS DATE) AND CAST($3 AS DATE)";

const QUERIES: Readonly<Record<EvidenceRequest["evidence"], (request: EvidenceRequest) => Query>> = {
  days: (request) => ({
    sql: `SELECT d.trade_date::VARCHAR AS trade_date, ${SHOWN_PRICES}, epoch(d.trade_date) AS seconds, ${MARKS} AS in_question
      FROM (${daysSql("bars_1d", request)}) AS d
      LEFT JOIN (FROM raw.bars_1d WHERE symbol = $1) AS b USING (trade_date)`,
    values: [request.subject, request.first, request.last],
  }),
  minutes: ({ subject, first, at }) => {
    const around = MINUTES_AROUND * MINUTE_MS;
    const instant = (ms: number): string => `make_timestamptz(${Math.trunc(ms) * 1000})`;
    const window =
      at === undefined ? "true" : `"timestamp" BETWEEN ${instant(at - around)} AND ${instant(at + around)}`;
    return {
      sql: `SELECT strftime(timezone('UTC', b."timestamp"), '%Y-%m-%dT%H:%M:%SZ') AS "timestamp", ${SHOWN_PRICES},
          epoch(timezone(${literal(zoneOf(subject))}, b."timestamp")) AS seconds,
          ${at === undefined ? "true" : `b."timestamp" = ${instant(at)}`} AS in_question
        FROM raw.bars_1m AS b WHERE symbol = $1 AND trade_date = CAST($2 AS DATE) AND ${window}`,
      values: [subject, first],
    };
  },
  "minute days": (request) => ({
    sql: `SELECT d.trade_date::VARCHAR AS trade_date, coalesce(b.bars, 0)::DOUBLE AS bars, b.first_label, b.last_label, b.volume, b.amount,
        epoch(d.trade_date) AS seconds, ${MARKS} AS in_question
      FROM (${daysSql("bars_1m", request)}) AS d
      LEFT JOIN (
        SELECT trade_date, count(*) AS bars, strftime(timezone('UTC', min("timestamp")), '%H:%M') AS first_label,
          strftime(timezone('UTC', max("timestamp")), '%H:%M') AS last_label, sum(volume)::DOUBLE AS volume, sum(amount) AS amount
        FROM raw.bars_1m WHERE symbol = $1 AND ${windowSql(request)} GROUP BY trade_date
      ) AS b USING (trade_date)`,
    values: [request.subject, request.first, request.last],
  }),
};

/** The bars of all symbols of a region on the days. */
function regionDays({ subject, first, last }: EvidenceRequest): Query {
  return {
    sql: `SELECT b.symbol, b.trade_date::VARCHAR AS trade_date, ${SHOWN_PRICES}, epoch(b.trade_date) AS seconds, true AS in_question
      FROM raw.bars_1d AS b WHERE region = $1 AND trade_date BETWEEN CAST($2 AS DATE) AND CAST($3 AS DATE)`,
    values: [subject, first, last],
  };
}

/** SQL of the sessions of the calendar, and of the days with a bar, in and around the days in question. */
function daysSql(table: "bars_1d" | "bars_1m", request: EvidenceRequest): string {
  const window = windowSql(request);
  return `SELECT trade_date FROM raw.${table} WHERE symbol = $1 AND ${window}
    UNION SELECT trade_date FROM raw.trading_days WHERE region = ${literal(regionOf(request.subject) ?? "")} AND ${window}`;
}

function windowSql({ first, last }: EvidenceRequest): string {
  return `trade_date BETWEEN DATE ${literal(shifted(first, -DAYS_AROUND))} AND DATE ${literal(shifted(last, DAYS_AROUND))}`;
}

/** A date that is a number of days later. */
function shifted(date: TradingDate, days: number): TradingDate {
  return dateOfEpochDay(epochDay(date) + days);
}

function zoneOf(symbol: string): string {
  const region = regionOf(symbol);
  return region === undefined ? "UTC" : REGIONS[region].zone;
}
