import type { RunReport } from "../../page-data.js";
import { addressOf } from "../address.js";
import { StatusSign } from "../fault-box.js";
import { bytes, count, duration, instant } from "../formats.js";
import { Link } from "../link.js";
import { Table } from "../table.js";
import { text } from "../texts.js";

const COLUMNS = [
  "pipeline",
  "status",
  "began",
  "took",
  "requests",
  "failed",
  "inserted",
  "updated",
  "rejected",
  "received",
] as const;

/** The newest runs of pipelines, and how each ended. */
export function RunList({ runs }: { readonly runs: readonly RunReport[] }) {
  return (
    <Table of="runs" head={COLUMNS.map(text)} numbers={[3, 4, 5, 6, 7, 8, 9]}>
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
    </Table>
  );
}
