import { UsageError } from "../../core/errors.js";
import { compareText } from "../../core/text-order.js";
import type { PlainValue, ResultColumn } from "../../db/result/row-reader.js";
import type { RisingColour } from "../../market/regions.js";
import { risingColour } from "../../market/symbol.js";
import type { ChartColumn } from "../../notebook/chart-data.js";
import { cellText, isNumeric, isTemporal } from "../results/result-table.js";
import { paint } from "../text.js";
import { chartText } from "./chart-text.js";

export const CHART_KINDS = ["line", "bar", "candlestick"] as const;
type ChartKind = (typeof CHART_KINDS)[number];

/** The chart to draw; missing settings are chosen from the columns. */
export interface ChartWish {
  readonly kind?: ChartKind | undefined;
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
 * or a number; otherwise bars.
 *
 * @throws {UsageError} for a column that does not exist, or has no numbers.
 */
export function chartOfResult(result: ChartedResult, wish: ChartWish, width: number): string {
  const hasPrices = PRICES.every((name) => result.columns.some((column) => column.name === name));
  const isCandlestick = wish.kind === "candlestick" || (wish.kind === undefined && hasPrices && !wish.y);
  const x = axisColumn(result, wish.x);
  const ordered = inOrder(result, x);
  const axis = axisOf(ordered, x);
  const drawn = result.rows.length;
  const rising = wish.rising ?? risingColour((name) => firstText(result, name));
  const chart = { log: [], rule: [], bins: 0, rising };
  if (isCandlestick) {
    const prices = PRICES.map((name) => [name, [numbersOf(ordered, namedColumn(result.columns, name))]]);
    const volume = result.columns.find(({ name }) => name === "volume");
    const channels = {
      x: [axis],
      ...Object.fromEntries(prices),
      ...(volume && { volume: [numbersOf(ordered, volume)] }),
    };
    return chartText({ chart: { ...chart, kind: "candlestick" }, channels, drawn }, width);
  }
  const y = valueColumn(result.columns, wish.y, x);
  const isMeasured = x === undefined || isTemporal(x.type) || isNumeric(x.type);
  const kind = wish.kind ?? (isMeasured ? "line" : "bar");
  const title = paint("dim", x === undefined ? y.name : `${y.name} by ${x.name}`);
  const channels = { x: [axis], y: [numbersOf(ordered, y)] };
  return `${title}\n${chartText({ chart: { ...chart, kind }, channels, drawn }, width)}`;
}

/** The result by its axis, if that has dates or times; other rows stay in their order. */
function inOrder(result: ChartedResult, x: ResultColumn | undefined): ChartedResult {
  if (x === undefined || !isTemporal(x.type)) return result;
  const index = result.columns.indexOf(x);
  return { ...result, rows: result.rows.toSorted((a, b) => compareText(String(a[index]), String(b[index]))) };
}

/** The axis as numbers or texts; the numbers of the rows, from 1, if there is no column for it. */
function axisOf(result: ChartedResult, x: ResultColumn | undefined): ChartColumn {
  if (x !== undefined && isNumeric(x.type)) return numbersOf(result, x);
  const values = x === undefined ? result.rows.map((_, row) => row + 1) : textsOf(result, x);
  return { name: x?.name ?? "", kind: x === undefined ? "number" : "text", isPercent: false, values };
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

function textsOf({ columns, rows }: ChartedResult, column: ResultColumn): string[] {
  const index = columns.indexOf(column);
  return rows.map((row) => cellText(row[index]) ?? "");
}

/** Values that are no finite numbers become null. */
function numbersOf({ columns, rows }: ChartedResult, column: ResultColumn): ChartColumn {
  const index = columns.indexOf(column);
  const values = rows.map((row) => {
    const number = row[index] === null ? Number.NaN : Number(row[index]);
    return Number.isFinite(number) ? number : null;
  });
  return { name: column.name, kind: "number", isPercent: false, values };
}
