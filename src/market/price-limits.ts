import type { TradingDate } from "../core/time.js";

/**
 * Prices that differ from a limit by less than this count as equal to it: half of the smallest tick, 0.001. This is
 * needed because prices are binary fractions.
 */
export const LIMIT_TOLERANCE = 0.0005;

/** The daily limit of a board's prices, in percent of the previous close. */
export interface BoardLimit {
  /** Pattern of the board's symbols. */
  readonly symbols: RegExp;
  readonly percent: number;
  /** The limit before a change, and the first date of the present limit. */
  readonly before?: { readonly date: TradingDate; readonly percent: number };
  /** The limit of shares under special treatment, if it differs. */
  readonly specialTreatment?: number;
}

/**
 * The boards that have limits: Beijing, STAR, ChiNext, and the main boards. The first one that matches a symbol
 * applies.
 */
export const BOARD_LIMITS: readonly BoardLimit[] = [
  { symbols: /\.BJ$/, percent: 30 },
  { symbols: /^68[89]\d{3}\.SH$/, percent: 20 },
  { symbols: /^30[0-2]\d{3}\.SZ$/, percent: 20, before: { date: "2020-08-24" as TradingDate, percent: 10 } },
  { symbols: /\.(SH|SZ)$/, percent: 10, specialTreatment: 5 },
];

/** The first date on which any board had limits. */
export const LIMITS_SINCE = "1996-12-16" as TradingDate;

/** Kinds of instruments that have limits. */
export const LIMITED_TYPES: readonly string[] = ["stock", "etf"];

/** Symbols of indexes, which have no limits; used where the type of the instrument is unknown. */
export const INDEX_SYMBOLS = /^(000\d{3}\.SH|399\d{3}\.SZ)$/;

/** Names of shares under special treatment. */
export const SPECIAL_TREATMENT_NAMES = /^S?\*?ST/;

/** Calendar days after a listing before the board's limit applies: five trading days have none, and closed days lie between them. */
export const CALENDAR_DAYS_WITHOUT_LIMIT = 10;

/** Symbols of exchange-traded funds; used where the type of the instrument is unknown. */
export const ETF_SYMBOLS = /^(5\d{5}\.SH|1[56]\d{4}\.SZ)$/;

/**
 * Number of decimals of the smallest price step of the Chinese exchanges, to which they round limits: 0.001 for funds,
 * else 0.01.
 */
export const PRICE_DECIMALS = { etf: 3, other: 2 } as const;

/** The narrowest limit of any board, in percent. */
export const NARROWEST_LIMIT = Math.min(
  ...BOARD_LIMITS.flatMap(({ percent, before, specialTreatment }) => [
    percent,
    before?.percent ?? percent,
    specialTreatment ?? percent,
  ]),
);
