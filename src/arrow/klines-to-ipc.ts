import { RecordBatchFileWriter, Table, tableToIPC } from "apache-arrow";
import { isAllNull } from "../core/bits.js";
import { DOUBLE_COLUMNS, type KlineColumns, type NumberColumn } from "../wire/kline-columns.js";
import { klineBatch } from "./kline-batch.js";

/** Writes bars as an Arrow IPC file of one record batch, with the columns that {@link klineBatch} declares. */
export function klinesToIpc(columns: KlineColumns): Uint8Array {
  const apart = { ...columns, doubles: withoutOverlap(columns.doubles) };
  return tableToIPC(new Table([klineBatch(apart)]), "file");
}

/**
 * Writes bars like {@link klinesToIpc}, except columns without a value, and in pieces that are views of the columns'
 * buffers where possible.
 */
export function klinesToIpcPieces(columns: KlineColumns): AsyncIterable<Uint8Array> {
  const { rows, doubles } = columns;
  const isEmpty = ({ validity }: NumberColumn): boolean =>
    validity !== undefined && isAllNull(validity, rows);
  const empty = new Set<unknown>(rows === 0 ? [] : DOUBLE_COLUMNS.filter((name) => isEmpty(doubles[name])));
  const table = new Table([klineBatch(columns)]);
  return RecordBatchFileWriter.writeAll(table.select(table.schema.names.filter((name) => !empty.has(name))));
}

/**
 * Copies overlapping columns: where Arrow's writer joins its pieces, it merges neighbours that overlap in memory, and drops
 * the shared bytes.
 */
function withoutOverlap(doubles: KlineColumns["doubles"]): KlineColumns["doubles"] {
  const taken: Float64Array[] = [];
  const apart = { ...doubles };
  for (const name of DOUBLE_COLUMNS) {
    const { values, validity } = doubles[name];
    if (taken.some((other) => overlap(other, values))) apart[name] = { values: values.slice(), validity };
    taken.push(values);
  }
  return apart;
}

function overlap(a: Float64Array, b: Float64Array): boolean {
  if (a.buffer !== b.buffer) return false;
  return a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;
}
