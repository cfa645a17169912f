import type { PipelinesReport } from "../../runs/runs-data.js";
import { addressOf } from "../address/address.js";
import { Link } from "../address/link.js";
import { FaultBox } from "../fault-box.js";
import { instant } from "../formats.js";
import { StatusSign } from "../statuses.js";
import { translated } from "../translations.js";
import { runsText, scheduleWords } from "./runs-texts.js";

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
      <div class="table whole" tabIndex={0} role="region" aria-labelledby="pipelines">
        <table class="pipelines">
          <thead>
            <tr>
              <th scope="col">{runsText("pipeline")}</th>
              <th scope="col">
                <span class="hidden">{runsText("plan")}</span>
              </th>
              <th scope="col">{runsText("next")}</th>
              <th scope="col">{runsText("last")}</th>
              <th scope="col">{runsText("schedule")}</th>
            </tr>
          </thead>
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
        </table>
      </div>
    </>
  );
}
