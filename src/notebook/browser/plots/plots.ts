import * as Plot from "@observablehq/plot";
import { notebookTexts } from "../../notebook-texts.js";
import type { PackedChart, PackedColumn } from "../../page/pack-charts.js";
import { drawers, spaced, type Value, valuesOf } from "../drawing.js";

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

/** Up to this number of series, Plot chooses the colours. */
const FEW = 10;
/** Lightness of adjacent hues, in turn, so that the next colour of the same lightness is three hues away. */
const LIGHTNESS = { light: [0.5, 0.64, 0.76], dark: [0.58, 0.72, 0.86] } as const;
const CHROMA = 0.15;

/** A different colour for each series; undefined for a small number of series. */
export function seriesColours(count: number, isDark: boolean): string[] | undefined {
  if (count <= FEW) return undefined;
  const lightness = LIGHTNESS[isDark ? "dark" : "light"];
  return Array.from(
    { length: count },
    (_, n) => `oklch(${lightness[n % lightness.length]} ${CHROMA} ${Math.round((n * 3600) / count) / 10})`,
  );
}

export function thinned(labels: readonly string[], width: number): Plot.ScaleOptions {
  const longest = Math.max(...labels.map((label) => label.length), 1);
  const most = Math.max(2, Math.floor((width - 80) / (longest * 7 + 14)));
  const step = Math.ceil(labels.length / most);
  return step > 1 ? { ticks: labels.filter((_, index) => index % step === 0) } : {};
}

/** Width of a label in characters. Chinese characters count as two. */
export function widthOf(label: string): number {
  return label.length + (label.match(/[\u2e80-\u9fff\uff00-\uffef]/g)?.length ?? 0);
}

/** A value as text for an axis or a hint; times in UTC. */
export function labelOf(value: Value | undefined): string {
  if (value === null || value === undefined) return "";
  if (!(value instanceof Date)) return String(value);
  const text = value.toISOString();
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}

export function labelFor(column: PackedColumn | undefined): string {
  return column === undefined ? "" : spaced(column.name);
}

/**
 * Whether a label can be understood from its position, as numbers and dates can. Some such labels may then be left out.
 */
export function isOrdered(label: string): boolean {
  return /^[\d.:\s-]+$/.test(label);
}

/** Distinct labels in ascending order. Numbers within them are compared by value. */
export function inOrder(labels: readonly string[]): string[] {
  return [...new Set(labels)].sort((a, b) => ORDER.compare(a, b));
}

const ORDER = new Intl.Collator("en", { numeric: true });

/** A ratio as a percentage with one decimal. */
export function shortPercent(value: number): string {
  return `${(Math.round(value * 1000) / 10 || 0).toFixed(1)}%`;
}

export function percentText(value: number): string {
  return `${Number((value * 100).toPrecision(6))}%`;
}

const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 4 });

/** A number in short form for an axis: 12K, 3.4M. */
export function compact(value: number): string {
  return COMPACT.format(value);
}

/** The axes of two columns. @param isPercent whether the values of y are percentages. */
export function axes(
  packed: PackedChart,
  x: PackedColumn | undefined,
  y: PackedColumn | undefined,
  isPercent = y?.isPercent === true,
): Partial<Plot.PlotOptions> {
  const isTime = x?.kind === "date" || x?.kind === "time";
  // Plot passes all ticks, too, which its types do not have.
  const { tick } = notebookTexts(packed.chart.language);
  return {
    x: {
      label: labelFor(x),
      ...(packed.chart.log.includes("x") ? { type: "log" } : {}),
      ...(x?.isPercent ? { tickFormat: percentText } : {}),
      ...(isTime && tick !== undefined
        ? { tickFormat: tick as NonNullable<Plot.ScaleOptions["tickFormat"]> }
        : {}),
      ...(x?.kind === "text" ? { domain: x.texts as string[] } : {}),
    },
    y: { label: y ? labelFor(y) : null, grid: true, ...valueScale(packed, isPercent) },
  };
}

export function valueScale(packed: PackedChart, isPercent: boolean): Plot.ScaleOptions {
  return {
    ...(packed.chart.log.includes("y") ? { type: "log" } : {}),
    tickFormat: isPercent ? percentText : compact,
  };
}

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

/** The options of one kind of chart, in addition to the common options. */
type Options = Partial<Plot.PlotOptions>;

drawers().plots = (packed, element) => {
  const plot = Plot.plot({
    width: element.clientWidth,
    height: packed.chart.height,
    marginLeft: 56,
    marginBottom: 36,
    style: { background: "transparent", fontFamily: "inherit", fontSize: "12px", overflow: "visible" },
    ...optionsOf(packed, element.clientWidth),
  });
  // For screen readers, the parent element is the picture, with its title as the label.
  plot.setAttribute("aria-hidden", "true");
  element.append(plot);
  return () => plot.remove();
};

function optionsOf(packed: PackedChart, width: number): Options {
  switch (packed.chart.kind) {
    case "line":
      return lineOptions(packed);
    case "bar":
      return barOptions(packed, width);
    case "scatter":
      return scatterOptions(packed);
    case "heatmap":
      return heatmapOptions(packed, width);
    case "histogram":
      return histogramOptions(packed);
    case "candlestick":
      return {};
  }
}

function lineOptions(packed: PackedChart): Options {
  const { x, y = [], color, low, high } = packed.channels;
  const rows = y.flatMap((column) =>
    rowsOf(packed, { y: column }).map((row) => ({ ...row, series: spaced(column.name) })),
  );
  const isMany = y.length > 1 || color !== undefined;
  const stroke = color !== undefined ? "color" : y.length > 1 ? "series" : "var(--accent)";
  const channels = { x: "x", y: "y", ...(isMany ? { stroke } : {}) };
  const format = hintFormat(packed, { x: "x", y: "y" });
  const hints =
    y.length > 1
      ? { channels: { value: "y" }, format: { ...format, y: false, value: format.y } }
      : { format };
  const band =
    low && high
      ? [Plot.areaY(rows, { x: "x", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.15 })]
      : [];
  return {
    ...axes(
      packed,
      x?.[0],
      y.length === 1 ? y[0] : undefined,
      y.some(({ isPercent }) => isPercent),
    ),
    color: { legend: isMany, ...named(color?.[0]), ...categories(rows, stroke) },
    marks: [
      ...rules(packed),
      ...band,
      Plot.lineY(rows, { x: "x", y: "y", stroke, strokeWidth: 1.75 }),
      ...(rows.length <= 60 ? [Plot.dot(rows, { x: "x", y: "y", fill: stroke, r: 2.5 })] : []),
      Plot.ruleX(rows, Plot.pointerX({ x: "x", stroke: "var(--muted)", strokeDasharray: "3,3" })),
      Plot.tip(rows, Plot.pointer({ ...channels, ...hints })),
    ],
  };
}

function barOptions(packed: PackedChart, width: number): Options {
  const { x, y, color } = packed.channels;
  const rows = rowsOf(packed).map((row) => ({ ...row, x: labelOf(row.x) }));
  const labels = [...new Set(rows.map((row) => row.x))];
  const isGrouped = color !== undefined && !packed.chart.isStacked;
  const isLying =
    !isGrouped &&
    x?.[0]?.kind === "text" &&
    labels.length * (Math.max(...labels.map(widthOf)) * 7 + 14) > width &&
    !labels.every(isOrdered);
  const fill = color ? "color" : (row: Row) => (Number(row.y) < 0 ? "var(--negative)" : "var(--accent)");
  const value = { label: labelFor(y?.[0]), grid: true, ...valueScale(packed, y?.[0]?.isPercent === true) };
  const names = { label: labelFor(x?.[0]), domain: labels, ...(isLying ? {} : thinned(labels, width)) };
  const legend = {
    legend: color !== undefined,
    ...named(color?.[0]),
    ...(color ? categories(rows, "color") : { type: "identity" as const }),
  };
  const format = hintFormat(
    packed,
    isLying ? { x: "y", y: "x", fill: "color" } : { x: "x", y: "y", fill: "color" },
  );
  const bar = { fill, inset: labels.length > 200 ? 0 : 0.5, tip: { format } };
  const zero = { stroke: "var(--muted)" };
  if (isLying) {
    return {
      height: Math.max(packed.chart.height, labels.length * 22 + 60),
      marginLeft: Math.min(240, width * 0.6, 24 + Math.max(...labels.map(widthOf)) * 7),
      x: value,
      y: names,
      color: legend,
      marks: [
        Plot.axisY({ label: null }),
        Plot.barX(rows, { ...bar, x: "y", y: "x" }),
        Plot.ruleX([0], zero),
      ],
    };
  }
  return {
    ...(isGrouped
      ? { fx: { ...names, padding: 0.15 }, x: { axis: null, domain: categories(rows, "color").domain ?? [] } }
      : { x: { type: "band", ...names } }),
    y: value,
    color: legend,
    marks: [
      ...rules(packed),
      Plot.barY(rows, isGrouped ? { ...bar, fx: "x", x: "color", y: "y" } : { ...bar, x: "x", y: "y" }),
      Plot.ruleY([0], zero),
    ],
  };
}

function scatterOptions(packed: PackedChart): Options {
  const { x, y, color, size, label } = packed.channels;
  const rows = rowsOf(packed);
  const fill = color ? "color" : "var(--accent)";
  const isContinuous = color?.[0]?.kind === "number";
  return {
    ...axes(packed, x?.[0], y?.[0]),
    grid: true,
    r: { range: [1.5, 14] },
    color: isContinuous
      ? { legend: true, scheme: "viridis", label: labelFor(color?.[0]) }
      : { legend: color !== undefined, ...named(color?.[0]), ...categories(rows, fill) },
    marks: [
      ...rules(packed),
      Plot.dot(rows, {
        x: "x",
        y: "y",
        fill,
        fillOpacity: 0.6,
        ...(size ? { r: "size" } : { r: rows.length > 2000 ? 1.8 : 3 }),
        ...(label ? { channels: { [labelFor(label[0])]: "label" } } : {}),
        tip: { format: hintFormat(packed) },
      }),
    ],
  };
}

function heatmapOptions(packed: PackedChart, width: number): Options {
  const { x, color } = packed.channels;
  const rows = rowsOf(packed).map((row) => ({
    ...row,
    x: labelOf(row.x),
    y: labelOf(row.y),
    color: row.color ?? null,
  }));
  const columns = inOrder(rows.map((row) => row.x));
  const lines = inOrder(rows.map((row) => row.y));
  const values = rows.map((row) => row.color).filter((value) => typeof value === "number");
  const isSigned = values.some((value) => value < 0) && values.some((value) => value > 0);
  const longest = Math.max(...lines.map(widthOf), 1);
  const percent = color?.[0]?.isPercent === true;
  const isRoomy = width / columns.length > 44 && lines.length <= 40;
  const format = percent ? shortPercent : compact;
  const most = Math.max(...values.map(Math.abs));
  const least = isSigned ? 0 : Math.min(...values);
  const isDark = (value: number): boolean => (Math.abs(value) - least) / (most - least || 1) > 0.6;
  const cellText = (onDark: boolean): Plot.Markish =>
    Plot.text(rows, {
      filter: (row: Row) => typeof row.color === "number" && isDark(row.color) === onDark,
      x: "x",
      y: "y",
      text: (row: Row) => (typeof row.color === "number" ? format(row.color) : ""),
      fill: onDark ? "#fff" : "#1c2330",
      fontSize: 11,
      pointerEvents: "none",
    });
  return {
    height: Math.max(packed.chart.height, lines.length * 22 + 60),
    marginLeft: Math.min(220, 20 + longest * 8),
    padding: 0.04,
    x: { type: "band", label: labelFor(x?.[0]), domain: columns, ...thinned(columns, width) },
    y: { type: "band", label: null, domain: lines },
    color: {
      type: isSigned ? "diverging" : "linear",
      scheme: isSigned ? "RdBu" : "YlGnBu",
      legend: true,
      label: labelFor(color?.[0]),
      ...(isSigned ? { pivot: 0, symmetric: true } : {}),
      ...(percent ? { tickFormat: percentText } : {}),
    },
    marks: [
      Plot.cell(rows, {
        x: "x",
        y: { value: "y", label: labelFor(packed.channels.y?.[0]) },
        fill: "color",
        inset: 0.5,
        tip: { format: hintFormat(packed) },
      }),
      ...(isRoomy ? [cellText(false), cellText(true)] : []),
    ],
  };
}

function histogramOptions(packed: PackedChart): Options {
  const { x, color } = packed.channels;
  const rows = rowsOf(packed);
  const fill = color ? "color" : "var(--accent)";
  return {
    ...axes(packed, x?.[0], undefined),
    y: { label: notebookTexts(packed.chart.language).count, grid: true },
    color: { legend: color !== undefined, ...named(color?.[0]), ...categories(rows, fill) },
    marks: [
      Plot.rectY(
        rows,
        Plot.binX<Plot.RectYOptions>(
          { y: "count" },
          {
            x: "x",
            fill,
            thresholds: packed.chart.bins,
            inset: 0.5,
            tip: { format: hintFormat(packed, { x: "x", fill: "color" }) },
          },
        ),
      ),
      Plot.ruleY([0], { stroke: "var(--muted)" }),
    ],
  };
}
