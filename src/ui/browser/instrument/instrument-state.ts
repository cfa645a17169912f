import { ADJUSTMENTS, type Adjustment, PERIODS, type Period } from "../../../market/period.js";
import { canonicalSymbol } from "../../../market/symbol.js";
import { change, textOfPart, useAddress } from "../address.js";
import { type ChartRange, RANGES } from "./price-chart.js";

export interface InstrumentState {
  readonly symbol: string;
  readonly period: Period;
  readonly adjust: Adjustment;
  /** Lengths of the moving averages, in bars. */
  readonly averages: readonly number[];
  readonly isLog: boolean;
  readonly hasMarks: boolean;
  readonly compare: readonly string[];
  /** Statements are shown as they were known at the end of this day; undefined: as known now. */
  readonly known: string | undefined;
  /** The time of the last bar in view; undefined: the newest bar. */
  readonly at: string | undefined;
  /** The length of time up to the newest bar that is in view at first; undefined: as many bars as can be distinguished. */
  readonly range: ChartRange | undefined;
}

export const AVERAGES = [5, 20, 60, 250] as const;
const USUAL_AVERAGES = "20,60";
/** Most instruments in one comparison: more lines cannot be distinguished. */
export const MOST_COMPARED = 4;

/** The symbol of the view in the address; empty where it names none. */
export function symbolInAddress(): string {
  return canonicalSymbol(textOfPart(location.pathname.split("/")[2] ?? ""));
}

export function useInstrumentState(): InstrumentState {
  const { query } = useAddress();
  const list = (name: string, usual = ""): string[] =>
    (query.get(name) ?? usual).split(",").filter((one) => one !== "");
  return {
    symbol: symbolInAddress(),
    period: PERIODS.find((one) => one === query.get("period")) ?? "1d",
    adjust: ADJUSTMENTS.find((one) => one === query.get("adjust")) ?? "forward",
    averages: AVERAGES.filter((length) => list("ma", USUAL_AVERAGES).includes(String(length))),
    isLog: query.get("log") === "1",
    hasMarks: query.get("marks") !== "0",
    compare: list("compare").slice(0, MOST_COMPARED),
    known: query.get("known"),
    at: query.get("at"),
    range: RANGES.find((one) => one === query.get("range")),
  };
}

export function choosePeriod(period: Period): void {
  change({ period: period === "1d" ? undefined : period });
}

export function chooseAdjustment(adjust: Adjustment): void {
  change({ adjust: adjust === "forward" ? undefined : adjust });
}

export function chooseAverages(averages: readonly number[]): void {
  const text = AVERAGES.filter((length) => averages.includes(length)).join(",");
  change({ ma: text === USUAL_AVERAGES ? undefined : text });
}

export function chooseCompared(symbols: readonly string[]): void {
  change({ compare: symbols.length === 0 ? undefined : symbols.join(",") });
}
