import type { RunDetailsReport } from "../../runs/runs-data.js";
import { addressOf } from "../address.js";
import { Command, FaultBox, Loaded, StatusSign, statusText } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { bytes, count, duration, instant } from "../formats.js";
import { useStateAddress } from "../lake-state.js";
import { Link } from "../link.js";
import { Table } from "../table.js";
import { runsText } from "./runs-texts.js";

/** Texts longer than this are shown on several lines. */
const LONG = 60;

/** Nothing where there are no facts. @param numbers positions of the columns of numbers */
function FactTable({
  id,
  title,
  head,
  numbers = [],
  rows,
}: {
  readonly id: string;
  readonly title: string;
  readonly head: readonly string[];
  readonly numbers?: readonly number[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}) {
  if (rows.length === 0) return null;
  const classOf = (place: number, value: string | number | null): string => {
    if (typeof value === "string" && value.length > LONG) return "long";
    return numbers.includes(place) ? "n" : "";
  };
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <Table of={id} head={head} numbers={numbers}>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((value, place) => (
                <td key={place} class={classOf(place, value)}>
                  {value === null ? "·" : value}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </Table>
    </section>
  );
}

export function RunDetails({ id }: { readonly id: string }) {
  const details = useJson<RunDetailsReport>(useStateAddress("runs/details", { id }));
  return (
    <>
      <nav class="crumbs" aria-label={runsText("runs")}>
        <Link to={addressOf("/runs")}>{runsText("back")}</Link>
      </nav>
      {details.fault !== undefined && <h1>{id}</h1>}
      <Loaded waiting={details} height={420}>
        {(value) => <Details report={value} />}
      </Loaded>
    </>
  );
}

function Details({ report }: { readonly report: RunDetailsReport }) {
  const { run, requests, failures, windows, absent, rejects, changes, command } = report;
  const facts: readonly (readonly [string, string])[] = [
    [runsText("started"), instant(run.startedAt)],
    [
      runsText("requests"),
      `${count(run.requests)} ${runsText("asked")} ${count(run.planned)} ${runsText("planned")}`,
    ],
    [runsText("rows"), `${count(run.rows)}, ${bytes(run.bytes)}`],
    [
      runsText("changed"),
      `${count(run.inserted)} ${runsText("inserted")}, ${count(run.updated)} ${runsText("updated")}, ${count(run.unchanged)} ${runsText("unchanged")}`,
    ],
    [runsText("service"), run.host],
    [runsText("options"), run.options.replaceAll(",", ", ")],
  ];
  return (
    <>
      <header class="title">
        <h1>
          {run.pipeline} <StatusSign status={run.status} />
        </h1>
        <span class="quiet">
          {run.id} · {duration(run.finishedAt - run.startedAt)} · {run.engine}
        </span>
      </header>
      {run.stopped !== null && (
        <FaultBox fault={{ message: `${runsText("stopped")}: ${run.stopped}`, hint: null }} />
      )}
      <dl class="facts">
        {facts.map(([name, text]) => (
          <div key={name} class={text.length > LONG ? "long" : ""}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <FactTable
        id="failures"
        title={runsText("failures")}
        head={[runsText("status"), "HTTP", runsText("requests"), runsText("symbols"), runsText("reason")]}
        numbers={[1, 2, 3]}
        rows={failures.map((one) => [
          statusText(one.status),
          one.httpStatus,
          count(one.requests),
          count(one.symbols),
          one.reason,
        ])}
      />
      <FactTable
        id="changes"
        title={runsText("changed")}
        head={(
          ["table", "versions", "inserted", "updated", "filesAdded", "filesRemoved", "bytesAdded"] as const
        ).map(runsText)}
        numbers={[2, 3, 4, 5, 6]}
        rows={changes.map((one) => [
          one.table,
          `${one.before < 0 ? "·" : one.before} → ${one.after}`,
          count(one.inserted),
          count(one.updated),
          count(one.filesAdded),
          count(one.filesRemoved),
          bytes(one.bytesAdded),
        ])}
      />
      {changes.length === 0 && <p class="quiet">{runsText("nothingChanged")}</p>}
      <FactTable
        id="result"
        title={runsText("result")}
        head={(["table", "endpoint", "status", "requests", "attempts", "rows"] as const).map(runsText)}
        numbers={[3, 4, 5]}
        rows={requests.map((one) => [
          one.dataset,
          one.endpoint,
          statusText(one.status),
          count(one.requests),
          count(one.attempts),
          count(one.rows),
        ])}
      />
      <FactTable
        id="windows"
        title={runsText("windows")}
        head={(["table", "from", "to", "symbols"] as const).map(runsText)}
        numbers={[3]}
        rows={windows.map((one) => [one.dataset, instant(one.start), instant(one.end), count(one.symbols)])}
      />
      <FactTable
        id="absent"
        title={runsText("absent")}
        head={(["table", "symbols", "examples"] as const).map(runsText)}
        numbers={[1]}
        rows={absent.map((one) => [one.dataset, count(one.symbols), one.examples.join(" ")])}
      />
      <FactTable
        id="rejects"
        title={runsText("rejects")}
        head={(["table", "rule", "rows", "examples"] as const).map(runsText)}
        numbers={[2]}
        rows={rejects.map((one) => [one.dataset, one.rule, count(one.rows), one.example])}
      />
      <p class="commands">
        {runsText("more")} <Command command={command} />
      </p>
    </>
  );
}
