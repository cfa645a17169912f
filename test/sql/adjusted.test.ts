import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseTradingDate } from "../../src/core/time.js";
import type { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { openReader } from "../../src/lake/open-reader.js";
import type { Region } from "../../src/market/regions.js";
import { dayRange } from "../../src/market/sessions.js";
import { regionOf } from "../../src/market/symbol.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { once } from "../once.js";
import { type Klines, referenceKlines } from "../serve/reference-klines.js";
import { type LandedBar, landRows, newLake } from "../serve/served-lake.js";
import { pickFrom } from "../sweep.js";
import { fillSimulated } from "./simulated-lake.js";

const COLUMNS = ["open", "high", "low", "close", "volume", "amount", "prev_close"] as const;
const SYMBOLS = 24;

/** Rows of `adjusted` in the form of a response, by symbol. */
async function klines(
  reader: Session,
  call: string,
  symbols: readonly string[],
): Promise<Map<string, Klines>> {
  const lists = COLUMNS.map(
    (name) => `list(${name === "volume" ? "volume::DOUBLE" : name} ORDER BY "timestamp") AS ${name}`,
  );
  const rows = await reader.json<Klines & { symbol: string }>(
    `SELECT symbol, list(epoch_ms("timestamp")::DOUBLE ORDER BY "timestamp") AS timestamp, ${lists.join(", ")}
     FROM ${call} WHERE symbol IN (${symbols.map((symbol) => `'${symbol}'`).join()}) GROUP BY symbol`,
  );
  return new Map(rows.map((row) => [row.symbol, row]));
}

/** The instant at which a date ends at the exchange. */
function midnightAfter(symbol: string, date: string): number {
  return dayRange(regionOf(symbol) as Region, parseTradingDate(date)).end;
}

function expectSame(found: Klines, expected: Klines, exact: readonly string[], what: string): void {
  expect(found.timestamp, what).toEqual(expected.timestamp);
  for (const name of COLUMNS) {
    const [left, right] = [found[name] ?? [], expected[name] ?? found.timestamp.map(() => null)];
    if (exact.includes(name)) expect(left, `${what} ${name}`).toEqual(right);
    const far = left.filter(
      (value, i) => Math.abs((value ?? 0) - (right[i] ?? 0)) > 1e-12 * Math.abs(value ?? 0),
    );
    expect(far, `${what} ${name}`).toEqual([]);
  }
}

describe("bars of a simulated market", () => {
  const { lake, remove } = newLake();
  let reader: Session;
  let symbols: string[];

  beforeAll(async () => {
    await fillSimulated(lake.location, { symbols: SYMBOLS, days: 400, end: "2026-03-31", minuteDays: 8 });
    reader = (await openReader(lake)).session;
    symbols = (
      await reader.json<{ symbol: string }>("SELECT symbol FROM bar_spans ORDER BY bars DESC, symbol")
    ).map(({ symbol }) => symbol);
  });
  afterAll(() => {
    reader.close();
    remove();
  });

  test("equal a slow reference, and as of a date the reference without what came later", async () => {
    const asOf = "2026-03-25";
    const later = await reader.json<{ symbol: string; exchange: string }>(
      `SELECT symbol, split_part(symbol, '.', 2) AS exchange FROM ex_events
       WHERE ex_date > '2025-12-31' AND exchange IN ('SH', 'HK', 'US') GROUP BY ALL ORDER BY max(ex_date) DESC, symbol LIMIT 2`,
    );
    expect(later).toHaveLength(2);
    const some = later.map(({ symbol }) => symbol);
    const landed = async (table: string): Promise<LandedBar[]> =>
      reader.json(`SELECT symbol, epoch_ms("timestamp")::DOUBLE AS timestamp, open, high, low, close, volume::DOUBLE AS volume,
        amount, prev_close, open_interest, settlement_price, lot FROM raw.${table}
        WHERE symbol IN (${some.map((symbol) => `'${symbol}'`).join()}) ORDER BY ALL`);
    const [daily, minute] = [await landed("bars_1d"), await landed("bars_1m")];
    const kinds = [
      ["5m", "forward"],
      ["60m", "backward_additive"],
      ["1d", "forward"],
      ["1d", "forward_additive"],
      ["1w", "backward"],
      ["1Q", "forward"],
    ] as const;
    for (const [period, adjust] of pickFrom(kinds, { few: 1, more: 6, all: 6 })) {
      for (const day of [undefined, asOf, "2026-01-15"]) {
        const call = `adjusted('${period}', '${adjust}'${day ? `, as_of := DATE '${day}'` : ""})`;
        const found = await klines(reader, call, some);
        for (const symbol of some) {
          const before = day === undefined ? Number.POSITIVE_INFINITY : midnightAfter(symbol, day);
          const own = (bars: readonly LandedBar[]): LandedBar[] =>
            bars.filter((bar) => bar.symbol === symbol && bar.timestamp < before);
          const bars = own(period.endsWith("m") ? minute : daily);
          if (bars.length === 0) continue;
          const expected = referenceKlines(bars, own(daily), { period, adjust, count: 1e9 });
          expectSame(found.get(symbol) as Klines, expected, ["volume"], `${symbol} ${call}`);
        }
      }
    }
  });

  test("the call without a date, which plans one part, gives what the call with all parts gives", async () => {
    const periods = ["1m", "5m", "60m", "1d", "1w", "1Q"];
    const calls = periods.flatMap((period) =>
      ["forward", "backward_additive", "none"].map((adjustment) => ({ period, adjustment })),
    );
    for (const { period, adjustment } of pickFrom(calls, { few: 1, more: 6, all: 18 })) {
      const name = `${period} ${adjustment}`;
      const short = `FROM adjusted('${period}', '${adjustment}')`;
      const long = `FROM adjusted('${period}', '${adjustment}', as_of := NULL)`;
      expect(await reader.json(`DESCRIBE ${short}`), name).toEqual(await reader.json(`DESCRIBE ${long}`));
      // The last bits of a sum of amounts depend on the order in which threads add them.
      const sums =
        "SELECT count(amount) AS n, sum(hash(a)) AS hash FROM (SELECT * REPLACE (amount > 0 AS amount)";
      const [expected] = await reader.json<{ n: bigint }>(`${sums} FROM (${long})) AS a`);
      expect(Number(expected?.n), name).toBeGreaterThan(0);
      expect(await reader.json(`${sums} FROM (${short})) AS a`), name).toEqual([expected]);
      const bound = `${sums} FROM adjusted($1, $2)) AS a`;
      expect(await reader.json(bound, [period, adjustment]), name).toEqual([expected]);
    }
    const refused = ["'1''d', 'none'", "'1d', 'none''; --'", "NULL, 'sideways'"];
    for (const call of refused)
      await expect(reader.json(`FROM adjusted(${call})`), call).rejects.toThrow(/is none of/);
    expect(await reader.json("FROM adjusted(NULL, 'none')")).toEqual([]);
    const traded = await reader.json("FROM adjusted('1d', 'none') ORDER BY ALL");
    expect(await reader.json("FROM adjusted('1d', NULL) ORDER BY ALL")).toEqual(traded);
  });

  once(
    "conditions on symbol and date reach the files of the bars, the one on symbol those of the ex-events too",
    async () => {
      const [plan] = await reader.json<{ explain_value: string }>(
        `EXPLAIN (FORMAT json) FROM adjusted('5m', 'forward') WHERE symbol = '${symbols[0]}' AND trade_date = '2026-03-25'`,
      );
      const scans: string[] = [];
      const visit = (node: {
        name?: string;
        extra_info?: Record<string, unknown>;
        children?: never[];
      }): void => {
        if (node.name?.trim() === "READ_PARQUET") scans.push(JSON.stringify(node.extra_info?.Filters ?? ""));
        for (const child of node.children ?? []) visit(child);
      };
      for (const root of JSON.parse((plan as { explain_value: string }).explain_value)) visit(root);
      // Of the bars, of the days for their ex-events, and for the rule of holes of trading days and absences.
      expect(scans).toHaveLength(2 + 3 + 1);
      expect(scans.filter((filters) => filters.includes(`symbol='${symbols[0]}'`))).toHaveLength(2);
      expect(scans.filter((filters) => filters.includes("trade_date='2026-03-25'"))).toHaveLength(1);
    },
  );
});

describe("a handful of bars", () => {
  const bar = (day: string, close: number, more: Partial<LandedBar> = {}): LandedBar => ({
    symbol: "600519.SH",
    timestamp: Date.parse(`${day}T00:00:00+08:00`),
    open: close,
    high: close + 1,
    low: close - 1,
    close,
    volume: 10,
    amount: 1000 * close,
    ...more,
  });

  async function withBars<T>(bars: LandedBar[], use: (reader: Session) => Promise<T>): Promise<T> {
    const { lake, remove }: { lake: Lake; remove: () => void } = newLake();
    await landRows(lake, BARS_1D, bars);
    const { session } = await openReader(lake, { threads: 1 });
    try {
      return await use(session);
    } finally {
      session.close();
      remove();
    }
  }

  once(
    "a split: forward prices divide, backward ones multiply, additive ones shift; as of the day before, none does",
    async () => {
      const bars = [
        bar("2026-03-02", 20),
        bar("2026-03-03", 10, { prev_close: 10 }),
        bar("2026-03-04", 11, { prev_close: 10 }),
      ];
      await withBars(bars, async (reader) => {
        const closes = async (call: string): Promise<unknown[]> =>
          (await reader.json<{ close: number }>(`SELECT close FROM ${call} ORDER BY trade_date`)).map(
            (row) => row.close,
          );
        expect(
          await reader.json("SELECT symbol, ex_date::VARCHAR AS d, factor, amount FROM ex_events"),
        ).toEqual([{ symbol: "600519.SH", d: "2026-03-03", factor: 2, amount: 10 }]);
        expect(await closes("adjusted('1d', 'none')")).toEqual([20, 10, 11]);
        expect(await closes("adjusted('1d', 'forward')")).toEqual([10, 10, 11]);
        expect(await closes("adjusted('1d', 'backward')")).toEqual([20, 20, 22]);
        expect(await closes("adjusted('1d', 'forward_additive')")).toEqual([10, 10, 11]);
        expect(await closes("adjusted('1d', 'backward_additive')")).toEqual([20, 20, 21]);
        expect(await closes("adjusted('1d', 'forward', as_of := '2026-03-02')")).toEqual([20]);
        expect(await reader.json("SELECT close, shares, vwap, landed_bars FROM bars('1w')")).toEqual([
          { close: 11, shares: 3000n, vwap: 41_000 / 3000, landed_bars: 3n },
        ]);
      });
    },
  );
});
