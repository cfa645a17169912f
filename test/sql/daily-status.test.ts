import { expect, test } from "vitest";
import type { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { upsert } from "../../src/lake/land/upsert.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BARS_1D, TRADING_DAYS } from "../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS } from "../../src/schema/reference.js";
import { land, openSession, T0, type TestBar, temporaryLake } from "../lake/temporary-lake.js";
import { landReference } from "../serve/served-lake.js";

const DAYS = ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"];
const at = (day: string): string => `${day}T00:00:00+08:00`;

const stock = (symbol: string, more: Readonly<Record<string, unknown>> = {}) => ({
  symbol,
  code: symbol.slice(0, 6),
  exchange: symbol.slice(7),
  name: "Maotai",
  type: "stock",
  region: "CN",
  ...more,
});

async function withLake<T>(
  fill: (lake: Lake, session: Session) => Promise<unknown>,
  use: (reader: Session) => Promise<T>,
): Promise<T> {
  const [lake, session] = [temporaryLake(), await openSession()];
  const options = { operation: "TEST", runId: "test", now: T0 };
  await stageObjects(
    session,
    "days",
    TRADING_DAYS.columns,
    DAYS.map((trade_date) => ({ region: "CN", trade_date, source: "index" })),
  );
  await upsert(session, lake, TRADING_DAYS, "days", options);
  await fill(lake, session);
  const { session: reader } = await openReader(lake, { threads: 1 });
  try {
    return await use(reader);
  } finally {
    reader.close();
  }
}

const bar = (
  day: string,
  prices: readonly [number, number, number, number],
  more: Partial<TestBar> = {},
): TestBar => {
  const [open, high, low, close] = prices;
  return { at: at(day), open, high, low, close, ...more };
};

test("a day at one price is not tradable, one that ends at the limit is, an absent one is suspended", async () => {
  const rows = await withLake(
    async (lake, session) => {
      await land(session, lake, BARS_1D, [
        bar("2024-01-02", [10, 11, 9.8, 11], { prevClose: 10, volume: 2000 }),
        bar("2024-01-03", [12.1, 12.1, 12.1, 12.1], { prevClose: 11 }),
        bar("2024-01-05", [12, 12, 11, 11.5], { prevClose: 12.1, volume: 0 }),
      ]);
      await landReference(lake, INSTRUMENTS, [stock("600519.SH", { float_shares: 1e6 })], {
        now: Date.parse(at("2024-01-03")),
      });
    },
    (reader) =>
      reader.json(`SELECT trade_date::VARCHAR AS d, has_bar, suspended, limit_up_price AS top, limit_up, tradable, turnover, known
        FROM daily_status ORDER BY d`),
  );
  expect(rows).toEqual([
    {
      d: "2024-01-02",
      has_bar: true,
      suspended: false,
      top: 11,
      limit_up: true,
      tradable: true,
      turnover: 0.002,
      known: "assumed",
    },
    {
      d: "2024-01-03",
      has_bar: true,
      suspended: false,
      top: 12.1,
      limit_up: true,
      tradable: false,
      turnover: 0.0001,
      known: "observed",
    },
    {
      d: "2024-01-04",
      has_bar: false,
      suspended: true,
      top: null,
      limit_up: false,
      tradable: false,
      turnover: 0,
      known: "observed",
    },
    {
      d: "2024-01-05",
      has_bar: true,
      suspended: true,
      top: 13.31,
      limit_up: false,
      tradable: false,
      turnover: 0,
      known: "observed",
    },
  ]);
});

test("the limit that the day's own metadata states has precedence over the rule; special treatment halves the rule", async () => {
  const rows = await withLake(
    async (lake, session) => {
      await land(
        session,
        lake,
        BARS_1D,
        DAYS.slice(0, 3).map((day) => bar(day, [10, 10, 10, 10], { prevClose: 10 })),
      );
      const landMetadata = (day: string, more: object) =>
        landReference(lake, INSTRUMENTS, [stock("600519.SH", { ...more })], { now: Date.parse(at(day)) });
      await landMetadata("2024-01-02", { limit_up: 10.7, limit_down: 9.3 });
      await landMetadata("2024-01-03", { limit_up: 100_000, limit_down: 0 });
      await landMetadata("2024-01-04", { name: "*ST Maotai" });
    },
    (reader) =>
      reader.json(
        "SELECT limit_up_price AS top, limit_down_price AS bottom, limit_source AS source FROM daily_status WHERE has_bar ORDER BY trade_date",
      ),
  );
  expect(rows).toEqual([
    { top: 10.7, bottom: 9.3, source: "observed" },
    { top: null, bottom: null, source: "observed" },
    { top: 10.5, bottom: 9.5, source: "rule" },
  ]);
});

test("the rules of the boards", async () => {
  const percents = await withLake(
    async () => {},
    (reader) =>
      reader.json<{ p: number | null }>(
        `SELECT limit_percent(symbol, day::DATE, NULL, NULL) AS p FROM (VALUES (1, '600519.SH', '2024-01-02'), (2, '688001.SH', '2024-01-02'),
          (3, '300750.SZ', '2020-08-21'), (4, '300750.SZ', '2020-08-24'), (5, '830001.BJ', '2024-01-02'), (6, '000001.SH', '2024-01-02'),
          (7, '00700.HK', '2024-01-02'), (8, '600601.SH', '1995-01-03'), (9, '302132.SZ', '2025-03-03')) t(n, symbol, day) ORDER BY n`,
      ),
  );
  expect(percents.map(({ p }) => p)).toEqual([10, 20, 10, 20, 30, null, null, null, 20]);
});

test("returns are measured from the stated previous close; without one from the last close", async () => {
  const rows = await withLake(
    (lake, session) =>
      land(session, lake, BARS_1D, [
        bar("2024-01-02", [19, 21, 19, 20]),
        bar("2024-01-03", [10.5, 11, 10, 11], { prevClose: 10 }),
        bar("2024-01-04", [11, 12, 10, 12.1]),
        bar("2024-01-05", [0, 0, 0, 12.1], { prevClose: 12.1, volume: 0 }),
      ]),
    (reader) =>
      reader.json<Record<string, number | null>>(
        "SELECT simple_return AS s, log_return AS l, overnight_return AS o, intraday_return AS i FROM returns ORDER BY trade_date",
      ),
  );
  const rounded = rows.map((row) =>
    Object.values(row).map((value) => (value === null ? null : Number(value.toFixed(6)))),
  );
  expect(rounded).toEqual([
    [null, null, null, 0.052632],
    [0.1, 0.09531, 0.05, 0.047619],
    [0.1, 0.09531, 0, 0.1],
    [0, 0, null, null],
  ]);
});

test("who was in a universe, and listed, on a date; from before it was first seen it is assumed", async () => {
  await withLake(
    async (lake) => {
      const member = (symbol: string) => ({ id: "U", symbol, region: "CN" });
      for (const [day, symbols] of [
        ["2024-01-03", ["A.SH", "B.SH"]],
        ["2024-01-04", ["B.SH", "C.SH"]],
      ] as const) {
        const options = { now: Date.parse(`${day}T18:00:00+08:00`), complete: "true" };
        await landReference(lake, UNIVERSE_MEMBERS, symbols.map(member), options);
        await landReference(
          lake,
          INSTRUMENTS,
          symbols.map((symbol) => stock(symbol, { code: "1", exchange: "SH" })),
          options,
        );
      }
    },
    async (reader) => {
      // The first members of a universe are assumed together, instruments one by one: C may have been listed before.
      for (const [call, also] of [
        ["members('U', $)", ""],
        ["instruments_asof($)", ", C.SH assumed"],
      ] as const) {
        const asOf = async (day: string): Promise<string> =>
          (
            await reader.json<{ t: string }>(
              `SELECT symbol || ' ' || known AS t FROM ${call.replace("$", day)} ORDER BY 1`,
            )
          )
            .map(({ t }) => t)
            .join(", ");
        expect(await asOf("'2024-01-02'")).toBe(`A.SH assumed, B.SH assumed${also}`);
        expect(await asOf("'2024-01-03'")).toBe(`A.SH observed, B.SH observed${also}`);
        expect(await asOf("'2024-01-04'")).toBe("B.SH observed, C.SH observed");
        expect(await asOf("NULL")).toBe("B.SH observed, C.SH observed");
      }
    },
  );
});

test("the first version of each instrument counts for its past, whichever was imported before", async () => {
  const shares = { total_shares: 1e6, float_shares: 5e5, type: "stock", exchange: "SH", code: "1" };
  await withLake(
    async (lake, session) => {
      const listed = stock("600002.SH", { ...shares, listing_date: "2024-01-03" });
      await landReference(lake, INSTRUMENTS, [stock("600001.SH", { ...shares })], {
        now: Date.parse("2024-02-01T00:00:00Z"),
      });
      await landReference(lake, INSTRUMENTS, [stock("600003.SH", { ...shares }), listed], {
        now: Date.parse("2024-03-01T00:00:00Z"),
      });
      for (const symbol of ["600001.SH", "600002.SH", "600003.SH"])
        await land(session, lake, BARS_1D, [
          bar("2024-01-02", [10, 10, 10, 10], { symbol }),
          bar("2024-01-03", [10, 10, 10, 10], { symbol }),
        ]);
    },
    async (reader) => {
      const values = { total_shares: 1e6, market_value: 1e7, known: "assumed" };
      expect(
        await reader.json(
          `SELECT symbol, trade_date::VARCHAR AS day, total_shares, market_value, known FROM daily_valuation ORDER BY ALL`,
        ),
      ).toEqual([
        { symbol: "600001.SH", day: "2024-01-02", ...values },
        { symbol: "600001.SH", day: "2024-01-03", ...values },
        // The day before its listing.
        { symbol: "600002.SH", day: "2024-01-02", total_shares: null, market_value: null, known: null },
        { symbol: "600002.SH", day: "2024-01-03", ...values },
        { symbol: "600003.SH", day: "2024-01-02", ...values },
        { symbol: "600003.SH", day: "2024-01-03", ...values },
      ]);
    },
  );
});

test("sessions know their neighbours, symbols their first and last bar", async () => {
  await withLake(
    (lake, session) =>
      land(session, lake, BARS_1D, [
        bar("2024-01-02", [1, 1, 1, 1], { volume: 0 }),
        bar("2024-01-05", [1, 1, 1, 1]),
      ]),
    async (reader) => {
      expect(
        await reader.json(
          `SELECT previous_session::VARCHAR AS p, next_session::VARCHAR AS n, session_number::INT AS i FROM trading_calendar
           WHERE trade_date IN ('2024-01-02', '2024-01-04') ORDER BY i`,
        ),
      ).toEqual([
        { p: null, n: "2024-01-03", i: 1 },
        { p: "2024-01-03", n: "2024-01-05", i: 3 },
      ]);
      expect(
        await reader.json(
          "SELECT first_date::VARCHAR AS f, last_date::VARCHAR AS l, first_traded::VARCHAR AS t, bars FROM bar_spans",
        ),
      ).toEqual([{ f: "2024-01-02", l: "2024-01-05", t: "2024-01-05", bars: 2n }]);
    },
  );
});

test("a day that is not near a limit is at none, of any board's rule", async () => {
  const [counts] = await withLake(
    async () => {},
    (reader) =>
      reader.json<{ far: number; near: number; wrong: number }>(
        `SELECT count(*) FILTER (NOT near)::INTEGER AS far, count(*) FILTER (near)::INTEGER AS near,
       count(*) FILTER (NOT near AND (at_limit_up(close, up) OR at_limit_down(close, down) OR NOT is_tradable(1, low, high, up, down)))::INTEGER AS wrong
     FROM (
       SELECT *, is_near_limit(low, high, close, prev) AS near,
         round(CAST(prev AS DECIMAL(18, 4)) * (100 + percent) / 100, decimals)::DOUBLE AS up,
         round(CAST(prev AS DECIMAL(18, 4)) * (100 - percent) / 100, decimals)::DOUBLE AS down
       FROM (
         SELECT prev, percent, decimals, greatest(prev * (1 + change / 1000), 0.001) AS close, close AS low, close AS high
         FROM (SELECT unnest([0.004, 0.013, 0.101, 1.005, 9.99, 123.45, 1700, -1, NULL]) AS prev),
           (SELECT unnest([5, 10, 20, 30]) AS percent), (SELECT unnest([2, 3]) AS decimals),
           (SELECT unnest(range(-320, 320)) AS change)))`,
      ),
  );
  expect(counts?.wrong).toBe(0);
  expect(counts?.far).toBeGreaterThan(1000);
  expect(counts?.near).toBeGreaterThan(1000);
});
