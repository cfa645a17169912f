import type { TradingDate } from "../core/time.js";

/**
 * Prices that differ from a limit by less than this count as equal to it, as prices are binary fractions: half of the
 * smallest tick, 0.001.
 */
export const LIMIT_TOLERANCE = 0.0005;

interface Since {
  readonly since: TradingDate;
}

/** The daily limits of a board's prices, in percent of the previous close. */
interface BoardLimit {
  readonly symbols: RegExp;
  /** Pattern of the names of exchange-traded funds; a board with one has funds alone. */
  readonly funds?: RegExp;
  /** The newest first; before the oldest, the next board that matches applies, if there is one. */
  readonly percents: readonly (Since & { readonly percent: number })[];
  /** The limit of shares under special treatment, if it differs. */
  readonly specialTreatment?: Since & { readonly percent: number };
  /** Sessions without a limit from the listing on, of listings from a date on. @default see {@link FIRST_DAY} */
  readonly unlimited?: Since & { readonly sessions: number };
}

const since = (date: string): TradingDate => date as TradingDate;

/**
 * The boards that have limits; the first one that matches a symbol applies. Sources: the trading rules of the exchanges.
 * Main boards: 10 % since 1996-12-16, 5 % under special treatment since 1998-04-22, five sessions without limit since the
 * first listings under registration on 2023-04-10. ChiNext: 20 % and five sessions since 2020-08-24. STAR: since its
 * opening on 2019-07-22. Beijing: since its opening on 2021-11-15. Funds that track STAR or ChiNext have the limit of these
 * boards, since the first of STAR on 2020-11-16.
 */
export const BOARD_LIMITS: readonly BoardLimit[] = [
  {
    symbols: /\.BJ$/,
    percents: [{ since: since("2021-11-15"), percent: 30 }],
    unlimited: { since: since("2021-11-15"), sessions: 1 },
  },
  { symbols: /^58[89]\d{3}\.SH$/, percents: [{ since: since("2020-11-16"), percent: 20 }] },
  {
    symbols: /^(5\d{5}\.SH|1[56]\d{4}\.SZ)$/,
    funds: /^[^债]*(创业|科创|双创|创50|创成长|创大盘|创中盘)[^债]*$/,
    percents: [{ since: since("2020-08-24"), percent: 20 }],
  },
  {
    symbols: /^68[89]\d{3}\.SH$/,
    percents: [{ since: since("2019-07-22"), percent: 20 }],
    unlimited: { since: since("2019-07-22"), sessions: 5 },
  },
  {
    symbols: /^30[0-2]\d{3}\.SZ$/,
    percents: [
      { since: since("2020-08-24"), percent: 20 },
      { since: since("1996-12-16"), percent: 10 },
    ],
    unlimited: { since: since("2020-08-24"), sessions: 5 },
  },
  {
    symbols: /\.(SH|SZ)$/,
    percents: [{ since: since("1996-12-16"), percent: 10 }],
    specialTreatment: { since: since("1998-04-22"), percent: 5 },
    unlimited: { since: since("2023-04-10"), sessions: 5 },
  },
];

/**
 * The first session of other shares: without a limit, and of listings in Shanghai and Shenzhen since 2014 with these, in
 * percent of the price of the issue (rules of the exchanges of December 2013).
 */
export const FIRST_DAY = { since: since("2014-01-01"), symbols: /\.(SH|SZ)$/, up: 44, down: 36 } as const;

/**
 * Calendar days after a listing within which five sessions have passed, holidays of eight days included; used where the
 * calendar does not know the day of the listing.
 */
export const DAYS_OF_FIVE_SESSIONS = 21;

export const LIMITED_TYPES: readonly string[] = ["stock", "etf"];

/** Symbols of indexes, which have no limits; used where the type of the instrument is unknown. */
export const INDEX_SYMBOLS = /^(000\d{3}\.SH|399\d{3}\.SZ)$/;

export const SPECIAL_TREATMENT_NAMES = /^S?\*?ST/;

/** Symbols of exchange-traded funds; used where the type of the instrument is unknown. */
export const ETF_SYMBOLS = /^(5\d{5}\.SH|1[56]\d{4}\.SZ)$/;

/** Decimals of the smallest price step of the Chinese exchanges, to which they round limits. */
export const PRICE_DECIMALS = { etf: 3, other: 2 } as const;

/** The narrowest limit of any board, in percent. */
export const NARROWEST_LIMIT = Math.min(
  ...BOARD_LIMITS.flatMap(({ percents, specialTreatment }) =>
    [...percents, ...(specialTreatment ? [specialTreatment] : [])].map(({ percent }) => percent),
  ),
);
