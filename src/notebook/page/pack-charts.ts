import type { ChartColumn, ChartData } from "../chart-data.js";
import type { DrawnChart } from "../notebook.js";

/** A column of a chart in a page. Numbers are unchanged; texts are indexes into the list of distinct texts. */
export interface PackedColumn {
  readonly name: string;
  readonly kind: ChartColumn["kind"];
  readonly isPercent: boolean;
  readonly values: readonly (number | null)[];
  readonly texts?: readonly string[];
}

export interface PackedChart {
  readonly chart: DrawnChart;
  readonly channels: Readonly<Record<string, readonly PackedColumn[]>>;
}

/** Number of significant digits that drawings and hints show. */
const DIGITS = 9;

export function packChart({ chart, channels }: ChartData): PackedChart {
  const packed = Object.entries(channels).map(([channel, columns]) => [channel, columns.map(packColumn)]);
  // The columns have their shown names already.
  const { names: _, ...drawn } = chart;
  return { chart: drawn, channels: Object.fromEntries(packed) };
}

function packColumn({ name, kind, isPercent, values }: ChartColumn): PackedColumn {
  if (kind === "number") {
    const rounded = values.map((value) =>
      typeof value === "number" ? Number(value.toPrecision(DIGITS)) : null,
    );
    return { name, kind, isPercent, values: rounded };
  }
  if (kind === "date" || kind === "time")
    return { name, kind, isPercent, values: values as readonly (number | null)[] };
  const places = new Map<string, number>();
  const packed = values.map((value) => {
    if (value === null) return null;
    const text = String(value);
    const place = places.get(text) ?? places.size;
    places.set(text, place);
    return place;
  });
  return { name, kind, isPercent, values: packed, texts: [...places.keys()] };
}
