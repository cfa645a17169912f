import { STATEMENT_NAMES } from "../../schema/statements.js";

export const IMPORTABLE = [
  "bars_1d",
  "bars_1m",
  "instruments",
  "universes",
  ...STATEMENT_NAMES,
  "corporate_actions",
  "ex_factors",
  "symbol_changes",
] as const;
/** A table that files can be imported into. */
export type ImportTable = (typeof IMPORTABLE)[number];

/** The values of the options that have a few. */
export const CHOICES = {
  barLabel: ["start", "end"],
  period: ["1d", "1m"],
  volumeUnit: ["shares", "lots", "thousands", "ten-thousands"],
  amountUnit: ["ones", "thousands", "ten-thousands", "millions", "hundred-millions", "billions"],
  values: ["cumulative", "discrete"],
  prices: ["split-adjusted", "traded"],
  decimal: [".", ","],
} as const;
/** Units of a file's volumes: one share, a lot of the exchange, or a number of shares. */
export type VolumeUnit = (typeof CHOICES.volumeUnit)[number];
/** Units of amounts of money: of one, a thousand, 10,000, a million, 10^8 or 10^9. */
export type AmountUnit = (typeof CHOICES.amountUnit)[number];

/** Factors of the units that do not depend on an instrument. */
export const UNIT_FACTORS: Readonly<Record<Exclude<VolumeUnit, "lots"> | AmountUnit, number>> = {
  shares: 1,
  ones: 1,
  thousands: 1e3,
  "ten-thousands": 1e4,
  millions: 1e6,
  "hundred-millions": 1e8,
  billions: 1e9,
};

/** The mark before the fraction of a number. */
export type DecimalMark = "." | ",";

/** What a user says about files: each of these decides where the files have two readings. */
export interface ImportOptions {
  /** The file's column name by the lake's column name, for columns whose names differ. @default {} */
  readonly map?: Readonly<Record<string, string>>;
  /** `dmy`, `mdy`, `excel`, `s`, `ms`, `us`, `ns`, or a pattern such as `%d.%m.%Y` or `DD.MM.YYYY`. */
  readonly dateFormat?: string | undefined;
  /** IANA zone of times without an offset. @default the exchange's zone */
  readonly zone?: string | undefined;
  /** @default what the bytes show */
  readonly encoding?: string | undefined;
  /** Lines before the header. @default the header is searched */
  readonly skip?: number | undefined;
  /** The mark before the fraction of a number. @default what the numbers show */
  readonly decimal?: "." | "," | undefined;
  /** Unit of the volumes, or of numbers of shares. @default shares, unless the numbers or the source show another one */
  readonly volumeUnit?: VolumeUnit | undefined;
  /** Unit of the amounts, or of a statement's items. @default ones, unless the numbers or the source show another one */
  readonly amountUnit?: AmountUnit | undefined;
  /** Rounds fractions of shares, as US volumes have since 2026. @default rows with a fraction are set aside */
  readonly roundVolumes?: boolean | undefined;
  /** Whether a minute bar is labelled with the end or the start of its minute. @default what the session shows */
  readonly barLabel?: "end" | "start" | undefined;
  /** The period of the bars, where the user knows it: the times of few bars may look like another one. */
  readonly period?: "1d" | "1m" | undefined;
  /** Whether the flows of quarters are of the quarter alone, or of the fiscal year so far. */
  readonly values?: "cumulative" | "discrete" | undefined;
  /** Days after the end of a period at which statements without an announcement count as known. */
  readonly announceLagDays?: number | undefined;
  /** What the prices of files of Yahoo Finance are: adjusted for later splits, or as traded. @default split-adjusted, where `Adj Close` shows that they are not adjusted for dividends */
  readonly prices?: "split-adjusted" | "traded" | undefined;
  /** Who says what the files of corporate actions and factors say. @default their column, else the source whose form they have, else `file` */
  readonly source?: string | undefined;
  /** The symbol of all rows. @default the symbol of each row, or of the file's name */
  readonly symbol?: string | undefined;
  /** Exchange suffix of symbols without one: with `US`, `AAPL` is `AAPL.US`. @default none */
  readonly exchange?: string | undefined;
}
