import { UsageError } from "../../core/errors.js";
import type { PlainValue, ResultColumn } from "../../db/result/row-reader.js";
import type { RisingColour } from "../../market/regions.js";
import { risingColour } from "../../market/symbol.js";
import { cellText, isNumeric, isTemporal } from "../results/result-table.js";
import { paint } from "../text.js";
import { barChart } from "./bar-chart.js";
import { type Candle, candleChart } from "./candles.js";
import { type ChartSize, lineChart, most } from "./line-chart.js";

export const CHART_KINDS = ["line", "bar", "candlestick"] as const;
type ChartKind = (typeof CHART_KINDS)[number];

/** The chart to draw; missing settings are chosen from the columns. */
export interface ChartWish {
  readonly kind?: ChartKind | undefined;
  /** Column of the axis. */
  readonly x?: string | undefined;
  /** Column of the values; a candlestick takes its columns by name. */
  readonly y?: string | undefined;
  /** Colour of candles that rise. @default as usual in the region of the first row, which its region or symbol names */
  readonly rising?: RisingColour | undefined;
}

/** Rows of a result, all of them or its first ones. */
interface ChartedResult {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly (readonly PlainValue[])[];
}

const PRICES = ["open", "high", "low", "close"] as const;

/**
 * Draws a result in a terminal. By default: a candlestick for open, high, low and close; a line over a date, a time
 * or a number; otherwise bars. Points are drawn in the order of their axis, and rows without a value are left out.
 *
 * @throws {UsageError} for a column that does not exist, or has no numbers.
 */
export function chartOfResult(result: ChartedResult, wish: ChartWish, size: ChartSize): string {
  const { columns } = result;
  const hasPrices = PRICES.every((name) => columns.some((column) => column.name === name));
  const isCandlestick = wish.kind === "candlestick" || (wish.kind === undefined && hasPrices && !wish.y);
  const x = axisColumn(result, wish.x);
  if (isCandlestick) return candles(result, x, { ...size, rising: wish.rising });
  const y = valueColumn(columns, wish.y, x);
  const isMeasured = x !== undefined && (isTemporal(x.type) || isNumeric(x.type));
  const kind = wish.kind ?? (x === undefined || isMeasured ? "line" : "bar");
  const labels = textsOf(result, x);
  const values = numbersOf(result, y);
  const rows = result.rows.map((_, row) => row).filter((row) => Number.isFinite(values[row]));
  if (rows.length === 0) throw new UsageError(`column ${y.name}: has no value to draw`);
  const title = paint("dim", x === undefined ? y.name : `${y.name} by ${x.name}`);
  if (kind === "bar") {
    const shown = rows.slice(0, MOST_BARS);
    const chart = barChart(
      shown.map((row) => ({ label: labels[row] ?? "", value: values[row] ?? 0 })),
      size.width,
    );
    const left = rows.length - shown.length;
    return [title, chart, ...(left > 0 ? [paint("dim", `… and ${left} more`)] : [])].join("\n");
  }
  const places = placesOf(result, x);
  const points = rows.map((row) => ({
    label: labels[row] ?? "",
    x: places[row] ?? row,
    y: values[row] ?? 0,
  }));
  const ordered = points.toSorted((a, b) => a.x - b.x);
  return `${title}\n${lineChart(ordered, size)}`;
}

const MOST_BARS = 50;

function candles(
  result: ChartedResult,
  x: ResultColumn | undefined,
  { width, height, rising }: ChartSize & Pick<ChartWish, "rising">,
): string {
  const labels = textsOf(result, x);
  const places = placesOf(result, x);
  const [open, high, low, close] = PRICES.map((name) => numbersOf(result, namedColumn(result.columns, name)));
  const volumeColumn = result.columns.find(({ name }) => name === "volume");
  const volumes = volumeColumn === undefined ? [] : numbersOf(result, volumeColumn);
  const rows = result.rows
    .map((_, row) => row)
    .filter((row) => [open, high, low, close].every((prices) => Number.isFinite(prices?.[row])))
    .toSorted((a, b) => (places[a] ?? a) - (places[b] ?? b));
  if (rows.length === 0) throw new UsageError("the result has no bar to draw");
  const bars = rows.map((row) => ({
    label: labels[row] ?? "",
    open: open?.[row] ?? 0,
    high: high?.[row] ?? 0,
    low: low?.[row] ?? 0,
    close: close?.[row] ?? 0,
    volume: volumes[row] || 0,
  }));
  const margin = most(bars.map((bar) => bar.high)).toFixed(3).length + 1;
  const colour = rising ?? risingColour((name) => firstText(result, name));
  return candleChart(merged(bars, Math.max(8, width - margin)), { height, rising: colour });
}

/** Merges neighbouring bars, equally many each, so that the result fits. */
function merged(bars: readonly Candle[], available: number): Candle[] {
  const each = Math.ceil(bars.length / available);
  const groups = Array.from({ length: Math.ceil(bars.length / each) }, (_, i) =>
    bars.slice(i * each, (i + 1) * each),
  );
  return groups.flatMap((group) => {
    const [first, last] = [group[0], group.at(-1)];
    if (first === undefined || last === undefined) return [];
    return {
      label: last === bars.at(-1) ? last.label : first.label,
      open: first.open,
      close: last.close,
      high: Math.max(...group.map(({ high }) => high)),
      low: Math.min(...group.map(({ low }) => low)),
      volume: group.reduce((sum, { volume = 0 }) => sum + volume, 0),
    };
  });
}

function namedColumn(columns: readonly ResultColumn[], name: string): ResultColumn {
  const found =
    columns.find((column) => column.name === name) ??
    columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found;
  throw new UsageError(`column ${name}: the result has none of this name`, {
    hint: `its columns are ${columns.map((column) => column.name).join(", ")}`,
  });
}

/** Where it is not named: of several dates and times the first that differs in all rows, as minutes do within a day. */
function axisColumn(result: ChartedResult, name: string | undefined): ResultColumn | undefined {
  const { columns } = result;
  if (name !== undefined) return namedColumn(columns, name);
  const times = columns.filter(({ type }) => isTemporal(type));
  const isDistinct = (column: ResultColumn): boolean =>
    new Set(textsOf(result, column)).size === result.rows.length;
  const time = times.length > 1 ? (times.find(isDistinct) ?? times[0]) : times[0];
  const first = columns.length > 1 ? columns[0] : undefined;
  return time ?? columns.find(({ type }) => !isNumeric(type)) ?? first;
}

function firstText({ columns, rows }: ChartedResult, name: string): string | undefined {
  const value = rows[0]?.[columns.findIndex((column) => column.name === name)];
  return typeof value === "string" ? value : undefined;
}

function valueColumn(
  columns: readonly ResultColumn[],
  name: string | undefined,
  x: ResultColumn | undefined,
): ResultColumn {
  if (name !== undefined) {
    const column = namedColumn(columns, name);
    if (isNumeric(column.type)) return column;
    throw new UsageError(`column ${name}: is ${column.type}, and no number to draw`);
  }
  const numbers = columns.filter((column) => isNumeric(column.type) && column !== x);
  const chosen = numbers.find((column) => column.name === "close") ?? numbers[0];
  if (chosen !== undefined) return chosen;
  throw new UsageError("the result has no numbers to draw", { hint: "ask for a column of numbers" });
}

function textsOf({ columns, rows }: ChartedResult, column: ResultColumn | undefined): string[] {
  const index = column === undefined ? -1 : columns.indexOf(column);
  return rows.map((row, at) => (index < 0 ? String(at + 1) : (cellText(row[index]) ?? "")));
}

function numbersOf({ columns, rows }: ChartedResult, column: ResultColumn): number[] {
  const index = columns.indexOf(column);
  return rows.map((row) => (row[index] === null ? Number.NaN : Number(row[index])));
}

/**
 * Positions of rows on the axis: numbers by their value; dates and times in their order at equal distances, because
 * markets close; texts in the order of the rows.
 */
function placesOf(result: ChartedResult, column: ResultColumn | undefined): number[] {
  if (column !== undefined && isNumeric(column.type)) return numbersOf(result, column);
  if (column === undefined || !isTemporal(column.type)) return result.rows.map((_, row) => row);
  const texts = textsOf(result, column);
  const order = new Map([...new Set(texts)].toSorted().map((text, place) => [text, place]));
  return texts.map((text) => order.get(text) ?? 0);
}
