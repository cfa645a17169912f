import { useEffect, useState } from "preact/hooks";
import type { NotebookReport, ParameterReport } from "../page-data.js";
import { addressOf, useAddress } from "./address.js";
import { type CellLine, CellSection } from "./cell-section.js";
import { FaultBox } from "./fault-box.js";
import { Fault, faultOf, useJson } from "./fetch-data.js";
import { duration } from "./formats.js";
import { useStateAddress } from "./lake-state.js";
import { Link } from "./link.js";
import { ParameterControls } from "./parameter-controls.js";
import { readLines } from "./read-lines.js";
import { text } from "./texts.js";

/** The notebooks, or one of them. */
export function NotebookView() {
  const name = decodeURIComponent(useAddress().path.split("/")[2] ?? "");
  return name === "" ? <NotebookList /> : <Notebook key={name} name={name} />;
}

function NotebookList() {
  const { value, fault } = useJson<{ notebooks: NotebookReport[] }>("/api/notebooks");
  const [own, shipped] = [false, true].map((isShipped) =>
    (value?.notebooks ?? []).filter((one) => one.isShipped === isShipped),
  ) as [NotebookReport[], NotebookReport[]];
  document.title = `${text("notebooks")} · barlake`;
  return (
    <>
      <h1 class="hidden">{text("notebooks")}</h1>
      {fault !== undefined && <FaultBox fault={fault} />}
      <h2>{text("ownNotebooks")}</h2>
      {value !== undefined && own.length === 0 && <p class="quiet">{text("noNotebooks")}</p>}
      <Cards notebooks={own} />
      <h2>{text("shipped")}</h2>
      <Cards notebooks={shipped} />
    </>
  );
}

function Cards({ notebooks }: { readonly notebooks: readonly NotebookReport[] }) {
  return (
    <ul class="notebooks">
      {notebooks.map(({ name, title }) => (
        <li key={name}>
          <Link to={addressOf(`/notebook/${encodeURIComponent(name)}`)}>
            <b>{title}</b> <small>{name}</small>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** What a run has given so far. */
interface Run {
  readonly title: string;
  readonly parameters: readonly ParameterReport[];
  readonly cells: readonly CellLine[];
  /** Cells of the notebook. */
  readonly planned: number;
  readonly isDone: boolean;
  readonly tookMs: number;
}

/** A notebook that was run with the parameters of the address; another value runs it again. */
function Notebook({ name }: { readonly name: string }) {
  const { query } = useAddress();
  const given = [...query].filter(([key]) => key.startsWith("p."));
  const [round, setRound] = useState(0);
  const address = useStateAddress("notebook", { name, ...Object.fromEntries(given) });
  const [run, setRun] = useState<Run>();
  const [isStale, setStale] = useState(false);
  const [fault, setFault] = useState<Fault>();
  useEffect(() => {
    if (address === undefined) return;
    const stop = new AbortController();
    setStale(true);
    setFault(undefined);
    const began = performance.now();
    let now: Run | undefined;
    readLines(address, stop.signal, (line) => {
      const tookMs = performance.now() - began;
      if (line.kind === "begin")
        now = {
          title: line.title,
          parameters: line.parameters,
          cells: [],
          planned: line.cells,
          isDone: false,
          tookMs,
        };
      else if (line.kind === "cell" && now !== undefined)
        now = { ...now, cells: [...now.cells, line], tookMs };
      else if (line.kind === "end" && now !== undefined) now = { ...now, isDone: true, tookMs };
      else if (line.kind === "fault") setFault(new Fault(line.fault, 0));
      setRun(now);
      setStale(false);
    }).catch((error: unknown) => {
      if (!stop.signal.aborted) setFault(faultOf(error));
    });
    return () => stop.abort();
  }, [address, round]);
  document.title = `${run?.title ?? name} · barlake`;
  return (
    <>
      {run !== undefined && (
        <ParameterControls parameters={run.parameters}>
          <span class="quiet" role="status">
            {run.isDone
              ? `${text("ran")}: ${run.cells.length} ${text("cells")}, ${duration(run.tookMs)}`
              : `${text("running")} … ${run.cells.length} / ${run.planned}`}
          </span>
          <button type="button" onClick={() => setRound(round + 1)}>
            {text("runAgain")}
          </button>
        </ParameterControls>
      )}
      {fault !== undefined && <FaultBox fault={fault} />}
      {run === undefined && fault === undefined && <p class="quiet">{text("running")} …</p>}
      <div class={isStale ? "cells stale" : "cells"}>
        {run?.cells.map((cell, at) => (
          <CellSection key={at} cell={cell} />
        ))}
      </div>
    </>
  );
}
