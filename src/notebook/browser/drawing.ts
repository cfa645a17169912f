import type { PackedChart, PackedColumn } from "../page/pack-charts.js";

/** Draws a chart into an element, with the element's width. @returns a function that removes the drawing. */
type Draw = (chart: PackedChart, element: HTMLElement) => () => void;

interface Drawers {
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

export function element(parent: HTMLElement, tag: string, name: string, text = ""): HTMLElement {
  const made = parent.appendChild(document.createElement(tag));
  made.className = name;
  made.textContent = text;
  return made;
}

/**
 * Draws a chart, and draws it again whenever its width or the page's colours change.
 *
 * @returns a function that stops this, and removes the drawing.
 */
export function drawOnChange(chart: PackedChart, parent: HTMLElement): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const { candles, plots } = drawers();
  const draw = chart.chart.kind === "candlestick" ? candles : plots;
  let remove = draw?.(chart, parent);
  let width = parent.clientWidth;
  const again = (): void => {
    remove?.();
    remove = draw?.(chart, parent);
    width = parent.clientWidth;
  };
  dark.addEventListener("change", again);
  const size = new ResizeObserver(() => {
    if (parent.clientWidth !== width) again();
  });
  size.observe(parent);
  return () => {
    dark.removeEventListener("change", again);
    size.disconnect();
    remove?.();
  };
}
