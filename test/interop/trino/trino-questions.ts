import { literal } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import { ADJUSTMENTS, type Adjustment, PERIODS, type Period } from "../../../src/market/period.js";
import type { Comparison } from "./trino-comparison.js";

const BAR = ["symbol", "timestamp"];
const DAY = ["symbol", "trade_date"];
const STATEMENT = ["symbol", "month", "known_from"];
const LANDED: readonly Period[] = ["1m", "1d"];

const ACTION = ["symbol", "ex_date", "kind", "source"];

/** The views that both engines have under one name, with the columns that identify a row. */
const VIEWS: Readonly<Record<string, readonly string[]>> = {
  balance_sheet_history: STATEMENT,
  bars_1d: BAR,
  bars_1m: BAR,
  cash_flow_history: STATEMENT,
  corporate_action_versions: [...ACTION, "first_seen_at"],
  corporate_actions: ACTION,
  ex_factors: ["symbol", "ex_date", "source"],
  income_history: STATEMENT,
  daily_fundamentals: DAY,
  daily_metrics: DAY,
  daily_status: DAY,
  daily_valuation: DAY,
  ex_events: ["symbol", "ex_date"],
  instrument_versions: ["symbol", "from_date"],
  instruments: ["symbol"],
  quality_gaps: ["dataset", "symbol", "kind", "first_date"],
  symbol_changes: ["symbol", "from_date", "source"],
  trading_calendar: ["region", "trade_date"],
  unknown_spans: ["region", "after_date"],
};

/** What is compared whole, once: a view of one name, or a macro of DuckDB with one value of its parameter. */
export function viewComparisons(): Record<string, Comparison> {
  const same = Object.entries(VIEWS).map(([name, key]): [string, Comparison] => [
    name,
    { trino: `SELECT * FROM ${name}`, duckdb: `FROM ${name}`, key },
  ]);
  const steps = ADJUSTMENTS.filter((name) => name !== "none").map((name): [string, Comparison] => [
    `adjustment_steps ${name}`,
    {
      trino: `SELECT symbol, start_date, end_date, "value" FROM adjustment_steps WHERE adjustment = ${literal(name)}`,
      duckdb: `FROM adjustment_steps(${literal(name)})`,
      key: ["symbol", "start_date"],
    },
  ]);
  const returns: Comparison = {
    trino: "SELECT * FROM returns",
    duckdb: "FROM returns",
    key: DAY,
    inexact: ["log_return"],
  };
  return Object.fromEntries([...same, ...steps, ["returns", returns]]);
}

/** The views of one period: unadjusted where no adjustment is given. */
export function barComparison(period: Period, adjustment?: Adjustment): Comparison {
  const where = `period = ${literal(period)}`;
  const inexact = LANDED.includes(period) ? [] : ["amount", "vwap"];
  const without =
    "open, high, low, close, volume, amount, prev_close, open_interest, settlement_price, lot, shares";
  const columns = `symbol, trade_date, "timestamp", ${without}, landed_bars, is_final, region`;
  return adjustment === undefined
    ? {
        trino: `SELECT ${columns}, vwap FROM bars WHERE ${where}`,
        duckdb: `SELECT ${columns}, vwap FROM bars(${literal(period)})`,
        key: BAR,
        inexact,
      }
    : {
        trino: `SELECT ${columns} FROM adjusted WHERE ${where} AND adjustment = ${literal(adjustment)}`,
        duckdb: `SELECT ${columns} FROM adjusted(${literal(period)}, ${literal(adjustment)})`,
        key: BAR,
        inexact,
      };
}

/** All pairs of a period and an adjustment. */
export const PAIRS = PERIODS.flatMap((period) => ADJUSTMENTS.map((adjustment) => ({ period, adjustment })));

/**
 * What was known on each day on which something changed, and on the day before it.
 *
 * @param session a session of the lake.
 */
export async function asOfComparisons(session: Session): Promise<Record<string, Comparison>> {
  const daysOf = async (table: string): Promise<string[]> => {
    const rows = await session.json<{ day: string }>(
      `SELECT DISTINCT CAST(day AS VARCHAR) AS day FROM (
         SELECT unnest([local_date(valid_from, region), local_date(valid_to, region)]) AS changed FROM raw.${table}
       ), (SELECT unnest([changed, changed - 1]) AS day) WHERE day IS NOT NULL ORDER BY day DESC LIMIT 6`,
    );
    return ["2001-01-01", ...rows.map(({ day }) => day), "2099-01-01"];
  };
  const both = (days: readonly string[], ours: (day: string) => string): string =>
    days
      .map((day) => `SELECT DATE ${literal(day)} AS day, * FROM ${ours(`DATE ${literal(day)}`)}`)
      .join(" UNION ALL ");
  const [memberDays, instrumentDays] = [await daysOf("universe_members"), await daysOf("instruments")];
  const universes = await session.json<{ id: string }>(
    "SELECT DISTINCT id FROM raw.universe_members ORDER BY id",
  );
  const members = universes.map(({ id }) =>
    both(memberDays, (day) => `members(${literal(id)}, ${day})`).replaceAll(
      "SELECT ",
      `SELECT ${literal(id)} AS id, `,
    ),
  );
  const valuesOf = (days: readonly string[]): string => days.map((day) => `DATE ${literal(day)}`).join(", ");
  return {
    "members as of": {
      trino: `SELECT m.id, d.day, m.symbol, m.known, m.seen_from, m.seen_to, m.region, m.source
        FROM members AS m JOIN (VALUES ${valuesOf(memberDays)}) AS d (day) ON m.from_date <= d.day AND m.to_date > d.day`,
      duckdb: members.join(" UNION ALL "),
      key: ["id", "day", "symbol"],
    },
    "instruments as of": {
      trino: `SELECT d.day, v.* FROM instrument_versions AS v JOIN (VALUES ${valuesOf(instrumentDays)}) AS d (day)
        ON v.from_date <= d.day AND (v.to_date IS NULL OR v.to_date > d.day)`,
      duckdb: both(instrumentDays, (day) => `instruments_asof(${day})`),
      key: ["day", "symbol"],
    },
  };
}
