import { ADJUSTMENTS, type Adjustment, PERIODS, type Period } from "../../../market/period.js";
import { change, useAddress } from "../address/address.js";
import { textOfPart } from "../address/path-part.js";

/** What the view of an instrument shows: all of it is in the address. */
export interface InstrumentState {
  readonly symbol: string;
  readonly period: Period;
  readonly adjust: Adjustment;
  /** Lengths of moving averages, in bars. */
  readonly averages: readonly number[];
  readonly isLog: boolean;
  readonly hasMarks: boolean;
  /** Symbols that are compared. */
  readonly compare: readonly string[];
  /** The day at whose end the statements were known; undefined: now. */
  readonly known: string | undefined;
  /** The last time in view; undefined: the newest. */
  readonly at: string | undefined;
}

/** Averages that can be chosen. */
export const AVERAGES = [5, 20, 60, 250] as const;
const USUAL_AVERAGES = "20,60";
/** Most instruments that are compared at once: more lines cannot be distinguished. */
const MOST_COMPARED = 4;

export function useInstrumentState(): InstrumentState {
  const { path, query } = useAddress();
  const list = (name: string, usual = ""): string[] =>
    (query.get(name) ?? usual).split(",").filter((one) => one !== "");
  return {
    symbol: textOfPart(path.split("/")[2] ?? ""),
    period: PERIODS.find((one) => one === query.get("period")) ?? "1d",
    adjust: ADJUSTMENTS.find((one) => one === query.get("adjust")) ?? "forward",
    averages: AVERAGES.filter((length) => list("ma", USUAL_AVERAGES).includes(String(length))),
    isLog: query.get("log") === "1",
    hasMarks: query.get("marks") !== "0",
    compare: list("compare").slice(0, MOST_COMPARED),
    known: query.get("known"),
    at: query.get("at"),
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
