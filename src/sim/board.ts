import { UsageError } from "../core/errors.js";
import type { Region } from "../market/regions.js";

/** Name of a {@link Board}. */
export type BoardId = "SH_MAIN" | "SZ_MAIN" | "SZ_GROWTH" | "BJ" | "SH_ETF" | "HK_MAIN" | "US_LISTED";

/**
 * The common properties of the instruments in one listing segment: rules of the exchange, and parameters of the
 * simulation.
 */
export interface Board {
  readonly id: BoardId;
  readonly exchange: string;
  readonly region: Region;
  readonly type: "stock" | "etf";
  /** Fraction of all simulated instruments. The fractions of all boards add up to 1. */
  readonly share: number;
  /** Prefixes of the codes, which are used in this order; empty where codes consist of letters. */
  readonly codePrefixes: readonly string[];
  /** Number of prefixes that are used even if fewer were sufficient. */
  readonly minPrefixes: number;
  /** Number of digits of a code after its prefix. */
  readonly codeDigits: number;
  /** Daily price limit around prev_close, in percent; undefined where the exchange has no limit. */
  readonly limitPercent: number | undefined;
  /** Smallest price step in thousandths of the currency; 0 where it depends on the price, see the HK spread table. */
  readonly tickMilli: number;
  /** Lowest price in the simulation, in thousandths of the currency. */
  readonly floorMilli: number;
  /** Range of prices at the start of the history, in currency. */
  readonly price: readonly [number, number];
  /** Range of the amount traded on an ordinary day, in currency. */
  readonly turnover: readonly [number, number];
  /** Probability that a suspension begins on a day. */
  readonly suspensions: number;
  /** Number of dividends per year of instruments that pay dividends. */
  readonly payouts: number;
  /** Fraction of the instruments that pay dividends. */
  readonly payers: number;
  /** Range of a dividend, as a fraction of the price. */
  readonly dividend: readonly [number, number];
  /** Probability that a payout comes with a split. */
  readonly splits: number;
  /** Possible numbers of shares that one share becomes in a split. */
  readonly splitRatios: readonly number[];
  /** Price in currency below which ten shares may become one on an ex-date; 0 where they never do. */
  readonly consolidatesBelow: number;
}

const CN_STOCK = {
  region: "CN",
  type: "stock",
  codeDigits: 3,
  minPrefixes: 1,
  tickMilli: 10,
  floorMilli: 1000,
  price: [4, 90],
  turnover: [8e6, 3e9],
  suspensions: 0.0012,
  payouts: 1,
  payers: 0.75,
  dividend: [0.006, 0.05],
  splits: 0.16,
  splitRatios: [1.2, 1.3, 1.4, 1.5, 2],
  consolidatesBelow: 0,
} as const;

/** Every board. Limits: 10 % on the main boards, 20 % on the growth board (300xxx), 30 % in Beijing. */
export const BOARDS: readonly Board[] = [
  {
    ...CN_STOCK,
    id: "SH_MAIN",
    exchange: "SH",
    share: 0.27,
    codePrefixes: ["600", "601", "603", "605"],
    limitPercent: 10,
  },
  {
    ...CN_STOCK,
    id: "SZ_MAIN",
    exchange: "SZ",
    share: 0.16,
    codePrefixes: ["000", "002", "001", "003"],
    limitPercent: 10,
  },
  {
    ...CN_STOCK,
    id: "SZ_GROWTH",
    exchange: "SZ",
    share: 0.12,
    codePrefixes: ["300", "301"],
    limitPercent: 20,
  },
  {
    ...CN_STOCK,
    id: "BJ",
    exchange: "BJ",
    share: 0.06,
    codePrefixes: ["430", "831", "832", "833", "834", "835", "836", "837", "838", "839"],
    minPrefixes: 2,
    limitPercent: 30,
    turnover: [1e5, 8e7],
  },
  {
    ...CN_STOCK,
    id: "SH_ETF",
    exchange: "SH",
    type: "etf",
    share: 0.09,
    codePrefixes: ["510", "512", "515", "516", "588"],
    limitPercent: 10,
    tickMilli: 1,
    floorMilli: 200,
    price: [0.5, 6],
    turnover: [2e6, 2e9],
    suspensions: 0.0001,
    payers: 0.3,
    splits: 0.1,
    splitRatios: [2],
  },
  {
    id: "HK_MAIN",
    exchange: "HK",
    region: "HK",
    type: "stock",
    share: 0.15,
    codePrefixes: ["0"],
    minPrefixes: 1,
    codeDigits: 4,
    limitPercent: undefined,
    tickMilli: 0,
    floorMilli: 500,
    price: [1, 400],
    turnover: [5e5, 4e9],
    suspensions: 0.0003,
    payouts: 2,
    payers: 0.7,
    dividend: [0.008, 0.03],
    splits: 0.03,
    splitRatios: [2, 4, 5],
    consolidatesBelow: 2,
  },
  {
    id: "US_LISTED",
    exchange: "US",
    region: "US",
    type: "stock",
    share: 0.15,
    codePrefixes: [],
    minPrefixes: 0,
    codeDigits: 0,
    limitPercent: undefined,
    tickMilli: 10,
    floorMilli: 1000,
    price: [8, 600],
    turnover: [1e6, 9e9],
    suspensions: 0,
    payouts: 4,
    payers: 0.6,
    dividend: [0.002, 0.009],
    splits: 0.02,
    splitRatios: [2, 3, 4, 10],
    consolidatesBelow: 8,
  },
];

/**
 * The number of instruments of each board, by largest remainder; the numbers add up to `symbols`.
 *
 * @throws {UsageError} where a board has fewer codes than instruments.
 */
export function apportion(symbols: number): Map<Board, number> {
  const counts = new Map(BOARDS.map((board) => [board, Math.floor(board.share * symbols)]));
  const rest = symbols - [...counts.values()].reduce((sum, n) => sum + n, 0);
  const byRemainder = [...BOARDS].sort((a, b) => ((b.share * symbols) % 1) - ((a.share * symbols) % 1));
  for (const board of byRemainder.slice(0, rest)) counts.set(board, (counts.get(board) ?? 0) + 1);
  for (const [board, count] of counts) {
    const codes = board.codePrefixes.length * 10 ** board.codeDigits - 1;
    if (board.codePrefixes.length > 0 && count > codes) {
      throw new UsageError(
        `symbols ${symbols} would need ${count} codes of board ${board.id}, which has ${codes}`,
      );
    }
  }
  return counts;
}
