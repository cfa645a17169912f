import {
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMillisecond,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { BARS_1D } from "../schema/bars.js";
import { columnOf } from "../schema/column.js";
import { DOUBLE_COLUMNS, type KlineColumns } from "../wire/kline-columns.js";

/**
 * Creates one RecordBatch over the buffers of decoded columns; only the dictionary of symbols is copied.
 *
 * Columns: symbol dictionary<int32, utf8>, timestamp timestamp[ms, UTC], the doubles, volume int64.
 */
export function klineBatch(columns: KlineColumns): RecordBatch {
  const { rows, symbols, symbolIndex, timestamp, volume, doubles } = columns;
  const symbolType = new Dictionary(new Utf8(), new Int32(), 0);
  const timestampType = new TimestampMillisecond("UTC");
  const fields: Field[] = [
    new Field("symbol", symbolType, false),
    new Field("timestamp", timestampType, false),
  ];
  const children = [
    makeData({
      type: symbolType,
      length: rows,
      nullCount: 0,
      data: symbolIndex,
      dictionary: vectorFromArray(symbols as string[], new Utf8()),
    }),
    makeData({ type: timestampType, length: rows, nullCount: 0, data: timestamp }),
    ...DOUBLE_COLUMNS.map((name) => {
      const { values, validity } = doubles[name];
      fields.push(new Field(name, new Float64(), columnOf(BARS_1D, name).nullable === true));
      return makeData({ type: new Float64(), length: rows, data: values, nullBitmap: validity ?? null });
    }),
    makeData({ type: new Int64(), length: rows, nullCount: 0, data: volume }),
  ];
  fields.push(new Field("volume", new Int64(), false));
  const schema = new Schema(fields);
  return new RecordBatch(
    schema,
    makeData({ type: new Struct(fields), length: rows, nullCount: 0, children }),
  );
}
