import type { PackedChart } from "../page/pack-charts.js";
import { drawers } from "./drawing.js";

/**
 * Draws a chart, and draws it again whenever its width or the page's colours change.
 *
 * @returns a function that stops this, and removes the drawing.
 */
export function drawOnChange(chart: PackedChart, element: HTMLElement): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const { candles, plots } = drawers();
  const draw = chart.chart.kind === "candlestick" ? candles : plots;
  let remove = draw?.(chart, element);
  let width = element.clientWidth;
  const again = (): void => {
    remove?.();
    remove = draw?.(chart, element);
    width = element.clientWidth;
  };
  dark.addEventListener("change", again);
  const size = new ResizeObserver(() => {
    if (element.clientWidth !== width) again();
  });
  size.observe(element);
  return () => {
    dark.removeEventListener("change", again);
    size.disconnect();
    remove?.();
  };
}
