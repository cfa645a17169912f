import * as Plot from "@observablehq/plot";
import type { PackedChart, PackedColumn } from "../../page/pack-charts.js";
import type { Row } from "./chart-rows.js";
import { compact, labelFor, percentText } from "./labels.js";
import { seriesColours } from "./series-colours.js";

/** The axes of two columns. @param isPercent whether the values of y are percentages. */
export function axes(
  packed: PackedChart,
  x: PackedColumn | undefined,
  y: PackedColumn | undefined,
  isPercent = y?.isPercent === true,
): Partial<Plot.PlotOptions> {
  return {
    x: {
      label: labelFor(x),
      ...(packed.chart.log.includes("x") ? { type: "log" } : {}),
      ...(x?.isPercent ? { tickFormat: percentText } : {}),
      ...(x?.kind === "text" ? { domain: x.texts as string[] } : {}),
    },
    y: { label: y ? labelFor(y) : null, grid: true, ...valueScale(packed, isPercent) },
  };
}

/** The scale of a chart's values. */
export function valueScale(packed: PackedChart, isPercent: boolean): Plot.ScaleOptions {
  return {
    ...(packed.chart.log.includes("y") ? { type: "log" } : {}),
    tickFormat: isPercent ? percentText : compact,
  };
}

/** Horizontal lines across a chart. */
export function rules({ chart }: PackedChart): Plot.Markish[] {
  return chart.rule.length > 0 ? [Plot.ruleY(chart.rule, { stroke: "var(--muted)" })] : [];
}

/** The label of the colour scale, for hints. */
export function named(color: PackedColumn | undefined): Plot.ScaleOptions {
  return color === undefined ? {} : { label: labelFor(color) };
}

/** A scale whose series have the order of the rows. */
export function categories(rows: readonly Row[], channel: string): Plot.ScaleOptions {
  if (channel.startsWith("var(")) return {};
  const domain = [...new Set(rows.map((row) => row[channel]))].filter((value) => value !== null) as string[];
  const range = seriesColours(domain.length, matchMedia("(prefers-color-scheme: dark)").matches);
  return { domain, type: "ordinal", ...(range === undefined ? { scheme: "observable10" } : { range }) };
}
