import stringWidth from "string-width";
import { cut } from "../results/result-table.js";
import { paint } from "../text.js";
import { chartNumber, decimalsFor } from "./line-chart.js";

/** A bar of a chart. */
interface ChartBar {
  readonly label: string;
  readonly value: number;
}

/** Widths of a cell in eighths. */
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const LONGEST_LABEL = 24;

/** Horizontal bars, one per line, each with its label and its value; negative ones in red. */
export function barChart(bars: readonly ChartBar[], width: number): string {
  const labels = bars.map(({ label }) => cut(label, LONGEST_LABEL));
  const largest = Math.max(...bars.map(({ value }) => Math.abs(value)));
  const digits = bars.every(({ value }) => Number.isInteger(value)) ? 0 : decimalsFor(largest);
  const values = bars.map(({ value }) => chartNumber(value, digits));
  const margin = Math.max(...labels.map((label) => stringWidth(label)));
  const figures = Math.max(...values.map((value) => value.length));
  const available = Math.max(4, width - margin - figures - 3);
  const lines = bars.map(({ value }, index) => {
    const eighths = largest === 0 ? 0 : Math.round((Math.abs(value) / largest) * available * 8);
    const bar = "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
    const label = labels[index] ?? "";
    const blanks = " ".repeat(margin - stringWidth(label));
    const figure = (values[index] ?? "").padStart(figures);
    return `${label}${blanks} ${figure} ${paint(value < 0 ? "red" : "cyan", bar)}`;
  });
  return lines.join("\n");
}
