import type { RisingColour } from "../../market/regions.js";
import { paint } from "../text.js";

export interface Candle {
  readonly label: string;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** @default 0; a chart without any volumes has no line for them */
  readonly volume?: number;
}

type Ink = 0 | 1 | 2;
const [NONE, WICK, BODY] = [0, 1, 2] as const;
/** Characters by the content of the upper and the lower half of a cell. */
const CELLS: readonly (readonly string[])[] = [
  [" ", "╷", "╻"],
  ["╵", "│", "╽"],
  ["╹", "╿", "┃"],
];
const BARS = " ▁▂▃▄▅▆▇█";

/** Size of a chart in a terminal's cells, and the colour of candles whose close is not below their open. */
interface CandleOptions {
  readonly width: number;
  readonly height: number;
  readonly rising: RisingColour;
}

/**
 * A candlestick chart with volumes, for a terminal: two price steps per line, and one column per bar. Bars that do not
 * fit the width are put together with their neighbours, equally many each.
 */
export function candleChart(bars: readonly Candle[], { width, height, rising }: CandleOptions): string {
  const falling = rising === "green" ? "red" : "green";
  const low = bars.reduce((least, bar) => Math.min(least, bar.low), Number.POSITIVE_INFINITY);
  const high = bars.reduce((most, bar) => Math.max(most, bar.high), Number.NEGATIVE_INFINITY);
  const step = (high - low || 1) / (height * 2 - 1);
  const level = (price: number): number => Math.round((price - low) / step);
  const digits = high < 10 ? 3 : 2;
  const margin = high.toFixed(digits).length;
  const candles = merged(bars, Math.max(8, width - margin - 1));
  const lines: string[] = [];
  for (let line = height - 1; line >= 0; line--) {
    const cells = candles.map((candle) => {
      const [upper, lower] = [inkAt(candle, line * 2 + 1, level), inkAt(candle, line * 2, level)];
      const cell = CELLS[upper]?.[lower] ?? " ";
      return cell === " " ? cell : paint(candle.close >= candle.open ? rising : falling, cell);
    });
    const label = line % 3 === 1 ? (low + step * (line * 2 + 0.5)).toFixed(digits) : "";
    lines.push(`${paint("dim", label.padStart(margin))} ${cells.join("").trimEnd()}`);
  }
  const volumes = candles.map(({ volume = 0 }) => volume);
  const most = Math.max(...volumes);
  const blocks = volumes.map((volume) => BARS[Math.ceil((volume / most) * (BARS.length - 1))]);
  if (most > 0) lines.push(`${paint("dim", "vol".padStart(margin))} ${paint("cyan", blocks.join(""))}`);
  lines.push(`${" ".repeat(margin)} ${paint("dim", dateAxis(candles))}`);
  return lines.join("\n");
}

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

function inkAt({ open, high, low, close }: Candle, at: number, level: (price: number) => number): Ink {
  if (at >= level(Math.min(open, close)) && at <= level(Math.max(open, close))) return BODY;
  return at >= level(low) && at <= level(high) ? WICK : NONE;
}

function dateAxis(candles: readonly Candle[]): string {
  const first = candles[0]?.label ?? "";
  const last = candles.at(-1)?.label ?? "";
  return `${first}${" ".repeat(Math.max(1, candles.length - first.length - last.length))}${last}`;
}
