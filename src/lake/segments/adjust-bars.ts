import { int64At, isPresent, setInt64 } from "../../core/bits.js";
import { type AdjustmentStep, adjustmentSteps } from "../../market/adjustment-steps.js";
import { type ExEvent, type ExRule, type ExRuleOf, exChange, termAfter } from "../../market/ex-rule.js";
import type { Adjustment } from "../../market/period.js";
import { isRegion, unitsOf } from "../../market/regions.js";
import type { Bars, TargetColumn } from "./block.js";

export const EX_EVENT_COLUMNS: ReadonlySet<string> = new Set(["trade_date", "close", "prev_close"]);

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

/** A column of bars. @throws {TypeError} where it was not requested. */
export function columnIn({ columns }: Bars, name: string): TargetColumn {
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
 * Converts the volumes of some rows in place, from lots to units of a number of shares.
 *
 * @param volumes as 32-bit words. @param lots shares in one unit of each row's volume.
 * @returns whether all of them can be converted: none is too large for a double.
 */
export function hasUnits(
  volumes: Uint32Array,
  lots: Int32Array,
  { start, end }: { readonly start: number; readonly end: number },
  unit: number,
): boolean {
  for (let row = start; row < end; row++) {
    const lot = lots[row] as number;
    if (lot === unit) continue;
    const units = unitsOf(int64At(volumes, row) * lot, unit);
    if (units === undefined) return false;
    setInt64(volumes, row, units);
  }
  return true;
}
