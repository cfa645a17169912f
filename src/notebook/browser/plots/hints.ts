import type { PackedChart } from "../../page/pack-charts.js";
import type { Value } from "../drawing.js";
import { labelOf } from "./labels.js";

/** For each channel of a mark, the channel of the chart. */
type Drawn = Readonly<Record<string, string>>;

const USUAL: Drawn = { x: "x", y: "y", fill: "color", r: "size" };

/** The format of a mark's hints: dates as dates, ratios as percentages, and only values that come from columns. */
export function hintFormat(
  { channels }: PackedChart,
  drawn: Drawn = USUAL,
): Record<string, false | ((value: Value) => string)> {
  const formats = Object.entries(drawn).map(([mark, channel]) => {
    const columns = channels[channel];
    if (columns === undefined) return [mark, false] as const;
    const isPercent = columns.some((column) => column.isPercent);
    return [mark, (value: Value) => hintText(value, isPercent)] as const;
  });
  return Object.fromEntries(formats);
}

function hintText(value: Value, isPercent: boolean): string {
  if (typeof value !== "number") return labelOf(value);
  return isPercent
    ? `${(value * 100).toFixed(2)}%`
    : value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
}
