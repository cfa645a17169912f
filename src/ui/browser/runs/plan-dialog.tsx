import { useEffect, useRef, useState } from "preact/hooks";
import type { PlanReport, RunRight } from "../../runs/runs-data.js";
import { FaultBox } from "../fault-box.js";
import { apiAddress, type Fault, faultOf, send, useJson } from "../fetch-data.js";
import { count } from "../formats.js";
import { translated } from "../texts.js";
import { runsText } from "./runs-texts.js";

/** The requests that a pipeline would send, with a button that runs it, where that is permitted. */
export function PlanDialog({
  pipeline,
  right,
  close,
}: {
  readonly pipeline: string;
  readonly right: RunRight;
  readonly close: (isStarted: boolean) => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { value, fault } = useJson<PlanReport>(apiAddress("pipelines/plan", { pipeline }));
  const [refusal, setRefusal] = useState<Fault>();
  const [isSent, setSent] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const start = (): void => {
    setSent(true);
    send("POST", "/api/runs/start", { pipeline }).then(
      () => close(true),
      (error: unknown) => {
        setRefusal(faultOf(error));
        setSent(false);
      },
    );
  };
  return (
    <dialog ref={dialog} aria-labelledby="plan" onClose={() => close(false)}>
      <h2 id="plan">
        {pipeline}: {runsText("planTitle")}
      </h2>
      {value === undefined && fault === undefined && <p class="quiet">{runsText("planning")} …</p>}
      {fault !== undefined && <FaultBox fault={fault} />}
      {value !== undefined && <Plan plan={value} />}
      {refusal !== undefined && <FaultBox fault={refusal} />}
      {right.kind === "ready" ? (
        <p class="quiet">
          {runsText("costs")} {right.host}.
        </p>
      ) : (
        <FaultBox
          fault={{
            message: `${runsText("noKey")} ${translated(right.message)}`,
            hint: translated(right.hint),
          }}
        />
      )}
      <p class="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          {runsText("cancel")}
        </button>
        {right.kind === "ready" && (
          <button type="button" class="main" disabled={value === undefined || isSent} onClick={start}>
            {runsText("start")}
          </button>
        )}
      </p>
    </dialog>
  );
}

function Plan({ plan: { requests, regions, requestsPerMinute, minutes } }: { readonly plan: PlanReport }) {
  if (requests === null) return <p>{runsText("unplannable")}</p>;
  if (requests === 0) return <p>{runsText("hasAll")}</p>;
  return (
    <>
      <p>
        <b>{count(requests)}</b> {runsText("requests")}
        {minutes !== null && requestsPerMinute !== null ? (
          <>
            {": "}
            <b>{minutes < 10 ? minutes.toFixed(1) : count(minutes)}</b> {runsText("minutesAt")}{" "}
            {count(requestsPerMinute)} {runsText("perMinute")}
          </>
        ) : (
          <>. {runsText("unknownQuota")}</>
        )}
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">{runsText("region")}</th>
            {(["requests", "symbols", "barsAtMost"] as const).map((name) => (
              <th scope="col" class="n" key={name}>
                {runsText(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {regions.map((one) => (
            <tr key={one.region}>
              <th scope="row">{one.region}</th>
              <td class="n">{count(one.requests)}</td>
              <td class="n">{count(one.symbols)}</td>
              <td class="n">{count(one.bars)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
