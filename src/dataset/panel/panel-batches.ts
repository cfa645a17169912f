import type { RecordBatch } from "apache-arrow";
import { type TypedColumn, typedBatch, wordList } from "../../arrow/typed-batch.js";
import { dateOfEpochDay } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { dayRange } from "../../market/sessions.js";
import type { PanelShape } from "./block.js";
import { type PanelSpool, type Slice, slicesOf } from "./panel-spool.js";

/** Most rows of a batch, unless one label has more. */
const BATCH_ROWS = 65_536;

/** Most bytes of a slice: the next one is read before the memory of the last one is free. */
const SLICE_BYTES = 24 * 2 ** 20;

/**
 * A dataset's rows in order of time, then symbol, as record batches: `symbol` (a dictionary), `trade_date`, `timestamp`
 * (UTC), the fields and the masks. A symbol has a row for every label from its first to its last; null means no value.
 */
export function* panelBatches(spool: PanelSpool, shape: PanelShape): Generator<RecordBatch, void, undefined> {
  const { fields, masks, symbols } = shape;
  const words = wordList(symbols.map(({ symbol }) => symbol));
  const times = labelTimes(shape);
  const timesOf = symbols.map(({ region }) => times.get(region) as BigInt64Array);
  for (const slice of slicesOf(shape, fields.length * 8 + masks.length, SLICE_BYTES)) {
    const cells = fields.map((_, f) => spool.field(f, slice));
    const marks = masks.map((_, m) => spool.mask(m, slice));
    for (const { symbol, label, rows } of rowsByTime(spool, slice)) {
      const pick = <T extends Float64Array | Uint8Array>(from: T, to: T): T => {
        for (let row = 0; row < rows; row++)
          to[row] = from[
            (symbol[row] as number) * slice.width + (label[row] as number) - slice.start
          ] as number;
        return to;
      };
      const columns: TypedColumn[] = [
        { name: "symbol", kind: "word", values: symbol.slice(0, rows), words },
        {
          name: "trade_date",
          kind: "date",
          values: Int32Array.from(
            { length: rows },
            (_, row) => shape.labels.days[label[row] as number] as number,
          ),
        },
        {
          name: "timestamp",
          kind: "timestamp",
          values: BigInt64Array.from(
            { length: rows },
            (_, row) => timesOf[symbol[row] as number]?.[label[row] as number] as bigint,
          ),
        },
        ...fields.map(
          ({ name }, f): TypedColumn => ({
            name,
            kind: "double",
            nanIsNull: true,
            values: pick(cells[f] as Float64Array, new Float64Array(rows)),
          }),
        ),
        ...masks.map(
          (name, m): TypedColumn => ({
            name,
            kind: "boolean",
            values: pick(marks[m] as Uint8Array, new Uint8Array(rows)),
          }),
        ),
      ];
      yield typedBatch(columns, rows);
    }
  }
}

/** Some rows of a slice: their symbols and labels. The arrays are reused for the next rows. */
interface Rows {
  readonly symbol: Int32Array;
  readonly label: Int32Array;
  readonly rows: number;
}

/** Iterates a slice's rows by label, then symbol; a batch has whole labels. */
function* rowsByTime({ first, last }: PanelSpool, { start, width }: Slice): Generator<Rows, void, undefined> {
  const most = Math.max(BATCH_ROWS, first.length);
  const symbol = new Int32Array(most);
  const label = new Int32Array(most);
  let rows = 0;
  for (let at = start; at < start + width; at++) {
    if (rows > 0 && rows + first.length > most) {
      yield { symbol, label, rows };
      rows = 0;
    }
    for (let s = 0; s < first.length; s++) {
      if ((first[s] as number) < 0 || at < (first[s] as number) || at > (last[s] as number)) continue;
      symbol[rows] = s;
      label[rows] = at;
      rows++;
    }
  }
  if (rows > 0) yield { symbol, label, rows };
}

/** Times of all labels in epoch milliseconds, by region: for dates, midnight in the zone of its exchanges. */
export type LabelTimes = ReadonlyMap<Region, BigInt64Array>;

export function labelTimes({ labels, symbols }: PanelShape): LabelTimes {
  const { times, days } = labels;
  const ends = times && BigInt64Array.from(times, BigInt);
  const midnights = (region: Region): BigInt64Array =>
    BigInt64Array.from(days, (day) => BigInt(dayRange(region, dateOfEpochDay(day)).start));
  const regions = new Set(symbols.map(({ region }) => region));
  return new Map([...regions].map((region) => [region, ends ?? midnights(region)]));
}
