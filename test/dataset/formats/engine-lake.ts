import fc from "fast-check";
import { onTestFinished } from "vitest";
import type { TradingDate } from "../../../src/core/time.js";
import { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landActions } from "../../../src/lake/land/land-versions.js";
import { landTradingDays } from "../../../src/lake/land/trading-days.js";
import { REGIONS } from "../../../src/market/regions.js";
import { instantOf } from "../../../src/market/zone.js";
import { CORPORATE_ACTIONS, SYMBOL_CHANGES } from "../../../src/schema/actions.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { queryLake } from "../../lake/temporary-lake.js";
import { type LandedBar, landRows, NOW, newLake } from "../../serve/served-lake.js";
import { weekdays } from "../weekdays.js";

/** Sessions of the lake, those of New York, each with a bar of the index: 7 September is a holiday. */
export const SESSIONS = weekdays("2026-09-01", "2026-11-13").filter((day) => day !== "2026-09-07");

/** An ex-date of a symbol: the factor of its previous close, and what a source says of it. */
export interface ExDay {
  /** Index of a session. */
  readonly at: number;
  /** Cash and shares in addition to one, which make the factor where none is given. */
  readonly cash?: number;
  readonly shares?: number;
  /** Shares that may be bought for one, at a price. */
  readonly rights?: number;
  readonly price?: number;
  readonly factor?: number;
  /** Whether a source has its cash and shares as corporate actions. @default true */
  readonly isTold?: boolean;
  readonly payDate?: string;
}

/** Bars of a symbol, on the sessions from `first` to `last` (inclusive). */
export interface EngineSymbol {
  readonly symbol: string;
  readonly price: number;
  /** @default 0 */
  readonly first?: number;
  /** @default the last session */
  readonly last?: number;
  /** Sessions without trades. */
  readonly halts?: readonly number[];
  readonly exDays?: readonly ExDay[];
  /** Whether bars state a previous close, which witnesses an ex-date. @default true */
  readonly statesPrevClose?: boolean;
}

/** A lake of daily bars with ex-dates, in a folder that is removed at the end of the test. */
export async function engineLake(
  symbols: readonly EngineSymbol[],
  changes: readonly Readonly<Record<string, unknown>>[] = [],
): Promise<Lake> {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  const bars: LandedBar[] = [];
  const actions: Record<string, unknown>[] = [];
  for (const {
    symbol,
    price,
    first = 0,
    last = SESSIONS.length - 1,
    halts = [],
    exDays = [],
    statesPrevClose = true,
  } of [{ symbol: "SPY.US", price: 600 } as EngineSymbol, ...symbols]) {
    let [close, level] = [price, price];
    for (let at = first; at <= last; at++) {
      const ex = exDays.find((one) => one.at === at);
      const { cash = 0, shares = 0, rights = 0, price: paid = 0, isTold = true, payDate } = ex ?? {};
      const factor = ex?.factor ?? (close * (1 + shares + rights)) / (close - cash + rights * paid);
      const key = { symbol, ex_date: SESSIONS[at], source: "test", region: "US" };
      if (isTold && cash > 0)
        actions.push({
          ...key,
          kind: "cash_dividend",
          cash,
          announce_date: SESSIONS[Math.max(0, at - 5)],
          record_date: SESSIONS[at],
          pay_date: payDate ?? null,
        });
      if (isTold && shares !== 0)
        actions.push({
          ...key,
          kind: shares > 0 ? "split" : "consolidation",
          ratio: Number((1 + shares).toPrecision(15)),
        });
      if (isTold && rights > 0) actions.push({ ...key, kind: "rights", ratio: rights, price: paid });
      const prevClose = close / factor;
      level /= factor;
      const isHalted = halts.includes(at);
      if (!isHalted) close = level * (1 + 0.03 * Math.sin(1.7 * at));
      else close = prevClose;
      bars.push({
        symbol,
        timestamp: instantOf(SESSIONS[at] as TradingDate, REGIONS.US.zone),
        open: close,
        high: close,
        low: close,
        close,
        prev_close: statesPrevClose ? prevClose : null,
        volume: isHalted ? 0 : 1000 + at,
        amount: isHalted ? 0 : close * (1000 + at),
      });
    }
  }
  await landRows(lake, BARS_1D, bars);
  using session = await Session.open({ threads: 1 });
  const options = { operation: "TEST", runId: "test", now: NOW };
  await landTradingDays(session, lake, options);
  const put = async (table: TableSchema, rows: readonly Readonly<Record<string, unknown>>[]) => {
    if (rows.length === 0) return;
    const columns = table.columns.filter(({ name }) => name !== "first_seen_at");
    await stageObjects(session, "staged", columns, rows);
    await landActions(session, lake, table, "staged", options);
  };
  await put(CORPORATE_ACTIONS, actions);
  await put(
    SYMBOL_CHANGES,
    changes.map((row) => ({ source: "test", region: "US", ...row })),
  );
  return lake;
}

/** Ex-dates of each kind: told and not, with a day of payment on a Saturday and without, after a halt, with rights. */
export const EVENTFUL: readonly EngineSymbol[] = [
  {
    symbol: "AAA.US",
    price: 100,
    exDays: [
      { at: 5, cash: 0.5, payDate: "2026-09-19" },
      { at: 12, shares: 3 },
      { at: 20, cash: 0.3, shares: 1, payDate: "2026-10-05" },
      { at: 30, shares: -0.9 },
    ],
  },
  {
    symbol: "BBB.US",
    price: 20,
    first: 2,
    halts: [24, 25],
    exDays: [
      { at: 10, factor: 1.02, isTold: false },
      { at: 18, cash: 0.25 },
      { at: 26, cash: 0.4, payDate: "2026-10-20" },
      { at: 33, cash: 0.4, rights: 0.2, price: 10, payDate: "2026-10-30" },
    ],
  },
];

const exDay = fc.record({
  at: fc.integer({ min: 1, max: SESSIONS.length - 1 }),
  cash: fc.constantFrom(0, 0.1, 0.5),
  shares: fc.constantFrom(0, 0, 1, 3, -0.9, 0.3),
  rights: fc.constantFrom(0, 0, 0.1),
  price: fc.constant(2),
  isTold: fc.boolean(),
});
/** A symbol with ex-dates of any kind. */
export const anySymbol = (name: string): fc.Arbitrary<EngineSymbol> =>
  fc.record({
    symbol: fc.constant(name),
    price: fc.constantFrom(10, 100),
    first: fc.integer({ min: 0, max: 5 }),
    halts: fc.uniqueArray(fc.integer({ min: 7, max: 30 }), { maxLength: 5 }),
    statesPrevClose: fc.boolean(),
    exDays: fc.uniqueArray(exDay, { maxLength: 6, selector: ({ at }) => at }),
  });

/** Prices as traded and as the lake adjusts them, of days with trades. */
export async function closesOf(
  lake: Lake,
): Promise<{ symbol: string; day: string; traded: number; adjusted: number }[]> {
  return queryLake<{ symbol: string; day: string; traded: number; adjusted: number }>(
    lake,
    `SELECT symbol, strftime(trade_date, '%Y%m%d') AS day, b.close AS traded, a.close AS adjusted
     FROM bars_1d AS b JOIN adjusted('1d', 'forward') AS a USING (symbol, trade_date) WHERE b.shares > 0 ORDER BY symbol, day`,
  );
}
