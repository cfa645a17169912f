import type { PackedChart, PackedColumn } from "../../page/pack-charts.js";
import { type Value, valuesOf } from "../drawing.js";

/** A row of a chart: a value for each of its channels. */
export type Row = Record<string, Value>;

/**
 * Rows of the columns of a chart, by channel, for channels with one column. `more` replaces the columns of its
 * channels.
 */
export function rowsOf({ channels }: PackedChart, more: Readonly<Record<string, PackedColumn>> = {}): Row[] {
  const columns = Object.entries({
    ...Object.fromEntries(
      Object.entries(channels).flatMap(([channel, [first]]) => (first ? [[channel, first] as const] : [])),
    ),
    ...more,
  }).map(([channel, column]) => [channel, valuesOf(column)] as const);
  const length = columns[0]?.[1].length ?? 0;
  return Array.from({ length }, (_, row) =>
    Object.fromEntries(columns.map(([channel, values]) => [channel, values[row] ?? null])),
  );
}
