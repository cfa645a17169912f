import { useEffect, useRef, useState } from "preact/hooks";
import { cellsAfter, cellsWithParameters } from "../../../notebook/cell-links.js";
import { type Cell, type Notebook, NotebookError } from "../../../notebook/notebook.js";
import { parseNotebook } from "../../../notebook/parse/parse-notebook.js";
import type { NotebookLine, RunRequest } from "../../page-data.js";
import { useAddress } from "../address.js";
import { apiAddress, Fault, faultOf, send } from "../fetch-data.js";
import { useShownState } from "../lake-state.js";
import { type NotebookDocument, placeOf, textOf } from "./notebook-document.js";
import { formerRun, type NotebookRun, noRun, runAfter, runAtEnd } from "./notebook-run.js";

/** Runs the text of a notebook, and reads the output line by line, while the cells finish. @throws {Fault} */
export async function readLines(
  address: string,
  request: RunRequest,
  signal: AbortSignal,
  onLine: (line: NotebookLine) => void,
): Promise<void> {
  const { body } = await send("POST", address, request, signal);
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (!signal.aborted) onLine(JSON.parse(line) as NotebookLine);
  }
}

/** The cells of the document that must run with the given ones: these, and all cells that depend on them. */
export function withDependents(
  document: NotebookDocument,
  { cells }: Notebook,
  ids: ReadonlySet<number>,
): ReadonlySet<number> {
  const found = new Set(ids);
  for (const [at, { line }] of cells.entries())
    if (ids.has(placeOf(document, line)?.id ?? 0))
      for (const id of idsOf(document, cells, cellsAfter(cells, at))) found.add(id);
  return found;
}

/** The cells of the document that must run when parameters have changed. */
export function dependentOn(
  document: NotebookDocument,
  { cells, parameters }: Notebook,
  changed: readonly string[],
): ReadonlySet<number> {
  return idsOf(document, cells, cellsWithParameters(cells, parameters, changed));
}

export function linesOf(
  document: NotebookDocument,
  { cells }: Notebook,
  ids: ReadonlySet<number>,
): readonly number[] {
  return cells.flatMap(({ line }) => (ids.has(placeOf(document, line)?.id ?? 0) ? [line] : []));
}

/** Names whose values differ between two sets of parameters. */
export function changedNames(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]);
}

function idsOf(
  document: NotebookDocument,
  cells: readonly Cell[],
  indexes: ReadonlySet<number>,
): ReadonlySet<number> {
  return new Set([...indexes].map((index) => placeOf(document, cells[index]?.line ?? 0)?.id ?? 0));
}

export interface UsedRun {
  /** Undefined until the first run has begun. */
  readonly run: NotebookRun | undefined;
  /** Whether a run was sent and has not begun yet. */
  readonly isWaiting: boolean;
  readonly fault: Fault | undefined;
  /** When the run that goes on was sent, by `performance.now()`; undefined while none does. */
  readonly since: number | undefined;
  /** Runs the given cells and all that depend on them; undefined: every cell. */
  readonly start: (document: NotebookDocument, ids: ReadonlySet<number> | undefined) => void;
  readonly stop: () => void;
}

interface Sent {
  readonly state: string;
  readonly given: Readonly<Record<string, string>>;
}

interface Started {
  readonly controller: AbortController;
  readonly ids: ReadonlySet<number> | undefined;
  readonly planned: number;
  /** When it was sent, by `performance.now()`. */
  readonly began: number;
}

/**
 * Runs a notebook: completely at first and when the lake's version changes; the cells that depend on a parameter when
 * the parameter changes; and the cells that the user requests.
 */
export function useRun(name: string, document: NotebookDocument): UsedRun {
  const { query } = useAddress();
  const state = useShownState().report?.state;
  const given = Object.fromEntries([...query].filter(([key]) => key.startsWith("p.")));
  const [run, setRun] = useState<NotebookRun>();
  const [isWaiting, setWaiting] = useState(false);
  const [fault, setFault] = useState<Fault>();
  const [since, setSince] = useState<number>();
  const started = useRef<Started | undefined>(undefined);
  const newest = useRef<NotebookRun | undefined>(undefined);
  const sent = useRef<Sent | undefined>(undefined);

  const show = (next: NotebookRun | undefined): void => {
    newest.current = next;
    setRun(next);
  };
  const follow = async (
    text: NotebookDocument,
    { controller, ids, began }: Started,
    lines: readonly number[] | undefined,
  ): Promise<void> => {
    const { signal } = controller;
    const plan = { document: text, ids };
    const address = apiAddress("notebook/run", { state, ...given });
    try {
      await readLines(address, { name, text: textOf(text), cells: lines }, signal, (line) => {
        if (line.kind === "fault") setFault(new Fault(line.fault, 0));
        setWaiting(false);
        show(runAfter(newest.current, line, plan, performance.now() - began));
      });
    } catch (error) {
      if (!signal.aborted) setFault(faultOf(error));
    }
    if (signal.aborted) return;
    started.current = undefined;
    setWaiting(false);
    setSince(undefined);
    show(runAtEnd(newest.current));
  };
  const start = (text: NotebookDocument, asked: ReadonlySet<number> | undefined): void => {
    if (state === undefined) return;
    setFault(undefined);
    let notebook: Notebook;
    try {
      notebook = parseNotebook(textOf(text), name);
    } catch (error) {
      started.current?.controller.abort();
      setSince(undefined);
      const faulty = withDirectiveFault(runAtEnd(newest.current) ?? noRun(name), text, error);
      if (faulty === undefined) setFault(faultOf(error));
      else show(faulty);
      return;
    }
    const ids = together(asked && withDependents(text, notebook, asked), started.current, newest.current);
    started.current?.controller.abort();
    const lines = ids && linesOf(text, notebook, ids);
    const planned = lines?.length ?? notebook.cells.length;
    const next = { controller: new AbortController(), ids, planned, began: performance.now() };
    started.current = next;
    sent.current = { state, given };
    show(formerRun(newest.current, ids));
    setSince(next.began);
    setWaiting(true);
    void follow(text, next, lines);
  };
  useEffect(() => {
    if (state === undefined) return;
    const before = sent.current;
    // If the first values of the parameters were refused, no cell has run.
    const hasRun = newest.current !== undefined && newest.current.outputs.size > 0;
    if (before?.state !== state || !hasRun) return start(document, undefined);
    const changed = changedNames(before.given, given).map((key) => key.slice(2));
    if (changed.length === 0) return;
    try {
      start(document, dependentOn(document, parseNotebook(textOf(document), name), changed));
    } catch (error) {
      setFault(faultOf(error));
    }
  }, [state, JSON.stringify(given)]);
  useEffect(() => () => started.current?.controller.abort(), []);
  const stop = (): void => {
    const { current: running } = started;
    running?.controller.abort();
    started.current = undefined;
    setWaiting(false);
    setSince(undefined);
    const before = newest.current && {
      ...newest.current,
      tookMs: running === undefined ? 0 : performance.now() - running.began,
    };
    // A run that has not begun yet has returned nothing.
    const isBegun = before?.status === "running";
    if (before === undefined || running === undefined || isBegun) show(runAtEnd(before));
    else show({ ...before, status: "stopped", done: 0, planned: running.planned });
  };
  return { run, isWaiting, fault, since, start, stop };
}

/** The cells of a run that replaces another run which has not returned all of its cells yet. */
function together(
  ids: ReadonlySet<number> | undefined,
  before: Started | undefined,
  run: NotebookRun | undefined,
): ReadonlySet<number> | undefined {
  if (ids === undefined || before === undefined) return ids;
  if (before.ids === undefined) return undefined;
  const given = run?.status === "running" ? run.given : new Set<number>();
  return new Set([...ids, ...[...before.ids].filter((id) => !given.has(id))]);
}

/** The run with the error of a directive, shown at its line; undefined for any other error. */
function withDirectiveFault(
  run: NotebookRun,
  document: NotebookDocument,
  error: unknown,
): NotebookRun | undefined {
  if (!(error instanceof NotebookError)) return undefined;
  const place = placeOf(document, error.line);
  if (place === undefined) return undefined;
  const { message, hint = null } = error;
  const { body = "", parts = [], isFormer = false } = run.outputs.get(place.id) ?? {};
  const faults = [{ row: place.row, column: null, message, hint }];
  return { ...run, outputs: new Map(run.outputs).set(place.id, { body, parts, isFormer, faults }) };
}
