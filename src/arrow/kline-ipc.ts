import { type Data, type RecordBatch, type Table, tableFromIPC } from "apache-arrow";
import { messageOf } from "../core/errors.js";
import { BARS_1D } from "../schema/bars.js";
import { columnOf } from "../schema/column.js";
import { DOUBLE_COLUMNS, type KlineColumns, type NumberColumn } from "../wire/kline-columns.js";
import { type BatchColumn, columnBatch, wordList } from "./column-batch.js";

/**
 * Creates one RecordBatch over the buffers of decoded columns; only the dictionary of symbols is copied.
 *
 * Columns: symbol dictionary<int32, utf8>, timestamp timestamp[ms, UTC], the doubles, volume int64.
 */
export function klineBatch(columns: KlineColumns): RecordBatch {
  const { rows, symbols, symbolIndex, timestamp, volume, doubles } = columns;
  return columnBatch(
    [
      { name: "symbol", kind: "word", values: symbolIndex, words: wordList(symbols), isRequired: true },
      { name: "timestamp", kind: "milliseconds", values: timestamp, isRequired: true },
      ...DOUBLE_COLUMNS.map(
        (name): BatchColumn => ({ name, kind: "double", ...doubles[name], isRequired: !isNullable(name) }),
      ),
      { name: "volume", kind: "int64", values: volume, isRequired: true },
    ],
    rows,
  );
}

/** The types of {@link klineBatch}; other columns are doubles. */
const TYPES: Readonly<Record<string, string>> = {
  symbol: "Dictionary<Int32, Utf8>",
  timestamp: "Timestamp<MILLISECOND, UTC>",
  volume: "Int64",
};

/**
 * Reads the bars of an Arrow IPC file of one record batch with the columns of {@link klineBatch}, as an earlier version
 * stored responses. The columns are views of `bytes`; one that the file does not have is null in all rows.
 *
 * @throws {TypeError} for bytes that are no such file.
 */
export function klinesFromIpc(bytes: Uint8Array): KlineColumns {
  const table = openTable(bytes);
  const rows = table.numRows;
  const dataOf = (name: string): Data | undefined => {
    const [data, second] = table.getChild(name)?.data ?? [];
    const isExpected =
      second === undefined && (data === undefined || String(data.type) === (TYPES[name] ?? "Float64"));
    if (isExpected && (data !== undefined || isNullable(name))) return data;
    throw new TypeError(`column ${name}: is not as it was written`);
  };
  const valuesOf = (name: string): unknown => (dataOf(name) as Data).values.subarray(0, rows);
  const doubles = DOUBLE_COLUMNS.map((name): [string, NumberColumn] => {
    const data = dataOf(name);
    const bytesOfBits = Math.ceil(rows / 8);
    if (data === undefined)
      return [
        name,
        { values: new Float64Array(rows).fill(Number.NaN), validity: new Uint8Array(bytesOfBits) },
      ];
    const validity = data.nullCount === 0 ? undefined : data.nullBitmap.subarray(0, bytesOfBits);
    return [name, { values: data.values.subarray(0, rows) as Float64Array, validity }];
  });
  return {
    rows,
    symbols: [...((dataOf("symbol") as Data).dictionary ?? [])] as string[],
    symbolIndex: valuesOf("symbol") as Int32Array,
    timestamp: valuesOf("timestamp") as BigInt64Array,
    volume: valuesOf("volume") as BigInt64Array,
    doubles: Object.fromEntries(doubles) as KlineColumns["doubles"],
  };
}

function openTable(bytes: Uint8Array): Table {
  try {
    return tableFromIPC(bytes);
  } catch (cause) {
    throw new TypeError(`bytes cannot be read as Arrow IPC: ${messageOf(cause)}`, { cause });
  }
}

function isNullable(name: string): boolean {
  return columnOf(BARS_1D, name).nullable === true;
}
