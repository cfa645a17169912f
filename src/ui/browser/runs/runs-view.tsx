import { useEffect, useState } from "preact/hooks";
import type { LiveReport, OtherRunReport, PipelinesReport, StartedReport } from "../../runs/runs-data.js";
import { addressOf, textOfPart, useAddress } from "../address.js";
import { FaultBox, Loaded, StatusSign } from "../fault-box.js";
import { askJson, type Fault, faultOf, send, useJson } from "../fetch-data.js";
import { bytes, count, instant } from "../formats.js";
import { useShownState, useStateAddress } from "../lake-state.js";
import { Link } from "../link.js";
import { Table } from "../table.js";
import { translated } from "../texts.js";
import { PlanDialog } from "./plan-dialog.js";
import { RunDetails } from "./run-details.js";
import { RunHistory } from "./run-history.js";
import { runsText, scheduleWords } from "./runs-texts.js";

/** Time between two requests in milliseconds: while a run of this workspace is in progress, and otherwise. */
const SOON_MS = 1000;
const LATER_MS = 3000;

/** The runs in progress, requested repeatedly while the page is visible. */
export function useLive(): {
  readonly live: LiveReport | undefined;
  readonly fault: Fault | undefined;
  /** Requests the runs now. */
  readonly refresh: () => void;
} {
  const [live, setLive] = useState<LiveReport>();
  const [fault, setFault] = useState<Fault>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Requests are sent one after another, so that a slow server never has two of them.
    const poll = async (): Promise<void> => {
      let pause = LATER_MS;
      try {
        if (!document.hidden) {
          const found = await askJson<LiveReport>("/api/runs/live", stop.signal);
          setLive(found);
          setFault(undefined);
          if (found.started.some(({ ended }) => ended === null)) pause = SOON_MS;
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        setFault(faultOf(error));
      }
      if (!stop.signal.aborted) timer = setTimeout(() => void poll(), pause);
    };
    void poll();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [round]);
  return { live, fault, refresh: () => setRound((n) => n + 1) };
}

/** The pipelines with their schedules. @param busy names of the pipelines that this workspace is running */
export function PipelineList({
  report: { pipelines, right },
  busy,
  choose,
}: {
  readonly report: PipelinesReport;
  readonly busy: ReadonlySet<string>;
  readonly choose: (pipeline: string) => void;
}) {
  return (
    <>
      {right.kind === "absent" && (
        <p class="quiet">
          {runsText("noKey")} {translated(right.message)}; {translated(right.hint)}.
        </p>
      )}
      {pipelines.every(({ leader }) => leader === null) && <p class="quiet">{runsText("noSchedule")}</p>}
      <Table
        of="pipelines"
        kind="whole pipelines"
        head={[
          runsText("pipeline"),
          <span class="hidden">{runsText("plan")}</span>,
          ...(["next", "last", "schedule"] as const).map(runsText),
        ]}
      >
        <tbody>
          {pipelines.map((one) => (
            <tr key={one.name}>
              <th scope="row">
                {one.name}{" "}
                {one.kind !== one.name && <small>{one.kind.split(" ").map(translated).join(" ")}</small>}
                <small class="doc">{translated(one.doc)}</small>
                {one.fault !== null && <FaultBox fault={one.fault} />}
              </th>
              <td>
                {one.fault === null && (
                  <button
                    type="button"
                    disabled={busy.has(one.name)}
                    aria-label={`${one.name}: ${runsText(right.kind === "ready" ? "run" : "plan")}`}
                    onClick={() => choose(one.name)}
                  >
                    {runsText(right.kind === "ready" ? "run" : "plan")}
                  </button>
                )}
              </td>
              <td>
                {one.next === null ? "·" : instant(one.next)}
                {one.leader !== null && (
                  <small class="doc">
                    {runsText("ledBy")} {one.leader}
                  </small>
                )}
              </td>
              <td>
                {one.last === null ? (
                  <span class="quiet">{runsText("none")}</span>
                ) : (
                  <>
                    <StatusSign status={one.last.status} />{" "}
                    <Link to={addressOf(`/runs/${encodeURIComponent(one.last.id)}`)}>
                      {instant(one.last.startedAt)}
                    </Link>
                  </>
                )}
              </td>
              <td class="schedule">{scheduleWords(one.schedule)}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </>
  );
}

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
  const { runId, pipeline, owner, startedAt, asks, requests, failed, rows, lastAskedAt } = run;
  return (
    <article class="card live" aria-label={pipeline}>
      <header>
        <h3>{pipeline}</h3>
        <span class={owner === null ? "state" : "state live"}>
          {owner === null ? runsText("silent") : `${runsText("by")} ${owner}`}
        </span>
      </header>
      <p class="quiet">
        {runId}
        {startedAt !== null && ` · ${runsText("started")} ${instant(startedAt)}`}
        {asks.length > 0 && ` · ${asks.join(", ")}`}
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
        {lastAskedAt !== null && ` · ${runsText("lastAsked")} ${instant(lastAskedAt)}`}
      </p>
    </article>
  );
}

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
        <Loaded waiting={pipelines} height={260}>
          {(found) => <PipelineList report={found} busy={new Set(going)} choose={setChosen} />}
        </Loaded>
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
