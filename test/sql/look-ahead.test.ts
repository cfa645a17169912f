import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/db/session/session.js";
import { openReader } from "../../src/lake/open-reader.js";
import { STATEMENTS } from "../../src/schema/statements.js";
import { once } from "../once.js";
import { newLake } from "../serve/served-lake.js";
import { cases } from "../sweep.js";
import { fillSimulated, restatedSql } from "./simulated-lake.js";

/**
 * Each view or call, the column that dates its rows, and the columns that may change with later data. `$` is the date.
 */
const DATED: readonly (readonly [query: string, date: string, mayChange?: string])[] = [
  ["bars_1d", "trade_date"],
  ["bars_1m", "trade_date"],
  ["returns", "trade_date"],
  ["ex_events", "ex_date"],
  ["restated_closes", "trade_date"],
  ["last_closes", "trade_date"],
  ["told_closes", "trade_date"],
  ["daily_status", "trade_date"],
  ["daily_valuation", "trade_date"],
  // Its names and shares are those of now, as their comments say.
  ["daily_fundamentals", "trade_date", "name, type, exchange, total_shares, float_shares"],
  ["daily_metrics", "trade_date"],
  // The newest session does not know the next one.
  ["trading_calendar", "trade_date", "next_session"],
  ["balance_sheet_history", "known_from"],
  ["cash_flow_history", "known_from"],
  ["income_history", "known_from"],
  // A version's end is known when it has ended.
  ["instrument_versions", "from_date", "to_date"],
  ["quality_ohlc", "trade_date"],
  ["quality_units", "trade_date"],
  ["quality_outliers", "trade_date"],
  ["quality_duplicates", "trade_date"],
  ["adjusted('1d', 'none')", "trade_date"],
  ["adjusted('1d', 'backward')", "trade_date"],
  ["adjusted('30m', 'backward_additive')", "trade_date"],
  ["adjusted('1d', 'forward', as_of := DATE '$')", "trade_date"],
  ["adjusted('60m', 'forward_additive', as_of := DATE '$')", "trade_date"],
  ["adjusted('1M', 'forward', as_of := DATE '$')", "trade_date"],
  ["bars('1w', as_of := DATE '$')", "trade_date"],
  ["histories((SELECT list(symbol) FROM bar_spans), '1w', 'forward', as_of := DATE '$')", "trade_date"],
  ["adjustment_steps('forward', as_of := DATE '$')", "DATE '$'"],
  ["instruments_asof(DATE '$')", "DATE '$'", "to_date"],
  ["members('CN_Equity_A', DATE '$')", "DATE '$'", "seen_to"],
  ["statements_asof(DATE '$')", "DATE '$'"],
];

/** Views whose rows are of now, or of spans that may go on: their comments say so. */
const OF_NOW = [
  "balance_sheet",
  "bar_spans",
  "cash_flow",
  "corporate_action_versions",
  "corporate_actions",
  "ex_dates",
  "ex_factors",
  "exchanges",
  "income",
  "instruments",
  "metrics",
  "price_stretches",
  "quality_gaps",
  "quality_stale",
  "reference_changes",
  "rejects",
  "requests",
  "runs",
  "shares",
  "survivors",
  "symbol_changes",
  "universe_members",
  "universes",
  "unknown_spans",
];

const ZONES =
  "CASE region WHEN 'US' THEN 'America/New_York' WHEN 'HK' THEN 'Asia/Hong_Kong' ELSE 'Asia/Shanghai' END";
const TODAY = "getvariable('today')";
const RESTATED = new Set(Object.keys(STATEMENTS));

describe("as today moves on", () => {
  const { lake, remove } = newLake();
  let reader: Session;
  let days: string[];

  beforeAll(async () => {
    await fillSimulated(lake.location, { symbols: 24, days: 260, end: "2026-03-31", minuteDays: 6 });
    reader = (await openReader(lake)).session;
    days = (
      await reader.json<{ day: string }>(
        "SELECT DISTINCT trade_date::VARCHAR AS day FROM trading_calendar ORDER BY day",
      )
    ).map(({ day }) => day);
    // The tables as they were at the end of a day: what was not there yet is hidden.
    const seen = (column: string): string => `(${column} AT TIME ZONE ${ZONES})::DATE <= ${TODAY}`;
    const hidden: Record<string, string> = {
      bars_1d: `SELECT * FROM all_bars_1d WHERE trade_date <= ${TODAY}`,
      bars_1m: `SELECT * FROM all_bars_1m WHERE trade_date <= ${TODAY}`,
      absences_1d: `SELECT * REPLACE (least(last_date, ${TODAY}) AS last_date) FROM all_absences_1d WHERE first_date <= ${TODAY}`,
      trading_days: `SELECT * FROM all_trading_days WHERE trade_date <= ${TODAY}`,
      balance_sheet: `SELECT * FROM all_balance_sheet WHERE ${seen("first_seen_at")}`,
      cash_flow: `SELECT * FROM all_cash_flow WHERE ${seen("first_seen_at")}`,
      income: `SELECT * FROM all_income WHERE ${seen("first_seen_at")}`,
      metrics: `SELECT * FROM all_metrics WHERE ${seen("first_seen_at")}`,
      shares: `SELECT * FROM all_shares WHERE ${seen("first_seen_at")}`,
      instruments: `SELECT * REPLACE (CASE WHEN ${seen("valid_to")} THEN valid_to END AS valid_to)
        FROM all_instruments WHERE ${seen("valid_from")}`,
      universe_members: `SELECT * REPLACE (CASE WHEN ${seen("valid_to")} THEN valid_to END AS valid_to)
        FROM all_universe_members WHERE ${seen("valid_from")}`,
    };
    for (const [table, sql] of Object.entries(hidden)) {
      await reader.run(
        `CREATE TABLE all_${table} AS ${RESTATED.has(table) ? restatedSql(table) : `FROM raw.${table}`}`,
      );
      await reader.run(`CREATE OR REPLACE VIEW raw.${table} AS ${sql}`);
    }
  });
  afterAll(() => {
    reader.close();
    remove();
  });

  once("every view is either tested against later data or known to show the present state", async () => {
    const views = await reader.json<{ name: string }>(
      "SELECT view_name AS name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal",
    );
    const dated = DATED.map(([query]) => query);
    expect(
      views
        .map(({ name }) => name)
        .filter((name) => !dated.includes(name))
        .sort(),
    ).toEqual(OF_NOW);
  });

  test("no row for a date changes", async () => {
    const compared = new Map<string, number>();
    const rowsOf = async (
      into: string,
      today: string,
      [query, date, mayChange]: (typeof DATED)[number],
      upTo: string,
    ) => {
      await reader.run(`SET VARIABLE today = DATE '${today}'`);
      const columns = mayChange === undefined ? "*" : `* EXCLUDE (${mayChange})`;
      const sql = `SELECT ${columns} FROM ${query} WHERE ${date} <= DATE '${upTo}'`.replaceAll("$", upTo);
      await reader.run(`CREATE OR REPLACE TEMP TABLE ${into} AS ${sql}`);
    };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 20, max: days.length - 2 }),
        fc.integer({ min: 1, max: 80 }),
        async (first, ahead) => {
          const [today, later] = [
            days[first] as string,
            days[Math.min(first + ahead, days.length - 1)] as string,
          ];
          for (const one of DATED) {
            await rowsOf("before", today, one, today);
            await rowsOf("after", later, one, today);
            const changed = await reader.json(
              "(FROM before EXCEPT ALL FROM after) UNION ALL (FROM after EXCEPT ALL FROM before) LIMIT 3",
            );
            expect(changed, `${one[0]} on ${today}, seen again on ${later}`).toEqual([]);
            const [count] = await reader.json<{ n: bigint }>("SELECT count(*) AS n FROM before");
            compared.set(one[0], (compared.get(one[0]) ?? 0) + Number(count?.n));
          }
        },
      ),
      { numRuns: cases({ few: 1, more: 2, all: 50 }), examples: [[days.length - 4, 3]] },
    );
    const faultless = ["quality_ohlc", "quality_units", "quality_duplicates", "quality_outliers"];
    const empty = [...compared].filter(([query, rows]) => rows === 0 && !faultless.includes(query));
    expect(empty).toEqual([]);
  });

  once(
    "and would be seen to, if one did: forward prices without as_of change with each new event",
    async () => {
      await reader.run(`SET VARIABLE today = DATE '${days.at(-1)}'`);
      const [event] = await reader.json<{ symbol: string; day: string }>(
        "SELECT symbol, ex_date::VARCHAR AS day FROM ex_events ORDER BY ex_date DESC, symbol LIMIT 1",
      );
      const firstClose = async (today: string): Promise<unknown> => {
        await reader.run(`SET VARIABLE today = DATE '${today}'`);
        return reader.json(
          `SELECT close FROM adjusted('1d', 'forward') WHERE symbol = '${event?.symbol}' ORDER BY trade_date LIMIT 1`,
        );
      };
      const before = days.filter((day) => day < (event?.day as string)).at(-1) as string;
      expect(await firstClose(before)).not.toEqual(await firstClose(event?.day as string));
    },
  );
});
