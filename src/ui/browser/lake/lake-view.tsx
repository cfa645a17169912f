import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CoverageReport, MarketReport, RunReport } from "../../page-data.js";
import { FaultBox, Missing } from "../fault-box.js";
import { useJson, type Waiting } from "../fetch-data.js";
import { useShownState, useStateAddress } from "../lake-state.js";
import { type TextName, text } from "../texts.js";
import { CoverageMap } from "./coverage-map.js";
import { MarketCards } from "./market-cards.js";
import { RunList } from "./run-list.js";
import { TableList } from "./table-list.js";

/** The first view: the state of the markets, coverage, the last runs, the findings of the audits, and the tables. */
export function LakeView() {
  const { report } = useShownState();
  const market = useJson<{ markets: MarketReport[] }>(useStateAddress("market"));
  const coverage = useJson<CoverageReport>(useStateAddress("coverage"));
  const runs = useJson<{ runs: RunReport[] }>(useStateAddress("runs"));
  const isRefused = report?.refused.some(({ name }) => name === "bars_1d") === true;
  document.title = `${text("lake")} · barlake`;
  return (
    <>
      <h1 class="hidden">{text("lake")}</h1>
      <Section name="market" waiting={market} height={150}>
        {({ markets }) =>
          isRefused ? (
            <p class="empty">bars_1d {text("refused")}</p>
          ) : markets.length === 0 ? (
            <Missing why={text("noBars")} next={text("noBarsHint")} />
          ) : (
            <MarketCards markets={markets} />
          )
        }
      </Section>
      <Section name="coverage" waiting={coverage} height={220}>
        {(found) => <CoverageMap coverage={found} />}
      </Section>
      <Section name="runs" waiting={runs} height={120}>
        {(found) =>
          found.runs.length === 0 ? (
            <Missing why={text("noRuns")} next={text("noRunsHint")} />
          ) : (
            <RunList runs={found.runs} />
          )
        }
      </Section>
      <section aria-labelledby="findings">
        <h2 id="findings">{text("quality")}</h2>
        <Findings isTurn={![market, coverage, runs].some(({ isLoading }) => isLoading)} />
      </section>
      <section aria-labelledby="tables">
        <h2 id="tables">{text("tables")}</h2>
        {report === undefined ? <div class="hollow" style="height:300px" /> : <TableList report={report} />}
      </section>
    </>
  );
}

/**
 * The findings of the audits. They are counted, and their script is loaded, after the rest of the view, which would
 * wait for them otherwise. @param isTurn whether the rest of the view has arrived
 */
function Findings({ isTurn }: { readonly isTurn: boolean }) {
  const [View, setView] = useState<ComponentType>();
  useEffect(() => {
    if (!isTurn) return;
    void import("../quality/finding-summary.js").then(({ FindingSummary }) => setView(() => FindingSummary));
  }, [isTurn]);
  return View === undefined ? <div class="hollow" style="height:80px" /> : <View />;
}

/**
 * A part of the view. It has its final size, without content, until its data arrives, so that nothing moves then. The
 * data of another version is pale until that of the shown one arrives.
 */
function Section<T>({
  name,
  waiting: { value, fault, isLoading },
  height,
  children,
}: {
  readonly name: TextName;
  readonly waiting: Waiting<T>;
  readonly height: number;
  readonly children: (value: T) => preact.JSX.Element;
}) {
  const hollow = <div class="hollow" style={`height:${height}px`} aria-busy="true" />;
  return (
    <section aria-labelledby={name} class={value !== undefined && isLoading ? "stale" : ""}>
      <h2 id={name}>{text(name)}</h2>
      {fault !== undefined && <FaultBox fault={fault} />}
      {value === undefined ? fault === undefined && hollow : children(value)}
    </section>
  );
}
