import { useState } from "preact/hooks";
import type { LiveReport, OtherRunReport, StartedReport } from "../../runs/runs-data.js";
import { addressOf } from "../address/address.js";
import { Link } from "../address/link.js";
import { FaultBox } from "../fault-box.js";
import { type Fault, faultOf, send } from "../fetch-data.js";
import { bytes, count, instant } from "../formats.js";
import { StatusSign } from "../statuses.js";
import { runsText } from "./runs-texts.js";

/** The runs in progress: runs of this workspace with their progress, other runs with what they have landed so far. */
export function LiveList({ live, refresh }: { readonly live: LiveReport; readonly refresh: () => void }) {
  const { started, others } = live;
  if (started.length + others.length === 0) return <p class="empty">{runsText("noRuns")}</p>;
  return (
    <div class="cards">
      {started.map((run) => (
        <StartedCard key={run.pipeline} run={run} refresh={refresh} />
      ))}
      {others.map((run) => (
        <OtherCard key={run.runId} run={run} />
      ))}
    </div>
  );
}

function StartedCard({ run, refresh }: { readonly run: StartedReport; readonly refresh: () => void }) {
  const { pipeline, ended, isStopping, doing, requestsDone, requestsTotal, rows, tables, quota } = run;
  const [fault, setFault] = useState<Fault>();
  const stop = (): void => {
    send("POST", "/api/runs/stop", { pipeline }).then(refresh, (error: unknown) => setFault(faultOf(error)));
  };
  return (
    <article class="card live" aria-label={pipeline}>
      <header>
        <h3>{pipeline}</h3>
        {ended === null ? (
          <>
            <span class="state live">{isStopping ? runsText("stopping") : doing || "…"}</span>
            <button type="button" class="stop" disabled={isStopping} onClick={stop}>
              {runsText("stop")}
            </button>
          </>
        ) : (
          <>
            <StatusSign status={ended.status} />
            {ended.runId !== null && (
              <Link to={addressOf(`/runs/${encodeURIComponent(ended.runId)}`)}>{runsText("details")}</Link>
            )}
          </>
        )}
      </header>
      <progress
        max={Math.max(1, requestsTotal)}
        value={requestsDone}
        aria-label={`${pipeline}: ${runsText("requests")}`}
      />
      <p class="quiet" role="status">
        {count(requestsDone)} {runsText("asked")} {count(requestsTotal)} {runsText("requests")} ·{" "}
        {count(rows)} {runsText("rows")} · {bytes(run.bytes)}
        {quota !== null && ended === null && (
          <>
            {" "}
            · {count(quota.used)} {runsText("quotaUsed")}
            {quota.limit !== null && `, ${count(quota.limit)} ${runsText("permitted")}`}
            {quota.waitingUntil !== null &&
              `, ${runsText("nextIn")} ${new Date(quota.waitingUntil).toISOString().slice(11, 19)}`}
          </>
        )}
      </p>
      {tables.length > 1 && (
        <ul class="parts">
          {tables.map((table) => (
            <li key={table.table}>
              {table.table}: {count(table.requestsDone)} {runsText("asked")} {count(table.requestsTotal)},{" "}
              {count(table.rows)} {runsText("rows")}
            </li>
          ))}
        </ul>
      )}
      {ended !== null && ended.stopped !== null && (
        <FaultBox fault={{ message: ended.stopped, hint: null }} />
      )}
      {ended !== null && ended.reasons.length > 0 && (
        <FaultBox fault={{ message: `${runsText("failures")}: ${ended.reasons.join("; ")}`, hint: null }} />
      )}
      {fault !== undefined && <FaultBox fault={fault} />}
    </article>
  );
}

function OtherCard({ run }: { readonly run: OtherRunReport }) {
  const { runId, pipeline, owner, startedAt, inFlight, datasets, requests, failed, rows, lastAskedAt } = run;
  return (
    <article class="card live" aria-label={pipeline ?? runId}>
      <header>
        <h3>{pipeline ?? datasets.join(", ")}</h3>
        <span class={owner === null ? "state" : "state live"}>
          {owner === null ? runsText("silent") : `${runsText("by")} ${owner}`}
        </span>
      </header>
      <p class="quiet">
        {runId}
        {startedAt !== null && ` · ${runsText("started")} ${instant(startedAt)}`}
      </p>
      <p class="quiet" role="status">
        {runsText("landed")}: {count(requests)} {runsText("requests")}, {count(rows)} {runsText("rows")},{" "}
        {bytes(run.bytes)}
        {failed > 0 && (
          <>
            {" "}
            · <b class="bad">{count(failed)}</b> {runsText("failures")}
          </>
        )}
        {inFlight > 0 && ` · ${count(inFlight)} ${runsText("inFlight")} (${datasets.join(", ")})`}
        {lastAskedAt !== null && ` · ${runsText("lastAsked")} ${instant(lastAskedAt)}`}
      </p>
    </article>
  );
}
