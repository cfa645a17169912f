import type { DuckDBType } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { type Data, DataType, DateUnit, type RecordBatch, TimeUnit, Type } from "apache-arrow";
import { isSet } from "../../core/bits.js";
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  ENUM,
  INTEGER,
  TIMESTAMP,
  TIMESTAMP_MS,
  VARCHAR,
} from "../duckdb-api.js";
import type { Fill, ScanColumn, ScanSource } from "./table-scan.js";
import { copyValidity, copyValues, VECTOR_ROWS } from "./vector-copy.js";

/**
 * A record batch as a scan's source; its buffers must not change during the scan.
 *
 * A dictionary of strings becomes an ENUM, a timestamp TIMESTAMP_MS or TIMESTAMP in UTC.
 *
 * @throws {TypeError} for a column of an unsupported type.
 */
export function batchScan(batch: RecordBatch): ScanSource {
  const columns = batch.schema.fields.map((field, i) =>
    scanColumn(field.name, batch.data.children[i] as Data),
  );
  return { rows: batch.numRows, columns };
}

function scanColumn(name: string, data: Data): ScanColumn {
  if (data.offset !== 0)
    throw new TypeError(`column ${name}: a sliced batch cannot be scanned; copy it first`);
  const { type } = data;
  if (DataType.isDictionary(type) && DataType.isUtf8(type.dictionary)) return dictionaryColumn(name, data);
  if (DataType.isUtf8(type)) return { name, type: VARCHAR, fill: withValidity(data, fillStrings(data)) };
  if (DataType.isBool(type)) return { name, type: BOOLEAN, fill: withValidity(data, fillBooleans(data)) };
  const fixed = fixedWidthType(type);
  if (fixed === undefined)
    throw new TypeError(`column ${name}: Arrow type ${Type[type.typeId]} cannot be scanned`);
  return {
    name,
    type: fixed,
    fill: withValidity(data, (target, from, rows) => copyValues(target, data.values, from, rows)),
  };
}

function fixedWidthType(type: DataType): DuckDBType | undefined {
  if (DataType.isFloat(type) && type.precision === 2) return DOUBLE;
  if (DataType.isInt(type) && type.isSigned && type.bitWidth === 64) return BIGINT;
  if (DataType.isInt(type) && type.isSigned && type.bitWidth === 32) return INTEGER;
  if (DataType.isDate(type) && type.unit === DateUnit.DAY) return DATE;
  if (DataType.isTimestamp(type) && type.unit === TimeUnit.MILLISECOND) return TIMESTAMP_MS;
  if (DataType.isTimestamp(type) && type.unit === TimeUnit.MICROSECOND) return TIMESTAMP;
  return undefined;
}

/** A dictionary column is an ENUM in DuckDB: its vector contains the indices, in the narrowest width that fits. */
function dictionaryColumn(name: string, data: Data): ScanColumn {
  const words = [...(data.dictionary ?? [])] as string[];
  if (words.length === 0) return { name, type: VARCHAR, fill: markAllNull };
  const indices = data.values as Int32Array;
  const scratch = words.length < 256 ? new Uint8Array(VECTOR_ROWS) : new Uint16Array(VECTOR_ROWS);
  const narrow = words.length < 65_536 ? scratch : new Uint32Array(VECTOR_ROWS);
  const fill: Fill = (target, from, rows) => {
    narrow.set(indices.subarray(from, from + rows));
    copyValues(target, narrow, 0, rows);
  };
  return { name, type: ENUM(words), fill: withValidity(data, fill) };
}

function fillStrings(data: Data): Fill {
  const { valueOffsets, values } = data as unknown as { valueOffsets: Int32Array; values: Uint8Array };
  return (target, from, rows) => {
    for (let row = 0; row < rows; row++) {
      const bytes = values.subarray(valueOffsets[from + row], valueOffsets[from + row + 1]);
      duckdb.vector_assign_string_element_len(target, row, bytes);
    }
  };
}

function fillBooleans(data: Data): Fill {
  const bits = data.values as Uint8Array;
  return (target, from, rows) => {
    const bytes = Uint8Array.from({ length: rows }, (_, row) => Number(isSet(bits, from + row)));
    copyValues(target, bytes, 0, rows);
  };
}

function withValidity(data: Data, fill: Fill): Fill {
  const bitmap = data.nullBitmap as Uint8Array | null;
  if (data.nullCount === 0 || !bitmap || bitmap.length === 0) return fill;
  return (target, from, rows) => {
    fill(target, from, rows);
    copyValidity(target, bitmap, from, rows);
  };
}

const markAllNull: Fill = (target, from, rows) => {
  copyValidity(target, new Uint8Array(Math.ceil((from + rows) / 8)), from, rows);
};
