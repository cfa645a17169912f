import { KLINE_COLUMNS } from "../schema/bars.js";

/**
 * A numeric column in Arrow's layout: `validity` has one bit for each row (1 = present), and is undefined if all are
 * present. Columns of only nulls may share memory.
 */
export interface NumberColumn {
  readonly values: Float64Array;
  readonly validity: Uint8Array | undefined;
}

/**
 * Bars of one or more symbols as columns, ordered by `symbols`, then by timestamp (strictly ascending).
 * Every array has `rows` entries; `volume` and `timestamp` are exact.
 */
export interface KlineColumns {
  readonly rows: number;
  /** The symbols to which {@link symbolIndex} refers; symbols without bars may be among them. */
  readonly symbols: readonly string[];
  readonly symbolIndex: Int32Array;
  /** Epoch milliseconds. */
  readonly timestamp: BigInt64Array;
  readonly volume: BigInt64Array;
  readonly doubles: Readonly<Record<DoubleColumn, NumberColumn>>;
}

export type KlineValues = Pick<KlineColumns, "timestamp" | "volume" | "doubles">;

/** Bars of one symbol: the rows from `start` to `end`, exclusive, of some columns. */
export interface KlineRun {
  readonly symbol: string;
  readonly values: KlineValues;
  readonly start: number;
  readonly end: number;
}

/** Wire names of the columns of doubles, in the interface's order. */
export const DOUBLE_COLUMNS = [
  "open",
  "high",
  "low",
  "close",
  "amount",
  "open_interest",
  "prev_close",
  "settlement_price",
] as const;
/** The name of a column of doubles. */
export type DoubleColumn = (typeof DOUBLE_COLUMNS)[number];

/** Wire names of every column, in the interface's order. */
export const WIRE_COLUMNS: readonly string[] = ["timestamp", ...KLINE_COLUMNS.map((c) => c.name)];

/** Wire names of the columns that a response may leave out. */
export const OPTIONAL_COLUMNS: ReadonlySet<string> = new Set(
  KLINE_COLUMNS.filter((c) => c.nullable).map((c) => c.name),
);
