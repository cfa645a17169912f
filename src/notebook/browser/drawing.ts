import type { PackedChart, PackedColumn } from "../page/pack-charts.js";

/** Draws a chart into an element, with the element's width. @returns a function that removes the drawing. */
export type Draw = (chart: PackedChart, element: HTMLElement) => () => void;

/** The drawing functions that the chart scripts register for the page. */
export interface Drawers {
  plots?: Draw;
  candles?: Draw;
}

declare global {
  var barlakeDrawers: Drawers | undefined;
}

/** The drawing functions that other scripts of the page have registered. */
export function drawers(): Drawers {
  globalThis.barlakeDrawers ??= {};
  return globalThis.barlakeDrawers;
}

export type Value = number | string | Date | null;

/** The values of a column in the form that drawings need. */
export function valuesOf({ kind, values, texts }: PackedColumn): Value[] {
  return values.map((value) => {
    if (value === null) return null;
    if (texts !== undefined) return texts[value] ?? null;
    if (kind === "date") return new Date(value * 86_400_000);
    return kind === "time" ? new Date(value) : value;
  });
}

/** A name with blanks instead of underscores. */
export function spaced(name: string): string {
  return name.replaceAll("_", " ");
}

/** Appends an element with a class and a text to a parent. */
export function element(parent: HTMLElement, tag: string, name: string, text = ""): HTMLElement {
  const made = parent.appendChild(document.createElement(tag));
  made.className = name;
  made.textContent = text;
  return made;
}
