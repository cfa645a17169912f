import { expect, test } from "vitest";
import { parseTradingDate } from "../../../src/core/time.js";
import { knownRowsSql } from "../../../src/db/market/known-sql.js";
import { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import { addDays } from "../../../src/market/sessions.js";
import { instantOf } from "../../../src/market/zone.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../../src/schema/actions.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { queryLake, temporaryLake } from "../../lake/temporary-lake.js";

const at = (text: string): number => Date.parse(`${text}+08:00`);
const KEY = { symbol: "600519.SH", source: "a", region: "CN" };

async function land(lake: Lake, table: TableSchema, rows: readonly Record<string, unknown>[]): Promise<void> {
  using session = await Session.open({ threads: 1 });
  await stageObjects(session, "staged", table.columns, rows);
  await upsert(session, lake, table, "staged", {
    operation: "IMPORT",
    runId: "run",
    now: at("2026-11-01T00:00"),
  });
}

/** The values of a column of the rows that were visible at an instant of Shanghai's day, in their order. */
async function visible(lake: Lake, table: TableSchema, time: string, column: string): Promise<unknown[]> {
  const all = `SELECT * FROM raw.${table.name}`;
  const sql = knownRowsSql(table, all, { knownAt: at(time) });
  const rows = await queryLake<{ value: unknown }>(
    lake,
    `SELECT CAST(${column} AS VARCHAR) AS value FROM (${sql}) ORDER BY ${table.key.join(", ")}`,
  );
  return rows.map(({ value }) => value);
}

test("an action is visible from the day after its announcement, a correction from when it was seen", async () => {
  const lake = temporaryLake();
  const dividend = { ...KEY, kind: "cash_dividend", ex_date: "2026-06-19", announce_date: "2026-04-20" };
  await land(lake, CORPORATE_ACTIONS, [
    { ...dividend, cash: 1.5, first_seen_at: at("2026-05-03T12:00") },
    { ...dividend, cash: 1.4, first_seen_at: at("2026-05-04T09:31") },
  ]);
  const cash = (time: string) => visible(lake, CORPORATE_ACTIONS, time, "cash");
  expect(await cash("2026-04-20T23:59:59.999")).toEqual([]);
  expect(await cash("2026-04-21T00:00")).toEqual(["1.5"]);
  expect(await cash("2026-05-04T09:30:59.999")).toEqual(["1.5"]);
  expect(await cash("2026-05-04T09:31")).toEqual(["1.5", "1.4"]);
});

test("an action that nobody announced is visible from the opening of its ex-date, or from when it was seen", async () => {
  const lake = temporaryLake();
  const rights = { ...KEY, kind: "rights", ratio: 0.2, price: 5, ex_date: "2026-06-19" };
  await land(lake, CORPORATE_ACTIONS, [
    { ...rights, first_seen_at: at("2026-10-01T00:00") },
    { ...rights, ex_date: "2026-09-10", first_seen_at: at("2026-08-01T10:00") },
  ]);
  const dates = (time: string) => visible(lake, CORPORATE_ACTIONS, time, "ex_date");
  expect(await dates("2026-06-19T09:29")).toEqual([]);
  expect(await dates("2026-06-19T09:31")).toEqual(["2026-06-19"]);
  expect(await dates("2026-08-01T09:59")).toEqual(["2026-06-19"]);
  expect(await dates("2026-08-01T10:00")).toEqual(["2026-06-19", "2026-09-10"]);
});

test("a factor is visible from the opening of its ex-date", async () => {
  const lake = temporaryLake();
  const seen = { first_seen_at: at("2026-01-01T00:00") };
  await land(lake, EX_FACTORS, [{ ...KEY, ...seen, ex_date: "2026-06-19", factor: 1.35 }]);
  expect(await visible(lake, EX_FACTORS, "2026-06-19T09:29", "factor")).toEqual([]);
  expect(await visible(lake, EX_FACTORS, "2026-06-19T09:31", "factor")).toEqual(["1.35"]);
});

test("a change of a symbol is visible from its date, and its end from that", async () => {
  const lake = temporaryLake();
  const rename = { ...KEY, kind: "rename", new_symbol: "600520.SH", first_seen_at: at("2026-10-01T00:00") };
  await land(lake, SYMBOL_CHANGES, [{ ...rename, from_date: "2026-06-19", until_date: "2026-09-01" }]);
  const ends = (time: string) => visible(lake, SYMBOL_CHANGES, time, "until_date");
  expect(await ends("2026-06-18T23:59")).toEqual([]);
  expect(await ends("2026-06-19T00:00")).toEqual([null]);
  expect(await ends("2026-08-31T23:59")).toEqual([null]);
  expect(await ends("2026-09-01T00:00")).toEqual(["2026-09-01"]);
});

test("at the end of each day the visible versions of actions are those that were known by it", async () => {
  const lake = temporaryLake();
  const market = simulateMarket({ seed: 9, symbols: 30, days: 130, end: parseTradingDate("2025-11-20") });
  const chinese = market.instruments.filter(({ region }) => region === "CN").map(({ symbol }) => symbol);
  const versions = market.actionVersions(chinese);
  await land(
    lake,
    CORPORATE_ACTIONS,
    versions.map(({ firstSeen, ...action }, index) => ({
      ...action,
      source: "a",
      region: "CN",
      // Some are seen when they are announced, others were imported later.
      first_seen_at: instantOf(firstSeen, "Asia/Shanghai") + (index % 3) * 40 * 86_400_000 + 3_600_000,
    })),
  );
  const days = market.tradingDays("CN").filter((_, index) => index % 10 === 0);
  for (const day of days) {
    const midnight = instantOf(addDays(day, 1), "Asia/Shanghai") - 1;
    const sql = knownRowsSql(CORPORATE_ACTIONS, "SELECT * FROM raw.corporate_actions", {
      knownAt: midnight + 1,
    });
    const key = "symbol, CAST(ex_date AS VARCHAR) AS ex_date, kind, cash, ratio, price";
    const known = `SELECT ${key} FROM corporate_action_versions WHERE known_from <= DATE '${day}' ORDER BY ALL`;
    expect(await queryLake(lake, `SELECT ${key} FROM (${sql}) ORDER BY ALL`)).toEqual(
      await queryLake(lake, known),
    );
  }
  expect(versions.length).toBeGreaterThan(10);
});
