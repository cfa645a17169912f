import type { RecordBatch } from "apache-arrow";
import { type FlatColumn, flatBatch } from "../../arrow/flat-batch.js";
import { int64At, int64Words, isPresent, setInt64 } from "../../core/bits.js";
import { type AdjustmentStep, adjustmentSteps } from "../../market/adjustment-steps.js";
import { type ExEvent, type ExRule, type ExRuleOf, exChange, termAfter } from "../../market/ex-rule.js";
import type { Adjustment } from "../../market/period.js";
import { isRegion, REGIONS, type Region, unitsOf } from "../../market/regions.js";
import type { TableSchema } from "../../schema/column.js";
import type { Bars } from "./block.js";
import { viewColumn } from "./view-bars.js";

/** The stored columns from which ex-events are derived. */
export const EX_EVENT_COLUMNS: ReadonlySet<string> = new Set(["trade_date", "close", "prev_close"]);

/** The columns that an adjustment changes. */
const PRICES = ["open", "high", "low", "close", "prev_close", "settlement_price"] as const;

/**
 * Derives ex-events from all daily bars of symbols, as the view `ex_events` does.
 *
 * @returns events by symbol, ascending by day; undefined where a symbol has two bars of one day, because their order is
 *   not defined.
 */
export function exEventsOf(bars: Bars, ruleOf: ExRuleOf): Map<string, ExEvent[]> | undefined {
  const days = new Int32Array(columnIn(bars, "trade_date").buffer);
  const closeOf = valuesOf(bars, "close");
  const prevCloseOf = valuesOf(bars, "prev_close");
  const found = new Map<string, ExEvent[]>();
  let row = 0;
  let [lastSymbol, lastDay, lastClose] = ["", 0, Number.NaN];
  let rule: ExRule | undefined;
  let term = 0;
  for (const { symbol, region, rows } of bars.runs) {
    if (!isRegion(region)) return undefined;
    if (symbol !== lastSymbol || rule === undefined) {
      [lastSymbol, lastDay, lastClose] = [symbol, Number.NEGATIVE_INFINITY, Number.NaN];
      [rule, term] = [ruleOf({ symbol, region }), 0];
    }
    const { days: exDates } = rule.terms;
    const events = found.get(symbol) ?? [];
    found.set(symbol, events);
    for (const end = row + rows; row < end; row++) {
      const [day, prevClose] = [days[row] as number, prevCloseOf(row)];
      if (day <= lastDay) return undefined;
      const isTold = (exDates[term] ?? Number.POSITIVE_INFINITY) <= day;
      // Equal closes, as nearly all are, make no ex-event.
      if (isTold || (prevClose !== lastClose && prevClose > 0)) {
        const change = exChange(rule, term, { last: lastDay, day, lastClose, prevClose });
        if (change !== undefined) events.push({ day, ...change });
        if (isTold) term = termAfter(rule.terms, day);
      }
      [lastDay, lastClose] = [day, closeOf(row)];
    }
  }
  return found;
}

/** A column's value in a row; NaN where it is null. */
function valuesOf(bars: Bars, name: string): (row: number) => number {
  const { buffer, validity } = columnIn(bars, name);
  const values = new Float64Array(buffer);
  return (row) => (isPresent(validity, row) ? (values[row] as number) : Number.NaN);
}

function columnIn({ columns }: Bars, name: string) {
  const found = columns.get(name);
  if (found === undefined) throw new TypeError(`the column ${name} was not read`);
  return found;
}

/**
 * Adjusts the prices of bars in place, by the rule of the macro `adjusted_price`.
 *
 * @param bars with the column `trade_date`. @param events by symbol, ascending by day.
 */
export function adjustPrices(
  bars: Bars,
  events: ReadonlyMap<string, readonly ExEvent[]>,
  adjustment: Adjustment,
): void {
  const days = new Int32Array(columnIn(bars, "trade_date").buffer);
  const columns = PRICES.flatMap((name) => {
    const column = bars.columns.get(name);
    return column === undefined ? [] : [new Float64Array(column.buffer)];
  });
  const steps = new Map<string, AdjustmentStep[]>();
  let row = 0;
  for (const { symbol, rows } of bars.runs) {
    const end = row + rows;
    const own = steps.get(symbol) ?? adjustmentSteps(events.get(symbol) ?? [], adjustment);
    steps.set(symbol, own);
    for (const step of own) {
      while (row < end && (days[row] as number) < step.start) row += 1;
      const first = row;
      while (row < end && (days[row] as number) < step.end) row += 1;
      for (const values of columns) adjustRows(values, first, row, adjustment, step.value);
    }
    row = end;
  }
}

function adjustRows(
  values: Float64Array,
  first: number,
  end: number,
  adjustment: Adjustment,
  value: number,
): void {
  for (let row = first; row < end; row++) {
    const price = values[row] as number;
    if (adjustment === "forward") values[row] = price / value;
    else if (adjustment === "backward") values[row] = price * value;
    // A price of 0 means that there is no price.
    else if (price !== 0) values[row] = price + value;
  }
}

/**
 * The columns of the macro `adjusted` for landed periods, in their order, and the stored columns that each is computed
 * from. A test compares all of them with the macro's.
 */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  symbol: [],
  trade_date: ["trade_date"],
  timestamp: ["timestamp"],
  open: ["open"],
  high: ["high"],
  low: ["low"],
  close: ["close"],
  volume: ["volume", "lot"],
  amount: ["amount"],
  prev_close: ["prev_close"],
  open_interest: ["open_interest"],
  settlement_price: ["settlement_price"],
  lot: [],
  shares: ["volume", "lot"],
  landed_bars: [],
  is_final: ["is_final"],
  region: [],
};

/** The names of the columns of adjusted bars, in their order. */
export const ADJUSTED_COLUMNS: readonly string[] = Object.keys(COLUMNS);

/**
 * The stored columns that columns of adjusted bars are computed from. The trade date is always included: it selects the
 * adjustment of a bar.
 */
export function storedForAdjusted(names: readonly string[]): ReadonlySet<string> {
  return new Set(["trade_date", ...names.flatMap((name) => COLUMNS[name] ?? [])]);
}

/**
 * Bars whose prices were adjusted, as rows of the macro `adjusted`.
 *
 * @param names of {@link ADJUSTED_COLUMNS}.
 * @returns undefined where a volume is too large for doubles.
 */
export function adjustedBars(
  table: TableSchema,
  bars: Bars,
  names: readonly string[],
): RecordBatch | undefined {
  const columns: FlatColumn[] = [];
  for (const name of names) {
    const column = columnOf(table, bars, name);
    if (column === undefined) return undefined;
    columns.push(column);
  }
  return flatBatch(columns, bars.rows);
}

function columnOf(table: TableSchema, bars: Bars, name: string): FlatColumn | undefined {
  if (name === "lot") return { name, kind: "int32", values: unitsIn(bars) };
  if (name === "landed_bars") return { name, kind: "int64", values: new BigInt64Array(bars.rows).fill(1n) };
  if (name !== "volume") return viewColumn(table, bars, name);
  const values = volumesOf(bars);
  return values && { name, kind: "int64", values };
}

/** The number of shares in one unit of volume, by row: it depends on the row's region. */
function unitsIn({ runs, rows }: Bars): Int32Array {
  const units = new Int32Array(rows);
  let at = 0;
  for (const run of runs) {
    units.fill(REGIONS[run.region as Region].lot, at, at + run.rows);
    at += run.rows;
  }
  return units;
}

/** Volumes in the unit of each row's region; undefined where one is too large for a double. */
function volumesOf(bars: Bars): BigInt64Array | undefined {
  const memoryOf = (name: string): ArrayBuffer => bars.columns.get(name)?.buffer as ArrayBuffer;
  const volumes = new BigInt64Array(memoryOf("volume").slice(0, bars.rows * 8));
  const words = int64Words(volumes);
  const [lots, units] = [new Int32Array(memoryOf("lot")), unitsIn(bars)];
  for (let row = 0; row < bars.rows; row++) {
    const [lot, unit] = [lots[row] as number, units[row] as number];
    if (lot === unit) continue;
    const volume = unitsOf(int64At(words, row) * lot, unit);
    if (volume === undefined) return undefined;
    setInt64(words, row, volume);
  }
  return volumes;
}
