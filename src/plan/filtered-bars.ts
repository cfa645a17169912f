import { isSet, setBit } from "../core/bits.js";
import { DOUBLE_COLUMNS, type KlineColumns, type NumberColumn } from "../wire/kline-columns.js";

/**
 * The bars for which a condition is true, in their order. They are copied, unless the condition is true for all bars.
 */
export function filteredBars(
  columns: KlineColumns,
  isIncluded: (symbol: string, timestamp: number) => boolean,
): KlineColumns {
  const { symbols, symbolIndex, timestamp, volume, doubles } = columns;
  const rows = Array.from({ length: columns.rows }, (_, row) => row).filter((row) =>
    isIncluded(symbols[symbolIndex[row] as number] as string, Number(timestamp[row])),
  );
  if (rows.length === columns.rows) return columns;
  const some = DOUBLE_COLUMNS.map((name) => [name, someNumbers(doubles[name], rows)]);
  return {
    rows: rows.length,
    symbols,
    symbolIndex: Int32Array.from(rows, (row) => symbolIndex[row] as number),
    timestamp: BigInt64Array.from(rows, (row) => timestamp[row] as bigint),
    volume: BigInt64Array.from(rows, (row) => volume[row] as bigint),
    doubles: Object.fromEntries(some) as KlineColumns["doubles"],
  };
}

function someNumbers({ values, validity }: NumberColumn, rows: readonly number[]): NumberColumn {
  const some = Float64Array.from(rows, (row) => values[row] as number);
  if (validity === undefined) return { values: some, validity };
  const bits = new Uint8Array(Math.ceil(rows.length / 8));
  for (const [to, row] of rows.entries()) {
    if (isSet(validity, row)) setBit(bits, to);
  }
  return { values: some, validity: bits };
}
