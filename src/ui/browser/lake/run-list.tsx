import type { RunReport } from "../../page-data.js";
import { addressOf } from "../address.js";
import { StatusSign } from "../fault-box.js";
import { bytes, count, duration, instant } from "../formats.js";
import { Link } from "../link.js";
import { text } from "../texts.js";

/** The newest runs of pipelines, and how each ended. */
export function RunList({ runs }: { readonly runs: readonly RunReport[] }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-labelledby="runs">
      <table>
        <thead>
          <tr>
            <th scope="col">{text("pipeline")}</th>
            <th scope="col">{text("status")}</th>
            <th scope="col">{text("began")}</th>
            <th scope="col" class="n">
              {text("took")}
            </th>
            <th scope="col" class="n">
              {text("requests")}
            </th>
            <th scope="col" class="n">
              {text("failed")}
            </th>
            <th scope="col" class="n">
              {text("inserted")}
            </th>
            <th scope="col" class="n">
              {text("updated")}
            </th>
            <th scope="col" class="n">
              {text("rejected")}
            </th>
            <th scope="col" class="n">
              {text("received")}
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id} title={run.stopped ?? run.id}>
              <th scope="row">
                <Link to={addressOf(`/runs/${encodeURIComponent(run.id)}`)}>{run.pipeline}</Link>
              </th>
              <td>
                <StatusSign status={run.status} />
              </td>
              <td>{instant(run.startedAt)}</td>
              <td class="n">{duration(run.finishedAt - run.startedAt)}</td>
              <td class="n">{count(run.requests)}</td>
              <td class={run.failed > 0 ? "n bad" : "n"}>{count(run.failed)}</td>
              <td class="n">{count(run.inserted)}</td>
              <td class="n">{count(run.updated)}</td>
              <td class="n">{count(run.rejected)}</td>
              <td class="n">{bytes(run.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
