import type { PackedChart, PackedColumn } from "../pack-charts.js";

/** Draws a chart into an element, at its width. @returns what takes the drawing away again. */
export type Draw = (chart: PackedChart, element: HTMLElement) => () => void;

/** Where scripts that draw charts leave their functions for the page. */
export interface Drawers {
  plots?: Draw;
  candles?: Draw;
}

declare global {
  var barlakeDrawers: Drawers | undefined;
}

/** What other scripts of the page left. */
export function drawers(): Drawers {
  globalThis.barlakeDrawers ??= {};
  return globalThis.barlakeDrawers;
}

export type Value = number | string | Date | null;

/** A column's values as they are drawn. */
export function valuesOf({ kind, values, texts }: PackedColumn): Value[] {
  return values.map((value) => {
    if (value === null) return null;
    if (texts !== undefined) return texts[value] ?? null;
    if (kind === "date") return new Date(value * 86_400_000);
    return kind === "time" ? new Date(value) : value;
  });
}

/** A name for readers. */
export function spaced(name: string): string {
  return name.replaceAll("_", " ");
}
