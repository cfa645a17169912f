import type { PackedChart } from "../page/pack-charts.js";
import { drawOnChange } from "./drawing.js";

const source = document.getElementById("charts")?.textContent ?? "[]";
const charts = JSON.parse(source) as PackedChart[];

for (const element of document.querySelectorAll<HTMLElement>("figure[data-chart]")) {
  const chart = charts[Number(element.dataset.chart)];
  if (chart !== undefined) drawOnChange(chart, element);
}
