import { useEffect, useRef, useState } from "preact/hooks";
import { isRegion } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import type { EvidenceReport, FindingReport } from "../../quality/quality-data.js";
import { FaultBox } from "../fault-box.js";
import { type Fault, faultOf } from "../fetch-data.js";
import { type Bars, loadBars } from "../instrument/bars-source.js";
import { PriceChart } from "../instrument/price-chart.js";
import { useIsDark } from "../is-dark.js";
import { useShownState } from "../lake-state.js";
import { risingColour } from "../rising.js";
import { text } from "../texts.js";
import { chartWindow } from "./chart-window.js";
import { qualityText } from "./quality-texts.js";

/** The chart of the instrument around a finding. The bars in question are marked. */
export function FindingChart({
  subject,
  finding,
  evidence: { rows, columns },
}: {
  readonly subject: string;
  readonly finding: FindingReport;
  readonly evidence: EvidenceReport;
}) {
  const state = useShownState().report?.state;
  const [bars, setBars] = useState<Bars>();
  const [fault, setFault] = useState<Fault>();
  const element = useRef<HTMLDivElement>(null);
  const isDark = useIsDark();
  // If the finding is about all symbols of a region's day, the first symbol is drawn.
  const symbol = isRegion(subject)
    ? String(rows[0]?.values[columns.findIndex(({ name }) => name === "symbol")] ?? "")
    : subject;
  const { period, to } = chartWindow(finding);
  useEffect(() => {
    if (state === undefined || symbol === "") return;
    const stop = new AbortController();
    loadBars({ state, symbol, period, adjust: "none", to }, stop.signal).then(setBars, (error: unknown) => {
      if (!stop.signal.aborted) setFault(faultOf(error));
    });
    return () => stop.abort();
  }, [state, symbol, period, to]);
  useEffect(() => {
    if (bars === undefined || bars.time.length === 0) return;
    const chart = new PriceChart(
      element.current as HTMLElement,
      () => {},
      () => {},
    );
    const marks = rows
      .filter((row) => row.isInQuestion)
      .map(({ time }) => ({ time, kind: "question" as const }));
    chart.draw({
      bars,
      hasTimes: period !== "1d",
      rising: risingColour(regionOf(symbol) ?? null),
      averages: [],
      isLog: false,
      marks,
      compared: [],
      around: { first: marks[0]?.time ?? 0, last: marks.at(-1)?.time ?? 0 },
    });
    return () => chart.remove();
  }, [bars, isDark, rows]);
  return (
    <>
      {fault !== undefined && <FaultBox fault={fault} />}
      <div class="stage" data-shown={bars === undefined ? "" : `${symbol} ${period} none`}>
        <div
          class="drawing"
          ref={element}
          role="img"
          aria-label={`${symbol}, ${period}, ${finding.first} – ${finding.last}`}
        />
        {bars === undefined && fault === undefined && <span class="busy quiet">{text("loading")} …</span>}
      </div>
      <p class="truth">
        {symbol} · {period} · {qualityText("asLanded")}
      </p>
    </>
  );
}
