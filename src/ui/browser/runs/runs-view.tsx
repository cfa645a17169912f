import { useEffect, useState } from "preact/hooks";
import type { PipelinesReport } from "../../runs/runs-data.js";
import { useAddress } from "../address/address.js";
import { textOfPart } from "../address/path-part.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { useShownState, useStateAddress } from "../lake-state.js";
import { LiveList } from "./live-list.js";
import { PipelineList } from "./pipeline-list.js";
import { PlanDialog } from "./plan-dialog.js";
import { RunDetails } from "./run-details.js";
import { RunHistory } from "./run-history.js";
import { runsText } from "./runs-texts.js";
import { useLive } from "./use-live.js";

/** The pipelines, the runs in progress and the past runs; or one run. */
export function RunsView() {
  const { path } = useAddress();
  const id = textOfPart(path.split("/")[2] ?? "");
  document.title = `${runsText("runs")} ${id} · barlake`;
  return id === "" ? <Runs /> : <RunDetails key={id} id={id} />;
}

function Runs() {
  const pipelines = useJson<PipelinesReport>(useStateAddress("pipelines"));
  const { live, fault, refresh } = useLive();
  const { renew, report } = useShownState();
  const [chosen, setChosen] = useState<string>();
  const going = (live?.started ?? []).filter(({ ended }) => ended === null).map((run) => run.pipeline);
  const ended = (live?.started ?? []).flatMap((run) => (run.ended === null ? [] : [run.ended.finishedAt]));
  const lastEnd = Math.max(0, ...ended);
  const [seenEnd, setSeenEnd] = useState<number>();
  // When a run that was started here ends, the list of past runs is updated at once.
  useEffect(() => {
    if (live === undefined) return;
    if (seenEnd !== undefined && lastEnd > seenEnd && report?.asOf === null) renew();
    setSeenEnd(lastEnd);
  }, [live === undefined, lastEnd]);
  return (
    <>
      <h1 class="hidden">{runsText("runs")}</h1>
      <section aria-labelledby="running">
        <h2 id="running">{runsText("running")}</h2>
        {fault !== undefined && <FaultBox fault={fault} />}
        {live === undefined ? (
          fault === undefined && <div class="hollow" style="height:60px" aria-busy="true" />
        ) : (
          <LiveList live={live} refresh={refresh} />
        )}
      </section>
      <section aria-labelledby="pipelines">
        <h2 id="pipelines">{runsText("pipelines")}</h2>
        {pipelines.fault !== undefined && <FaultBox fault={pipelines.fault} />}
        {pipelines.value === undefined ? (
          pipelines.fault === undefined && <div class="hollow" style="height:260px" aria-busy="true" />
        ) : (
          <PipelineList report={pipelines.value} busy={new Set(going)} choose={setChosen} />
        )}
      </section>
      <section aria-labelledby="runs">
        <h2 id="runs">{runsText("history")}</h2>
        <RunHistory pipelines={(pipelines.value?.pipelines ?? []).map(({ name }) => name)} />
      </section>
      {chosen !== undefined && pipelines.value !== undefined && (
        <PlanDialog
          pipeline={chosen}
          right={pipelines.value.right}
          close={(isStarted) => {
            setChosen(undefined);
            if (isStarted) refresh();
          }}
        />
      )}
    </>
  );
}
