import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { openPanel } from "../../src/dataset/panel/lake-panel.js";
import { type DatasetDefinition, defineDataset } from "../../src/dataset/spec.js";
import type { Session } from "../../src/db/session/session.js";
import { openReader } from "../../src/lake/open-reader.js";
import { STATEMENTS } from "../../src/schema/statements.js";
import { once } from "../once.js";
import { newLake } from "../serve/served-lake.js";
import { restatedSql } from "../sql/simulated-lake.js";
import { cases, pickFrom } from "../sweep.js";
import { DAYS, END, lakeUntil, UNIVERSE } from "./growing-lake.js";

/** Datasets in which later data must change no cell. */
const DEFINITIONS: Readonly<Record<string, Partial<DatasetDefinition>>> = {
  "columns of the bars": { fields: ["open", "close", "vwap", "adjusted_volume", "factor", "change"] },
  "unadjusted, filled": {
    adjustment: "none",
    fields: ["open", "close", "volume"],
    fill: { method: "forward", limit: 3 },
  },
  "added amounts": { adjustment: "backward_additive", fields: ["open", "close"] },
  "views and windows": {
    fields: [
      { name: "pb", sql: "price_to_book" },
      { name: "turnover", sql: "daily_status.turnover" },
      { name: "assets", sql: "daily_fundamentals.total_assets" },
      { name: "income", sql: "daily_fundamentals.net_income" },
      { name: "earnings", sql: "earnings_per_share_ttm" },
      { name: "roe", sql: "daily_metrics.roe" },
      { name: "issued", sql: "daily_metrics.total_shares" },
      { name: "base", sql: "returns.base" },
      { name: "mean", sql: "avg(close) OVER (PARTITION BY symbol ORDER BY trade_date ROWS 19 PRECEDING)" },
      { name: "rank", sql: "rank() OVER (PARTITION BY trade_date ORDER BY amount)" },
    ],
    universe: { sql: "SELECT DISTINCT symbol FROM raw.bars_1d WHERE region = 'CN' AND year = 2025" },
  },
  "a universe": { universe: UNIVERSE, fields: ["close"], minHistory: 40 },
  weeks: { period: "1w", fields: ["open", "close", "volume"] },
};
/** Whether two values are equal to 12 digits: DuckDB adds up a window's values in another order as there are more of them. */
const isSame = (a: number, b: number): boolean => Object.is(a, b) || Math.abs(a - b) <= 1e-12 * Math.abs(a);

const ZONES =
  "CASE region WHEN 'US' THEN 'America/New_York' WHEN 'HK' THEN 'Asia/Hong_Kong' ELSE 'Asia/Shanghai' END";
const TODAY = "getvariable('today')";

describe("as today moves on", () => {
  const { lake, remove } = newLake();
  let session: Session;

  beforeAll(async () => {
    await lakeUntil(lake.location, END as TradingDate, { minuteDays: 4 });
    session = (await openReader(lake)).session;
    // The tables as they were at the end of a day: what was not there yet is hidden.
    const seen = (column: string): string => `(${column} AT TIME ZONE ${ZONES})::DATE <= ${TODAY}`;
    const validity = `* REPLACE (CASE WHEN ${seen("valid_to")} THEN valid_to END AS valid_to)`;
    const hidden: Record<string, string> = {
      bars_1d: `SELECT * FROM all_bars_1d WHERE trade_date <= ${TODAY}`,
      trading_days: `SELECT * FROM all_trading_days WHERE trade_date <= ${TODAY}`,
      ...Object.fromEntries(
        Object.keys(STATEMENTS).map((table) => [
          table,
          `SELECT * FROM all_${table} WHERE ${seen("first_seen_at")}`,
        ]),
      ),
      instruments: `SELECT ${validity} FROM all_instruments WHERE ${seen("valid_from")}`,
      universe_members: `SELECT ${validity} FROM all_universe_members WHERE ${seen("valid_from")}`,
    };
    for (const [table, sql] of Object.entries(hidden)) {
      await session.run(
        `CREATE TABLE all_${table} AS ${table in STATEMENTS ? restatedSql(table) : `FROM raw.${table}`}`,
      );
      await session.run(`CREATE OR REPLACE VIEW raw.${table} AS ${sql}`);
    }
  });
  afterAll(() => {
    session.close();
    remove();
  });

  /** Cells of the days up to `end`, as they are on `today`, by symbol and day; those without any value are left out. */
  async function cellsOn(
    today: string,
    end: string,
    changes: Partial<DatasetDefinition>,
  ): Promise<Map<string, number[]>> {
    await session.run(`SET VARIABLE today = DATE '${today}'`);
    const panel = await openPanel(
      session,
      defineDataset({ name: "test", universe: { region: "CN" }, from: DAYS[30] as string, ...changes }),
    );
    const last = Date.parse(`${end}T00:00:00Z`) / 86_400_000;
    const cells = new Map<string, number[]>();
    for await (const { symbols, width, fields, masks, first, last: lasts } of panel.blocks()) {
      for (const [s, { symbol }] of symbols.entries()) {
        for (let label = 0; label < width; label++) {
          const day = panel.labels.days[label] as number;
          // Between its last bar so far and its next one, a symbol may turn out to have been suspended, and is filled.
          if (day > last || label < (first[s] as number) || label > (lasts[s] as number)) continue;
          cells.set(
            `${symbol} ${day}`,
            [...fields, ...masks].map((values) => values[s * width + label] as number),
          );
        }
      }
    }
    return cells;
  }

  test.each(pickFrom(Object.entries(DEFINITIONS), { few: 2, more: 20, all: 20 }))(
    "no cell of a day changes: %s",
    async (_, changes) => {
      let compared = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 90, max: DAYS.length - 2 }),
          fc.integer({ min: 1, max: 120 }),
          async (at, ahead) => {
            const today = DAYS[at] as string;
            const before = await cellsOn(today, today, changes);
            const after = await cellsOn(
              DAYS[Math.min(at + ahead, DAYS.length - 1)] as string,
              today,
              changes,
            );
            for (const [key, cell] of before) {
              const later = after.get(key) ?? [];
              if (
                later.length !== cell.length ||
                !cell.every((value, i) => isSame(value, later[i] as number))
              )
                expect(later, `${key}, as of ${today}`).toEqual(cell);
              compared++;
            }
          },
        ),
        { numRuns: cases({ few: 1, more: 2, all: 40 }) },
      );
      expect(compared).toBeGreaterThan(50);
    },
  );

  once("and would be seen to, if one did: forward prices", async () => {
    const changes: Partial<DatasetDefinition> = { adjustment: "forward", fields: ["close"] };
    const [today, later] = [DAYS[100] as string, END];
    expect(await cellsOn(today, today, changes)).not.toEqual(await cellsOn(later, today, changes));
  });
});
