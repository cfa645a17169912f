import type { PackedChart } from "../pack-charts.js";
import { drawers } from "./drawing.js";

const source = document.getElementById("charts")?.textContent ?? "[]";
const charts = JSON.parse(source) as PackedChart[];
const dark = matchMedia("(prefers-color-scheme: dark)");

for (const element of document.querySelectorAll<HTMLElement>("figure[data-chart]")) {
  const chart = charts[Number(element.dataset.chart)];
  if (chart !== undefined) keepDrawn(chart, element);
}

/** Draws a chart, and draws it again whenever its width or the page's colours change. */
function keepDrawn(chart: PackedChart, element: HTMLElement): void {
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
  new ResizeObserver(() => {
    if (element.clientWidth !== width) again();
  }).observe(element);
}
