import { isSet } from "../../core/bits.js";
import type { Issue } from "../../core/issue.js";
import { dateOfEpochDay } from "../../core/time.js";
import { byRegion } from "../../market/regions.js";
import type { CalendarSpan } from "../../market/trading-calendar.js";
import type { BarSegment } from "../../wire/bar-segment.js";
import { type KlineColumns, type KlineRun, OPTIONAL_COLUMNS } from "../../wire/kline-columns.js";
import { type CutBars, cutBars } from "../cut-bars.js";
import { noValue, statedValues, symbolAt, type UnstatedValues } from "../stated-values.js";

/** The bars of a response that could land, and an issue for every other bar. */
interface SoundBars {
  /** Runs by symbol, ascending in time; not copied. */
  readonly runs: readonly KlineRun[];
  readonly issues: readonly Issue[];
}

const ALWAYS: CalendarSpan = {
  first: dateOfEpochDay(0),
  epochDay: 0,
  start: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
};
const always = (): CalendarSpan => ALWAYS;
const RULES = {
  periodOf: byRegion(() => always),
  isMinute: false,
  finalEnd: byRegion(() => Infinity),
  possibleEnd: byRegion(() => Infinity),
};

/** Divides the bars of a response by the rules of a landing, for callers that do not land them. */
export function soundBars(delivered: KlineColumns): SoundBars {
  const { columns, unstated } = statedValues(delivered);
  const cut: CutBars = { placed: [], broken: [], idle: [] };
  cutBars({ columns, source: "" }, RULES, cut);
  return {
    runs: cut.placed.map(({ symbol, start, end }) => ({ symbol, values: columns, start, end })),
    issues: [
      ...[...cut.broken, ...cut.idle].flatMap(issuesOf),
      ...unstated.map((one) => remarkOf(columns, one)),
    ],
  };
}

function remarkOf(columns: KlineColumns, { column, bars, first }: UnstatedValues): Issue {
  const symbol = symbolAt(columns, first);
  const message = `${symbol} and maybe others: ${column} of ${bars} bars ${noValue(column)}`;
  return { rule: "out_of_range", message, symbol, column, rejected: 0 };
}

function issuesOf({ columns, symbol, region, start, end }: BarSegment): Issue[] {
  if (region === undefined) {
    const message = `symbol ${symbol} has an unknown exchange suffix`;
    return [{ rule: "unknown_exchange", message, symbol, rejected: end - start }];
  }
  return Array.from({ length: end - start }, (_, n) => issueOf(columns, symbol, start + n));
}

/** The issue for the first rule that a bar breaks. The order of the rules is that of a lake's rejects. */
function issueOf({ timestamp, volume, doubles }: KlineColumns, symbol: string, row: number): Issue {
  const of = (rule: Issue["rule"], text: string): Issue => {
    const at = new Date(Number(timestamp[row])).toISOString();
    return { rule, message: `${symbol} at ${at}: ${text}`, symbol, rejected: 1 };
  };
  for (const [name, { validity }] of Object.entries(doubles))
    if (!OPTIONAL_COLUMNS.has(name) && validity !== undefined && !isSet(validity, row))
      return of("null_in_required", `${name} is null`);
  for (const [name, { values }] of Object.entries(doubles))
    if (!OPTIONAL_COLUMNS.has(name) && !Number.isFinite(values[row]))
      return of("out_of_range", `${name} is not a finite number`);
  if ((volume[row] as bigint) < 0n) return of("out_of_range", `volume ${volume[row]} is below 0`);
  const [high, low] = [doubles.high.values[row], doubles.low.values[row]];
  if ((high as number) >= (low as number)) return of("no_trade", "it has neither a price nor a volume");
  return of("high_below_low", `high ${high} is below low ${low}`);
}
