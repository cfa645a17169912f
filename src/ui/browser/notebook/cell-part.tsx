import { useLayoutEffect, useRef } from "preact/hooks";
import { drawOnChange } from "../../../notebook/browser/draw-on-change.js";
import { drawers } from "../../../notebook/browser/drawing.js";
import type { PackedChart } from "../../../notebook/page/pack-charts.js";
import type { CellLine } from "../../page-data.js";
import { notebookText } from "./notebook-texts.js";
import { resultControls } from "./results/result-controls.js";

/** A cell in the same form as in the exported page, with the same text and drawing. */
export function CellPart({ cell }: { readonly cell: CellLine }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    // The server has escaped every value, and the page's policy permits no script in it.
    current.innerHTML = cell.html;
    const end = resultControls(current, cell.results, notebookText("resultAs"));
    const chart = cell.chart as PackedChart | undefined;
    const figure = current.querySelector<HTMLElement>("figure[data-chart]");
    if (chart === undefined || figure === null) return end;
    let stop = (): void => {};
    let isGone = false;
    const draw = async (): Promise<void> => {
      await loadDrawing(chart);
      if (!isGone) stop = drawOnChange(chart, figure);
    };
    void draw();
    return () => {
      isGone = true;
      stop();
      end();
    };
  }, [cell]);
  return <div ref={element} />;
}

/** Loads the script that draws this kind of chart. */
async function loadDrawing({ chart: { kind } }: PackedChart): Promise<void> {
  if (kind === "candlestick") {
    if (drawers().candles === undefined) await import("../../../notebook/browser/candles/candles.js");
  } else if (drawers().plots === undefined) await import("../../../notebook/browser/plots/plots.js");
}
