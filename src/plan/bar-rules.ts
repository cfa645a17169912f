import { int64Words, isSet } from "../core/bits.js";
import type { Issue, IssueRule } from "../core/issue.js";
import { regionOf } from "../market/symbol.js";
import { KLINE_COLUMNS } from "../schema/bars.js";
import type { DoubleColumn, KlineColumns, KlineRun } from "../wire/kline-columns.js";
import { symbolSpans } from "./absence/window-beginning.js";
import { noValue, statedValues, symbolAt, type UnstatedValues } from "./stated-values.js";

/** A rule that the values of a bar must meet to land. */
export interface BarRule {
  readonly rule: IssueRule;
  readonly column: string;
  /**
   * What breaks the rule. `below_low`: the column is below `low`; `no_trade`: close and volume are 0, and no previous
   * close is stated.
   */
  readonly breaks: "null" | "not_finite" | "negative" | "below_low" | "no_trade";
  /** Why a bar is rejected; `{name}` stands for the value of a column. */
  readonly reason: string;
}

const REQUIRED = KLINE_COLUMNS.filter(({ nullable }) => nullable !== true);

/**
 * The rules for the values of a bar: the first that a bar breaks is the reason for which it is rejected. The search in
 * columns and the SQL of a landing (`lake/land/land-bars`) follow from them. Bars are tested as `statedValues` leaves
 * them.
 */
export const BAR_RULES: readonly BarRule[] = [
  ...REQUIRED.map(({ name }): BarRule => {
    return { rule: "null_in_required", column: name, breaks: "null", reason: `${name} is null` };
  }),
  ...REQUIRED.filter(({ type }) => type === "double").map(({ name }): BarRule => {
    const reason = `${name} is not a finite number`;
    return { rule: "out_of_range", column: name, breaks: "not_finite", reason };
  }),
  { rule: "out_of_range", column: "volume", breaks: "negative", reason: "volume {volume} is below 0" },
  { rule: "high_below_low", column: "high", breaks: "below_low", reason: "high {high} is below low {low}" },
  {
    rule: "no_trade",
    column: "close",
    breaks: "no_trade",
    reason: "it has neither a price nor a volume",
  },
];

/** The first row from `start` to `end` (exclusive) that breaks a rule; `end` if there is none. */
type RowSearch = (start: number, end: number) => number;

/** Number of rows on which all rules are tested before the next rows: few, because each rejected bar is a search. */
const SEARCHED_ROWS = 64;

export interface BarSearch {
  readonly next: RowSearch;
  /** The first rule that a row found by {@link next} breaks. */
  readonly ruleAt: (row: number) => BarRule;
}

export function barSearch(columns: KlineColumns): BarSearch {
  const tests = BAR_RULES.flatMap((rule) => {
    const search = searchOf(rule, columns);
    return search === undefined ? [] : [{ rule, search }];
  });
  return {
    next(start, end) {
      for (let from = start; from < end; from += SEARCHED_ROWS) {
        const to = Math.min(from + SEARCHED_ROWS, end);
        let found = to;
        for (const { search } of tests) found = search(from, found);
        if (found < to) return found;
      }
      return end;
    },
    ruleAt: (row) => (tests.find(({ search }) => search(row, row + 1) === row) as { rule: BarRule }).rule,
  };
}

/** The search for bars that break one rule; undefined where none of the columns' bars can. */
function searchOf({ column, breaks }: BarRule, { volume, doubles }: KlineColumns): RowSearch | undefined {
  const number = doubles[column as DoubleColumn];
  switch (breaks) {
    case "null": {
      const bits = number?.validity;
      return bits && ((start, end) => firstNull(bits, start, end));
    }
    case "not_finite":
      return (start, end) => firstInfinite(number.values, start, end);
    case "negative": {
      const words = int64Words(volume);
      return (start, end) => {
        for (let row = start; row < end; row++) if ((words[row * 2 + 1] as number) >>> 31 === 1) return row;
        return end;
      };
    }
    case "below_low": {
      const [tops, bottoms] = [number.values, doubles.low.values];
      return (start, end) => {
        for (let row = start; row < end; row++)
          if ((tops[row] as number) < (bottoms[row] as number)) return row;
        return end;
      };
    }
    case "no_trade": {
      // Where a previous close is stated, it has become the close.
      const closes = number.values;
      return (start, end) => {
        for (let row = start; row < end; row++) if (closes[row] === 0 && volume[row] === 0n) return row;
        return end;
      };
    }
  }
}

function firstInfinite(values: Float64Array, start: number, end: number): number {
  for (let row = start; row < end; row++) {
    const value = values[row] as number;
    // The difference is NaN where the value is not finite.
    if (value - value !== 0) return row;
  }
  return end;
}

function firstNull(bits: Uint8Array, start: number, end: number): number {
  for (let row = start; row < end; row++) if (!isSet(bits, row)) return row;
  return end;
}

/** The bars of a response that could land, and an issue for every other bar. */
interface SoundBars {
  /** Runs by symbol, ascending in time; not copied. */
  readonly runs: readonly KlineRun[];
  readonly issues: readonly Issue[];
}

/** Divides the bars of a response by the rules of a landing, for callers that do not land them. */
export function soundBars(delivered: KlineColumns): SoundBars {
  const { columns: values, unstated } = statedValues(delivered);
  const { next, ruleAt } = barSearch(values);
  const runs: KlineRun[] = [];
  const issues: Issue[] = [];
  for (const { symbol, start, end } of symbolSpans(values)) {
    if (regionOf(symbol) === undefined) {
      const message = `symbol ${symbol} has an unknown exchange suffix`;
      issues.push({ rule: "unknown_exchange", message, symbol, rejected: end - start });
      continue;
    }
    for (let row = start; row < end; row++) {
      const bad = next(row, end);
      if (bad > row) runs.push({ symbol, values, start: row, end: bad });
      if (bad < end) issues.push(issueOf(values, symbol, bad, ruleAt(bad)));
      row = bad;
    }
  }
  return { runs, issues: [...issues, ...unstated.map((one) => remarkOf(values, one))] };
}

function issueOf(
  { timestamp, volume, doubles }: KlineColumns,
  symbol: string,
  row: number,
  { rule, reason }: BarRule,
): Issue {
  const valueOf = (name: string) => (name === "volume" ? volume : doubles[name as DoubleColumn].values)[row];
  const text = reason.replace(/\{(\w+)\}/g, (_, name: string) => String(valueOf(name)));
  const at = new Date(Number(timestamp[row])).toISOString();
  return { rule, message: `${symbol} at ${at}: ${text}`, symbol, rejected: 1 };
}

function remarkOf(columns: KlineColumns, { column, bars, first }: UnstatedValues): Issue {
  const symbol = symbolAt(columns, first);
  const message = `${symbol} and maybe others: ${column} of ${bars} bars ${noValue(column)}`;
  return { rule: "out_of_range", message, symbol, column, rejected: 0 };
}
