import type { RecordBatch } from "apache-arrow";
import { type TypedColumn, typedBatch, wordList } from "../../arrow/typed-batch.js";
import type { Region } from "../../market/regions.js";
import type { Block, PanelShape } from "./block.js";
import type { LabelTimes } from "./panel-batches.js";
import type { Slice } from "./panel-spool.js";

/**
 * A block's rows over some labels as one record batch, by symbol, then label: each symbol from its first label with
 * trades to its last. Columns: `symbol, trade_date, timestamp`, fields, masks; NaN becomes null.
 */
export function rowsBySymbol(
  block: Block,
  shape: PanelShape,
  times: LabelTimes,
  { start, width }: Slice,
): RecordBatch {
  const { symbols, first, last, fields, masks } = block;
  const runs = symbols.flatMap((_, s) => {
    const from = Math.max(first[s] as number, start);
    const to = Math.min(last[s] as number, start + width - 1);
    return (first[s] as number) < 0 || from > to ? [] : [{ s, from, to }];
  });
  const rows = runs.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const place = <T extends Float64Array | Uint8Array>(cells: T, into: T): T => {
    let at = 0;
    for (const { s, from, to } of runs) {
      into.set(cells.subarray(s * block.width + from, s * block.width + to + 1), at);
      at += to - from + 1;
    }
    return into;
  };
  const symbol = new Int32Array(rows);
  const day = new Int32Array(rows);
  const time = new BigInt64Array(rows);
  let at = 0;
  for (const { s, from, to } of runs) {
    const end = at + to - from + 1;
    symbol.fill(s, at, end);
    day.set(shape.labels.days.subarray(from, to + 1), at);
    const ends = times.get(symbols[s]?.region as Region) as BigInt64Array;
    time.set(ends.subarray(from, to + 1), at);
    at = end;
  }
  const columns: TypedColumn[] = [
    { name: "symbol", kind: "word", values: symbol, words: wordList(symbols.map((one) => one.symbol)) },
    { name: "trade_date", kind: "date", values: day },
    { name: "timestamp", kind: "timestamp", values: time },
    ...shape.fields.map(({ name }, f): TypedColumn => {
      const values = place(fields[f] as Float64Array, new Float64Array(rows));
      return { name, kind: "double", values, nanIsNull: true };
    }),
    ...shape.masks.map((name, m): TypedColumn => {
      return { name, kind: "boolean", values: place(masks[m] as Uint8Array, new Uint8Array(rows)) };
    }),
  ];
  return typedBatch(columns, rows);
}
