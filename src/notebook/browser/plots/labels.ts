import type * as Plot from "@observablehq/plot";
import type { PackedColumn } from "../../page/pack-charts.js";
import { spaced, type Value } from "../drawing.js";

/** A scale with as many of the labels as fit into the width. */
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

/** A column's label on an axis. */
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

/** A ratio as a percentage. */
export function percentText(value: number): string {
  return `${Number((value * 100).toPrecision(6))}%`;
}

const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 4 });

/** A number in short form for an axis: 12K, 3.4M. */
export function compact(value: number): string {
  return COMPACT.format(value);
}
