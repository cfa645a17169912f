import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { FoundInstrument, NotebookSource, ParameterReport, RunRequest } from "../../page-data.js";
import { change, useAddress } from "../address.js";
import { FaultBox } from "../fault-box.js";
import { apiAddress, askJson, type Fault, faultOf, send } from "../fetch-data.js";
import { duration } from "../formats.js";
import { useShownState, useStateAddress } from "../lake-state.js";
import { text } from "../texts.js";
import { CellSection } from "./cell-section.js";
import { lazyCatalog } from "./lazy-catalog.js";
import {
  canMove,
  type DocumentCell,
  documentOf,
  linesBefore,
  type NotebookDocument,
  textOf,
  withEdited,
  withMoved,
  withNewCell,
  withoutCell,
  withRestored,
} from "./notebook-document.js";
import { notebookText } from "./notebook-texts.js";
import { saveBlob } from "./result-controls.js";
import { SaveSigns } from "./save-signs.js";
import { draftKey, type FileContent, readDraft, type SaveState, useDraft, useSaving } from "./saving.js";
import { SchemaBrowser } from "./schema-browser.js";
import { type UsedRun, useRun } from "./use-run.js";

function usePage(
  name: string,
  newest: { readonly current: NotebookDocument },
): { readonly make: (() => void) | undefined; readonly fault: Fault | undefined } {
  const { query } = useAddress();
  const given = Object.fromEntries([...query].filter(([key]) => key.startsWith("p.")));
  const address = useStateAddress("notebook/page", given);
  const [isMaking, setMaking] = useState(false);
  const [fault, setFault] = useState<Fault>();
  const make = (): void => {
    if (address === undefined) return;
    setMaking(true);
    setFault(undefined);
    savePage(address, { name, text: textOf(newest.current) }).then(
      () => setMaking(false),
      (error: unknown) => {
        setMaking(false);
        setFault(faultOf(error));
      },
    );
  };
  return { make: isMaking ? undefined : make, fault };
}

/** Requests the page of a notebook, for which the notebook runs, and downloads it as a file. @throws {Fault} */
async function savePage(address: string, run: RunRequest): Promise<void> {
  const response = await send("POST", address, { name: run.name, text: run.text });
  saveBlob(await response.blob(), `${run.name}.html`);
}

/** The parameters of a notebook as controls. A new value changes the address, and the notebook runs again. */
function ParameterControls({
  parameters,
  children,
}: {
  readonly parameters: readonly ParameterReport[];
  readonly children: ComponentChildren;
}) {
  return (
    <form
      class="parameter-controls"
      aria-label={text("parameters")}
      onSubmit={(event) => event.preventDefault()}
    >
      {parameters.map((parameter) => (
        <label key={parameter.name}>
          {parameter.label}
          <Control parameter={parameter} choose={(value) => change({ [`p.${parameter.name}`]: value })} />
        </label>
      ))}
      {children}
    </form>
  );
}

function Control({
  parameter,
  choose,
}: {
  readonly parameter: ParameterReport;
  readonly choose: (value: string) => void;
}) {
  const { name, kind, value, options, min, max } = parameter;
  const list = useId();
  const [proposed, setProposed] = useState<readonly FoundInstrument[]>([]);
  const [typed, setTyped] = useState(value);
  const state = useShownState().report?.state;
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (kind !== "symbol" || options !== null || state === undefined) return;
    const stop = new AbortController();
    askJson<{ found: FoundInstrument[] }>(apiAddress("search", { state, q: typed }), stop.signal).then(
      ({ found }) => setProposed(found),
      () => {},
    );
    return () => stop.abort();
  }, [kind, options, state, typed]);
  if (options !== null)
    return (
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {(options.includes(value) ? options : [value, ...options]).map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    );
  const input = {
    name,
    value: typed,
    onInput: (event: { currentTarget: HTMLInputElement }) => setTyped(event.currentTarget.value),
    onChange: (event: { currentTarget: HTMLInputElement }) => choose(event.currentTarget.value),
  };
  if (kind === "date") return <input type="date" {...input} />;
  if (kind === "number")
    return (
      <input
        type="number"
        step="any"
        {...(min === null ? {} : { min })}
        {...(max === null ? {} : { max })}
        {...input}
      />
    );
  return (
    <>
      <input type="text" list={list} autocomplete="off" spellcheck={false} {...input} />
      <datalist id={list}>
        {proposed.map((one) => (
          <option key={one.symbol} value={one.symbol}>
            {one.name ?? ""}
          </option>
        ))}
      </datalist>
    </>
  );
}

function NotebookBar({
  name,
  parameters,
  runs,
  onRunAll,
  saving,
  isChanged,
  isSavable,
  onSave,
  onPage,
}: {
  readonly name: string;
  readonly parameters: readonly ParameterReport[];
  readonly runs: UsedRun;
  readonly onRunAll: () => void;
  readonly saving: SaveState;
  readonly isChanged: boolean;
  readonly isSavable: boolean;
  readonly onSave: () => void;
  /** Downloads the notebook as a page; undefined while a page is being made. */
  readonly onPage: (() => void) | undefined;
}) {
  const isRunning = runs.isWaiting || runs.run?.status === "running";
  const state = saving.kind === "saving" ? "saving" : isChanged ? "unsaved" : "saved";
  return (
    <ParameterControls parameters={parameters}>
      <div class="run-controls">
        <span class="quiet">
          <span role="status">{progress(runs)}</span>
          {runs.since !== undefined && <Elapsed since={runs.since} />}
        </span>
        {isRunning ? (
          <button type="button" onClick={runs.stop}>
            {notebookText("stop")}
          </button>
        ) : (
          <button type="button" onClick={onRunAll}>
            {notebookText("runAll")}
          </button>
        )}
        <button type="button" disabled={!isSavable} title={`${name}.sql (Ctrl S)`} onClick={onSave}>
          {notebookText("save")}
        </button>
        <button type="button" disabled={onPage === undefined} title={`${name}.html`} onClick={onPage}>
          {notebookText("htmlPage")}
        </button>
        <span class={`save-state ${state}`} role="status">
          {notebookText(state)}
        </span>
      </div>
    </ParameterControls>
  );
}

function progress({ run, isWaiting, since }: UsedRun): string {
  if (isWaiting || (run === undefined && since !== undefined)) return `${text("running")} …`;
  if (run === undefined) return "";
  const { status, done, planned, tookMs, outputs } = run;
  if (status === "running") return `${text("running")} … ${done} / ${planned}`;
  const took = tookMs > 0 ? `, ${duration(tookMs)}` : "";
  const cells = (number: number): string => (number === 1 ? notebookText("oneCell") : text("cells"));
  // A directive has an error, which is shown in its cell: no cell was to run.
  if (planned === 0) return "";
  if (status === "stopped") return `${text("stoppedRun")}: ${done} / ${planned} ${cells(planned)}${took}`;
  const failed = [...outputs.values()].filter(({ faults }) => faults.length > 0).length;
  const faults = failed === 0 ? "" : `, ${failed} ${notebookText("failed")}`;
  return `${text("ran")}: ${done} ${cells(done)}${took}${faults}`;
}

/** The seconds since a run was sent. */
function Elapsed({ since }: { readonly since: number }) {
  const [now, setNow] = useState(since);
  useEffect(() => {
    setNow(performance.now());
    const timer = setInterval(() => setNow(performance.now()), 500);
    return () => clearInterval(timer);
  }, [since]);
  return <span aria-hidden="true"> · {Math.max(0, Math.floor((now - since) / 1000))} s</span>;
}

export function NotebookDesk({ source }: { readonly source: NotebookSource }) {
  const { name } = source;
  const key = draftKey(source.folder ?? "", name);
  const [draft] = useState(() => {
    const found = readDraft(localStorage, key);
    return found?.text === source.text ? undefined : found;
  });
  const isOlder = draft !== undefined && draft.before !== source.hash;
  const [document_, setDocument] = useState(() => documentOf(draft?.text ?? source.text));
  const saving = useSaving(
    source,
    isOlder ? { kind: "changed", theirs: source } : { kind: "idle" },
    // The content of the older file is not known, so any text counts as different from it.
    { text: "", hash: draft?.before ?? null },
  );
  const whole = textOf(document_);
  const { isStored, forget } = useDraft(key, whole, saving.base);
  const runs = useRun(name, document_);
  // There is no file yet.
  const isNew = source.hash === null && !source.isShipped;
  const [open, setOpen] = useState<ReadonlySet<number>>(
    () => new Set(isNew ? document_.cells.slice(-1).map(({ id }) => id) : []),
  );
  const catalogAddress = useStateAddress("catalog");
  const catalog = useMemo(() => lazyCatalog(catalogAddress), [catalogAddress]);
  const [deleted, setDeleted] = useState<{ readonly cell: DocumentCell; readonly at: number }>();
  const parameters = runs.run?.parameters ?? [];
  // Editors remain open while the page is drawn again, and call the functions with which they were opened.
  const newest = useRef(document_);
  newest.current = document_;
  const edit = (next: NotebookDocument): void => {
    newest.current = next;
    setDocument(next);
  };
  const toggle = (id: number, isOpen: boolean): void => {
    setOpen((before) => new Set([...before].filter((one) => one !== id).concat(isOpen ? [id] : [])));
    // If the user typed a line `-- %%`, it begins a new cell when the editor is closed.
    if (!isOpen) edit(documentOf(textOf(newest.current), newest.current));
  };
  const run = (id: number): void => runs.start(newest.current, new Set([id]));
  const add = (after: number | undefined, sql = ""): number => {
    const { document: next, id } = withNewCell(newest.current, after);
    edit(sql === "" ? next : withEdited(next, id, `-- %%\n${sql}`));
    toggle(id, true);
    return id;
  };
  const runAndNext = (id: number): void => {
    run(id);
    const { cells } = newest.current;
    const next = cells[cells.findIndex((cell) => cell.id === id) + 1];
    if (next === undefined) add(id);
    else toggle(next.id, true);
  };
  const remove = (cell: DocumentCell, at: number): void => {
    setDeleted({ cell, at });
    edit(withoutCell(newest.current, cell.id));
  };
  const show = (content: FileContent): void => {
    forget();
    saving.rebase(content);
    const next = documentOf(content.text, newest.current);
    edit(next);
    runs.start(next, undefined);
  };
  const isUnwritten = saving.base.hash === null && !source.isShipped;
  const isChanged = isUnwritten || whole !== saving.base.text;
  // A second request while one is in flight would name a content that the first request replaces.
  const isSavable = isChanged && source.isExact && saving.state.kind !== "saving";
  const save = (): void => {
    if (isSavable) void saving.save(textOf(newest.current));
  };
  useSaveKey(save);
  const page = usePage(name, newest);
  document.title = `${runs.run?.title ?? name} · barlake`;
  return (
    <>
      <NotebookBar
        name={name}
        parameters={parameters}
        runs={runs}
        onRunAll={() => runs.start(newest.current, undefined)}
        saving={saving.state}
        isChanged={isChanged}
        isSavable={isSavable}
        onSave={save}
        onPage={page.make}
      />
      <SaveSigns
        source={source}
        saving={saving}
        draftAt={draft?.at}
        isOlder={isOlder}
        isChanged={isChanged}
        isStored={isStored}
        text={whole}
        onShow={show}
        onSavedAs={forget}
      />
      {(runs.fault ?? page.fault) !== undefined && <FaultBox fault={(runs.fault ?? page.fault) as Fault} />}
      {deleted !== undefined && (
        <p class="save-sign" role="status">
          {notebookText("cellDeleted")}{" "}
          <button
            type="button"
            onClick={() => {
              edit(withRestored(newest.current, deleted.cell, deleted.at));
              setDeleted(undefined);
            }}
          >
            {notebookText("undo")}
          </button>
        </p>
      )}
      <SchemaBrowser load={catalog} query={(sql) => run(add(newest.current.cells.at(-1)?.id, sql))} />
      <div class={runs.isWaiting && runs.run === undefined ? "cells stale" : "cells"}>
        {document_.cells.map((cell, at) => (
          <CellSection
            key={cell.id}
            cell={cell}
            number={at + 1}
            output={runs.run?.outputs.get(cell.id)}
            isOpen={open.has(cell.id)}
            isRunning={runs.since !== undefined}
            canMove={canMove(document_, cell.id)}
            links={{
              label: `${notebookText("editorOf")} ${at + 1}: ${notebookText("editorKeys")}`,
              linesBefore: () => linesBefore(newest.current, cell.id),
              onChange: (typed) => edit(withEdited(newest.current, cell.id, typed)),
              catalog,
              parameters: () => parameters.map((parameter) => parameter.name),
              run: () => run(cell.id),
              runAndNext: () => runAndNext(cell.id),
            }}
            actions={{
              toggle: () => toggle(cell.id, !open.has(cell.id)),
              run: () => run(cell.id),
              add: () => add(cell.id),
              move: (by) => edit(withMoved(newest.current, cell.id, by)),
              remove: () => remove(cell, at),
            }}
          />
        ))}
      </div>
    </>
  );
}

/** Ctrl+S saves, no matter which element has the focus. */
function useSaveKey(save: () => void): void {
  const newest = useRef(save);
  newest.current = save;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      newest.current();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
