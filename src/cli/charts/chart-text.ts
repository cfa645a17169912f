import { groupBy } from "../../core/group-by.js";
import type { ChartColumn, ChartData } from "../../notebook/chart-data.js";
import type { DrawnChart } from "../../notebook/notebook.js";
import { formatValues } from "../../notebook/page/format-values.js";
import { cut } from "../results/result-table.js";
import { type Cell, count, paint, table } from "../text.js";
import { type Candle, candleChart } from "./candles.js";

/** Dots of a character of Braille, by column and by row from above. */
const DOTS: readonly (readonly number[])[] = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
];

/** A field of dots for a terminal: two by four in a character. */
export class BrailleCanvas {
  readonly columns: number;
  readonly lines: number;
  readonly #cells: { dots: number; layer: number }[];

  constructor(columns: number, lines: number) {
    this.columns = columns;
    this.lines = lines;
    this.#cells = Array.from({ length: columns * lines }, () => ({ dots: 0, layer: 0 }));
  }

  /** Sets the dot at a position, from 0 to 1 each way, from the left and from below; of several layers in one place the last one is shown. */
  dot(x: number, y: number, layer = 0): void {
    this.#set(Math.round(x * (this.columns * 2 - 1)), Math.round((1 - y) * (this.lines * 4 - 1)), layer);
  }

  /** Draws a line between two places. */
  line(from: readonly [number, number], to: readonly [number, number], layer = 0): void {
    const across = Math.abs(to[0] - from[0]) * this.columns * 2;
    const up = Math.abs(to[1] - from[1]) * this.lines * 4;
    const steps = Math.max(1, Math.ceil(Math.max(across, up)));
    for (let step = 0; step <= steps; step++) {
      const part = step / steps;
      this.dot(from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part, layer);
    }
  }

  /** The lines of text, from above. @param colour paints a character of a layer. */
  text(colour: (layer: number, character: string) => string): string[] {
    return Array.from({ length: this.lines }, (_, line) =>
      this.#cells
        .slice(line * this.columns, (line + 1) * this.columns)
        .map(({ dots, layer }) => (dots === 0 ? " " : colour(layer, String.fromCodePoint(0x2800 + dots))))
        .join("")
        .trimEnd(),
    );
  }

  #set(column: number, row: number, layer: number): void {
    const cell = this.#cells[Math.floor(row / 4) * this.columns + Math.floor(column / 2)];
    if (cell === undefined) return;
    cell.dots |= DOTS[column % 2]?.[row % 4] ?? 0;
    cell.layer = layer;
  }
}

const LINES = 14;
const LAYERS = ["cyan", "yellow", "green", "red"] as const;
const MOST_BARS = 50;
const LONGEST_LABEL = 24;
const NOTHING = "no numbers to draw";

export interface TerminalChart extends Pick<ChartData, "channels" | "drawn"> {
  readonly chart: Pick<DrawnChart, "kind" | "log" | "rule" | "rising" | "bins">;
}

/** A chart for a terminal. Rows without a number are left out. @param width columns of the terminal. */
export function chartText(data: TerminalChart, width: number): string {
  switch (data.chart.kind) {
    case "candlestick":
      return candles(data, width);
    case "line":
    case "scatter":
      return plot(data, width);
    case "bar":
      return bars(data, width);
    case "histogram":
      return histogram(data, width);
    case "heatmap":
      return grid(data, width);
  }
}

function candles({ chart, channels }: TerminalChart, width: number): string {
  const [x, open, high, low, close, volume] = (["x", "open", "high", "low", "close", "volume"] as const).map(
    (channel) => channels[channel]?.[0],
  );
  if (x === undefined) return "";
  const places = placesOf(x);
  const labels = formatValues(x);
  const all = labels.map((label, i) => ({
    place: places[i] ?? Number.NaN,
    label: label ?? "",
    open: numberAt(open, i),
    high: numberAt(high, i),
    low: numberAt(low, i),
    close: numberAt(close, i),
    volume: volume ? numberAt(volume, i) || 0 : 0,
  }));
  const whole: Candle[] = all
    .filter((candle) =>
      [candle.place, candle.open, candle.high, candle.low, candle.close].every(Number.isFinite),
    )
    .sort((a, b) => a.place - b.place);
  if (whole.length === 0) return paint("dim", NOTHING);
  return candleChart(whole, { width, height: LINES, rising: chart.rising });
}

/**
 * Positions on an axis: numbers by their value; dates and times in their order at equal distances, because markets
 * close; texts in the order in which they appear.
 */
function placesOf({ kind, values }: ChartColumn): number[] {
  if (kind === "number") return values.map((value) => scaled(value, false));
  const distinct = [...new Set(values)];
  if (kind === "date" || kind === "time") distinct.sort((a, b) => Number(a) - Number(b));
  const places = new Map(distinct.map((value, place) => [value, place]));
  return values.map((value) => (value === null ? Number.NaN : (places.get(value) ?? Number.NaN)));
}

function plot(data: TerminalChart, width: number): string {
  const { channels, chart } = data;
  const x = channels.x?.[0];
  if (x === undefined) return "";
  const places = placesOf(x).map((place) =>
    x.kind === "number" ? scaled(place, chart.log.includes("x")) : place,
  );
  const series = seriesOf(data).map(({ name, column, rows }) => ({
    name,
    points: rows
      .map(
        (row) =>
          [
            places[row] ?? Number.NaN,
            scaled(column.values[row] ?? null, chart.log.includes("y")),
            row,
          ] as const,
      )
      .filter((point) => point.every(Number.isFinite))
      .sort((a, b) => a[0] - b[0]),
  }));
  const points = series.flatMap((one) => one.points);
  if (points.length === 0) return paint("dim", NOTHING);
  const [left, right] = extent(points.map((point) => point[0]));
  const [bottom, top] = extent([
    ...points.map((point) => point[1]),
    ...chart.rule.map((y) => scaled(y, chart.log.includes("y"))),
  ]);
  const isPercent = (channels.y ?? []).some((column) => column.isPercent);
  const ends = [bottom, (bottom + top) / 2, top].map((y) => (chart.log.includes("y") ? 10 ** y : y));
  const labels = formatValues(
    { kind: "number", values: ends.map((y) => Number(y.toPrecision(digitsOf(ends)))) },
    isPercent,
  );
  const margin = Math.max(...labels.map((label) => label?.length ?? 0));
  const canvas = new BrailleCanvas(Math.max(20, Math.min(width, 120) - margin - 2), LINES);
  const at = ([px, py]: readonly [number, number, number]): [number, number] => [
    (px - left) / (right - left || 1),
    (py - bottom) / (top - bottom || 1),
  ];
  for (const [layer, one] of series.entries()) {
    for (const [index, point] of one.points.entries()) {
      const before = one.points[index - 1];
      if (chart.kind === "scatter" || before === undefined) canvas.dot(...at(point), layer);
      else canvas.line(at(before), at(point), layer);
    }
  }
  const lines = canvas.text((layer, character) => paint(LAYERS[layer % LAYERS.length] ?? "cyan", character));
  const marks = new Map([
    [0, labels[2]],
    [Math.floor(LINES / 2), labels[1]],
    [LINES - 1, labels[0]],
  ]);
  const drawn = lines.map((line, i) => `${paint("dim", (marks.get(i) ?? "").padStart(margin))} ${line}`);
  const shown = [left, right].map((end) => x.values[points.find(([px]) => px === end)?.[2] ?? 0] ?? null);
  const axis = axisText({ ...x, values: shown }, canvas.columns);
  const legend = series.length > 1 ? [legendText(series.map(({ name }) => name))] : [];
  return [...legend, ...drawn, `${" ".repeat(margin)} ${paint("dim", axis)}`].join("\n");
}

interface Series {
  readonly name: string;
  readonly column: ChartColumn;
  readonly rows: readonly number[];
}

/** A series for each value of the colour column, otherwise one for each y column. */
function seriesOf({ channels, drawn }: TerminalChart): Series[] {
  const columns = channels.y ?? [];
  const all = Array.from({ length: drawn }, (_, row) => row);
  const color = channels.color?.[0];
  const [first] = columns;
  if (color === undefined || color.kind === "number" || first === undefined)
    return columns.map((column) => ({ name: column.name, column, rows: all }));
  const groups = groupBy(all, (row) => String(color.values[row] ?? "·"));
  return [...groups].map(([name, rows]) => ({ name, column: first, rows }));
}

function legendText(names: readonly string[]): string {
  return names.map((name, i) => paint(LAYERS[i % LAYERS.length] ?? "cyan", `● ${name}`)).join("  ");
}

/** The significant digits with which the ends and the middle of an axis differ. */
function digitsOf(ends: readonly number[]): number {
  const [low, high] = extent(ends);
  const most = Math.max(Math.abs(low), Math.abs(high));
  return low === high ? 12 : Math.min(12, Math.max(4, 3 + Math.ceil(Math.log10(most / (high - low)))));
}

/** The first and the last value that are drawn, at the ends of a line. */
function axisText({ kind, values, isPercent }: ChartColumn, columns: number): string {
  const [first = "", last = ""] = formatValues({ kind, values }, isPercent).map((text) => text ?? "");
  return `${first}${" ".repeat(Math.max(1, columns - first.length - last.length))}${last}`;
}

/** The first bars, one below the other; dates, times and numbers with more bars than fit are a line. */
function bars(data: TerminalChart, width: number): string {
  const [x, y, color] = [data.channels.x?.[0], data.channels.y?.[0], data.channels.color?.[0]];
  if (x === undefined || y === undefined) return "";
  if (data.drawn > MOST_BARS && x.kind !== "text") return plot(data, width);
  const names = formatValues(x, x.isPercent).map((name, i) =>
    color === undefined ? (name ?? "") : `${name ?? ""} ${String(color.values[i] ?? "")}`,
  );
  const left = data.drawn - MOST_BARS;
  const shown = { ...y, values: y.values.slice(0, MOST_BARS) };
  const lines = barLines(names, shown, Math.min(width, 100) - 40);
  return left > 0 ? `${lines}\n${paint("dim", `… and ${count(left)} more`)}` : lines;
}

function histogram({ channels, chart }: TerminalChart, width: number): string {
  const x = channels.x?.[0];
  const values = (x?.values ?? []).filter((value) => typeof value === "number");
  if (x === undefined || values.length === 0) return paint("dim", NOTHING);
  const [low, high] = extent(values);
  const bins = Math.min(chart.bins, 20);
  const step = (high - low || 1) / bins;
  const counts = Array.from({ length: bins }, () => 0);
  for (const value of values) {
    const bin = Math.min(bins - 1, Math.floor((value - low) / step));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const starts = counts.map((_, bin) => Number((low + bin * step).toPrecision(4)));
  const names = formatValues({ kind: x.kind, values: starts }, x.isPercent).map((name) => name ?? "");
  return barLines(
    names,
    { name: "count", kind: "number", isPercent: false, values: counts },
    Math.min(width, 100) - 30,
  );
}

function barLines(names: readonly string[], column: ChartColumn, available: number): string {
  const numbers = column.values.map((value) => (typeof value === "number" ? value : 0));
  const most = Math.max(...numbers.map(Math.abs)) || 1;
  const texts = formatValues({ kind: "number", values: column.values }, column.isPercent);
  const rows = numbers.map((value, i): Cell[] => {
    const bar = (value < 0 ? "▒" : "▇").repeat(
      Math.round((Math.abs(value) / most) * Math.max(10, available)),
    );
    return [cut(names[i] ?? "", LONGEST_LABEL), texts[i] ?? "·", paint(value < 0 ? "red" : "cyan", bar)];
  });
  return table(["", column.name, ""], rows);
}

/** Most tables below each other into which a heatmap is divided that is wider than the terminal. */
const MOST_BANDS = 3;

/** A heatmap as tables: rows by y, columns by x in their order, as a page has them; where not all fit, below each other. */
function grid({ channels }: TerminalChart, width: number): string {
  const [x, y, color] = [channels.x?.[0], channels.y?.[0], channels.color?.[0]];
  if (x === undefined || y === undefined || color === undefined) return "";
  const across = formatValues(x).map((name) => name ?? "·");
  const down = formatValues(y).map((name) => name ?? "·");
  const texts = formatValues({ kind: "number", values: color.values }, color.isPercent);
  const values = new Map(across.map((name, i) => [name, x.values[i] ?? ""]));
  const columns = [...values.keys()].sort((a, b) => ((values.get(a) ?? a) < (values.get(b) ?? b) ? -1 : 1));
  const longest = Math.max(...texts.map((text) => text?.length ?? 1), ...columns.map((name) => name.length));
  const fitting = Math.max(3, Math.floor((width - 16) / (longest + 2)));
  const bands = Math.min(MOST_BANDS, Math.ceil(columns.length / fitting));
  const shown = columns.slice(-fitting * bands);
  const each = Math.ceil(shown.length / bands);
  const cells = new Map(down.map((name, i) => [JSON.stringify([name, across[i]]), texts[i]]));
  const tables = Array.from({ length: bands }, (_, band) => {
    const own = shown.slice(band * each, (band + 1) * each);
    const rows = [...new Set(down)].map((name): Cell[] => [
      name,
      ...own.map((column) => cells.get(JSON.stringify([name, column]))),
    ]);
    return table([color.name, ...own], rows);
  });
  const left =
    shown.length < columns.length
      ? `\n${paint("dim", `the last ${count(shown.length)} of ${count(columns.length)} columns`)}`
      : "";
  return `${tables.join("\n\n")}${left}`;
}

function numberAt(column: ChartColumn | undefined, row: number): number {
  const value = column?.values[row];
  return typeof value === "number" ? value : Number.NaN;
}

function scaled(value: number | string | null, isLog: boolean): number {
  if (typeof value !== "number") return Number.NaN;
  return isLog ? Math.log10(value) : value;
}

function extent(values: readonly number[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
