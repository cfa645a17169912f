import { DOUBLE_COLUMNS, type KlineColumns } from "../../src/wire/kline-columns.js";

/** The values of columns as plain lists, by Arrow name; null where there is none. */
export interface ColumnLists extends Readonly<Record<string, readonly unknown[]>> {
  readonly symbol: readonly string[];
  /** Epoch milliseconds. */
  readonly timestamp: readonly number[];
  readonly volume: readonly bigint[];
}

export function listsOf(columns: KlineColumns): ColumnLists {
  const doubles = DOUBLE_COLUMNS.map((name) => {
    const { values, validity } = columns.doubles[name];
    const present = (row: number): boolean =>
      validity === undefined || (((validity[row >> 3] as number) >> (row & 7)) & 1) === 1;
    return [name, Array.from(values, (value, row) => (present(row) ? value : null))];
  });
  return {
    symbol: Array.from(columns.symbolIndex, (index) => columns.symbols[index] as string),
    timestamp: Array.from(columns.timestamp, Number),
    volume: [...columns.volume],
    ...Object.fromEntries(doubles),
  };
}
