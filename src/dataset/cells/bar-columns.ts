import { sharesSql, volumeSql } from "../../db/market/bar-sql.js";
import { lotSql } from "../../db/market/region-sql.js";
import type { FillKind } from "../spec.js";

export interface BarColumn {
  readonly doc: string;
  /** The value of a day without trades where gaps are filled. */
  readonly fill: FillKind;
  /** SQL of its value as traded, over the columns of `raw.bars_1d`. */
  readonly raw: string;
  /** SQL of its adjusted value, over the columns of the macro `adjusted` and the day's `step`. */
  readonly adjusted: string;
  /** How backward adjustment changes the value as traded: times the factor, divided by it, or not at all. */
  readonly factor: "times" | "over" | "none";
}

const price = (name: string, doc: string): BarColumn => ({
  doc,
  fill: "close",
  raw: name,
  adjusted: name,
  factor: "times",
});
const unscaled = (name: string, doc: string, fill: FillKind): BarColumn => ({
  doc,
  fill,
  raw: name,
  adjusted: name,
  factor: "none",
});

const SHARES = sharesSql("volume", "lot");

/** The columns of every dataset's bars, with prices adjusted as the spec says. */
export const BAR_COLUMNS = {
  open: price("open", "First price."),
  high: price("high", "Highest price."),
  low: price("low", "Lowest price."),
  close: price("close", "Last price."),
  prev_close: price("prev_close", "Previous close as the exchange states it."),
  settlement_price: price("settlement_price", "Settlement price (futures)."),
  vwap: {
    ...price("vwap", "amount / shares, adjusted; none where no amount is reported."),
    raw: `CASE WHEN volume > 0 AND amount > 0 THEN amount / (${SHARES}) END`,
    adjusted:
      "adjusted_price(CASE WHEN shares > 0 AND amount > 0 THEN amount / shares END, adjustment, step)",
  },
  change: {
    ...unscaled("change", "close / prev_close - 1.", "zero"),
    raw: "close / prev_close - 1",
    adjusted: "close / prev_close - 1",
  },
  volume: {
    ...unscaled("volume", "Traded volume in the region's unit, not adjusted.", "zero"),
    raw: volumeSql("volume", "lot", `(${lotSql("region")})`),
  },
  shares: { ...unscaled("shares", "Traded volume in shares, not adjusted.", "zero"), raw: SHARES },
  adjusted_volume: {
    ...unscaled("adjusted_volume", "shares / factor: what goes with adjusted prices.", "zero"),
    raw: SHARES,
    adjusted: "shares / factor",
    factor: "over",
  },
  amount: unscaled("amount", "Traded amount, not adjusted.", "zero"),
  open_interest: unscaled("open_interest", "Open contracts at the end (futures).", "last"),
  factor: {
    ...unscaled("factor", "Adjusted price / price as traded; 1 where nothing is adjusted.", "last"),
    raw: "1.0",
    factor: "times",
  },
} as const satisfies Readonly<Record<string, BarColumn>>;
export type BarColumnName = keyof typeof BAR_COLUMNS;

export function isBarColumn(name: string): name is BarColumnName {
  return Object.hasOwn(BAR_COLUMNS, name);
}
