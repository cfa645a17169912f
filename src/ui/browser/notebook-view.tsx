import { useEffect, useState } from "preact/hooks";
import type { NotebookReport } from "../page-data.js";
import { addressOf, useAddress } from "./address.js";
import { CellSection } from "./cell-section.js";
import { FaultBox } from "./fault-box.js";
import { Fault, faultOf, useJson } from "./fetch-data.js";
import { duration } from "./formats.js";
import { useStateAddress } from "./lake-state.js";
import { Link } from "./link.js";
import { type NotebookRun, runAfter, runAtEnd } from "./notebook-run.js";
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

/** A notebook that was run with the parameters of the address; another value runs it again. */
function Notebook({ name }: { readonly name: string }) {
  const { query } = useAddress();
  const given = [...query].filter(([key]) => key.startsWith("p."));
  const [round, setRound] = useState(0);
  const address = useStateAddress("notebook", { name, ...Object.fromEntries(given) });
  const [run, setRun] = useState<NotebookRun>();
  const [isStale, setStale] = useState(false);
  const [fault, setFault] = useState<Fault>();
  useEffect(() => {
    if (address === undefined) return;
    const stop = new AbortController();
    setStale(true);
    setFault(undefined);
    const began = performance.now();
    let now: NotebookRun | undefined;
    const follow = async (): Promise<void> => {
      try {
        await readLines(address, stop.signal, (line) => {
          now = runAfter(now, line, performance.now() - began);
          if (line.kind === "fault") setFault(new Fault(line.fault, 0));
          // A fault before the begin leaves the run before, and its controls, by which the value can be changed.
          if (now === undefined) return;
          setRun(now);
          setStale(false);
        });
      } catch (error) {
        if (!stop.signal.aborted) setFault(faultOf(error));
      }
      if (stop.signal.aborted) return;
      setRun(runAtEnd);
      setStale(false);
    };
    void follow();
    return () => stop.abort();
  }, [address, round]);
  document.title = `${run?.title ?? name} · barlake`;
  return (
    <>
      {run !== undefined && (
        <ParameterControls parameters={run.parameters}>
          <span class="quiet" role="status">
            {progress(run)}
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

function progress({ status, cells, planned, tookMs }: NotebookRun): string {
  if (status === "running") return `${text("running")} … ${cells.length} / ${planned}`;
  if (status === "stopped") return `${text("stoppedRun")}: ${cells.length} / ${planned} ${text("cells")}`;
  return `${text("ran")}: ${cells.length} ${text("cells")}, ${duration(tookMs)}`;
}
