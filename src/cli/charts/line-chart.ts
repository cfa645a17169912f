import { paint } from "../text.js";

/** A point of a line. */
interface ChartPoint {
  /** Its label on the axis. */
  readonly label: string;
  /** Its position on the axis, ascending. */
  readonly x: number;
  readonly y: number;
}

/** Size of a chart in a terminal's cells. */
export interface ChartSize {
  readonly width: number;
  readonly height: number;
}

/** Dots of a cell, 2 across and 4 down, and their bits in a Braille character. */
const [ACROSS, DOWN] = [2, 4];
const BITS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;
const BLANK_BRAILLE = 0x2800;
/** Lines from one label of the vertical axis to the next. */
const LABEL_EVERY = 4;

/** A line through points, in Braille dots, with values on the left and the first and the last label below. */
export function lineChart(points: readonly ChartPoint[], { width, height }: ChartSize): string {
  const values = points.map(({ y }) => y);
  const [low, high] = [least(values), most(values)];
  const labels = axisLabels(low, high, height);
  const margin = Math.max(...labels.map((label) => label.length));
  const cells = Math.max(2, width - margin - 1);
  const grid = Array.from({ length: height }, () => new Uint8Array(cells));
  drawLine(points, { low, high }, grid);
  const lines = grid.map((row, line) => {
    const text = Array.from(row, (bits) =>
      bits === 0 ? " " : String.fromCharCode(BLANK_BRAILLE + bits),
    ).join("");
    return `${paint("dim", (labels[line] ?? "").padStart(margin))} ${paint("cyan", text.trimEnd())}`;
  });
  const [first, last] = [points[0]?.label ?? "", points.at(-1)?.label ?? ""];
  const gap = Math.max(1, cells - first.length - last.length);
  return [...lines, `${" ".repeat(margin)} ${paint("dim", `${first}${" ".repeat(gap)}${last}`)}`].join("\n");
}

function drawLine(
  points: readonly ChartPoint[],
  { low, high }: { readonly low: number; readonly high: number },
  grid: readonly Uint8Array[],
): void {
  const [columns, rows] = [(grid[0]?.length ?? 0) * ACROSS, grid.length * DOWN];
  const [start, end] = [points[0]?.x ?? 0, points.at(-1)?.x ?? 0];
  const columnOf = (x: number): number => Math.round(((x - start) / (end - start || 1)) * (columns - 1));
  const rowOf = (y: number): number => Math.round(((high - y) / (high - low || 1)) * (rows - 1));
  const dot = (column: number, row: number): void => {
    const cells = grid[Math.floor(row / DOWN)];
    const cell = Math.floor(column / ACROSS);
    if (cells !== undefined) cells[cell] = (cells[cell] ?? 0) | (BITS[row % DOWN]?.[column % ACROSS] ?? 0);
  };
  let before: { column: number; row: number } | undefined;
  for (const { x, y } of points) {
    const to = { column: columnOf(x), row: rowOf(y) };
    const from = before ?? to;
    const steps = Math.max(Math.abs(to.column - from.column), Math.abs(to.row - from.row), 1);
    for (let step = 0; step <= steps; step++) {
      const part = step / steps;
      dot(
        Math.round(from.column + (to.column - from.column) * part),
        Math.round(from.row + (to.row - from.row) * part),
      );
    }
    before = to;
  }
}

/** The value of the middle of each line that has a label, "" for the others. */
function axisLabels(low: number, high: number, height: number): string[] {
  const digits = decimalsFor(high - low || Math.abs(high));
  if (low === high) return [chartNumber(low, digits), ...Array<string>(height - 1).fill("")];
  return Array.from({ length: height }, (_, line) => {
    if (line % LABEL_EVERY !== 0 && line !== height - 1) return "";
    if (line !== height - 1 && height - 1 - line < LABEL_EVERY / 2) return "";
    return chartNumber(high - ((high - low) * line) / Math.max(1, height - 1), digits);
  });
}

/** Number of decimals that distinguishes numbers within a span. */
export function decimalsFor(span: number): number {
  return span === 0 ? 2 : Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(span)))));
}

/** A number for a chart, shortened if it is large: 12.5, 1.3M. */
export function chartNumber(value: number, digits = decimalsFor(value)): string {
  const size = Math.abs(value);
  const [unit, divisor] =
    size >= 1e12 ? ["T", 1e12] : size >= 1e9 ? ["G", 1e9] : size >= 1e6 ? ["M", 1e6] : ["", 1];
  return `${(value / divisor).toFixed(unit === "" ? digits : 2)}${unit}`;
}

/** Minimum of many numbers: more than a call can take as parameters. */
function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

/** Maximum of many numbers. */
export function most(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}
