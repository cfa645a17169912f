import type { CellLine, NotebookLine, ParameterReport } from "../../../page-data.js";
import { type NotebookDocument, placeOf } from "../notebook-document.js";

/** An error at its place in a cell. */
export interface PlacedFault {
  /** Row of the cell's text, from 0. */
  readonly row: number;
  /** UTF-16 units before the place in that row; null where it is the whole row. */
  readonly column: number | null;
  readonly message: string;
  readonly hint: string | null;
}

/** What a cell of the document shows: a cell with parameters among its prose has several parts. */
export interface CellOutput {
  readonly parts: readonly CellLine[];
  readonly faults: readonly PlacedFault[];
}

/** What the runs of a notebook have given so far. */
export interface NotebookRun {
  readonly title: string;
  readonly parameters: readonly ParameterReport[];
  /** By the ids of the document's cells. */
  readonly outputs: ReadonlyMap<number, CellOutput>;
  /** Cells of the document that this run has given. */
  readonly given: ReadonlySet<number>;
  /** Cells of the notebook that it has given, and that were requested. */
  readonly done: number;
  readonly planned: number;
  /** `stopped`: it ended before its last cell. */
  readonly status: "running" | "done" | "stopped";
  readonly tookMs: number;
}

/** The text of a run, and the cells of the document that were requested: every cell where they are undefined. */
export interface RunPlan {
  readonly document: NotebookDocument;
  readonly ids: ReadonlySet<number> | undefined;
}

const NOTHING: CellOutput = { parts: [], faults: [] };

/** The run after its next line; undefined until the first one has begun. Cells that a run does not request remain as they are. */
export function runAfter(
  run: NotebookRun | undefined,
  line: NotebookLine,
  plan: RunPlan,
  tookMs: number,
): NotebookRun | undefined {
  if (line.kind === "begin") {
    const { title, parameters, cells: planned } = line;
    const outputs = run?.outputs ?? new Map<number, CellOutput>();
    return { title, parameters, outputs, given: new Set(), done: 0, planned, status: "running", tookMs };
  }
  if (run === undefined) return undefined;
  if (line.kind === "fault") return { ...run, status: "stopped", tookMs };
  if (line.kind === "end") return { ...run, outputs: outputsAtEnd(run, plan), status: "done", tookMs };
  const id = placeOf(plan.document, line.line)?.id ?? 0;
  const before = run.given.has(id) ? (run.outputs.get(id) ?? NOTHING) : NOTHING;
  const outputs = new Map(run.outputs).set(id, withPart(before, line, plan));
  return { ...run, outputs, given: new Set(run.given).add(id), done: run.done + 1, tookMs };
}

/** A run of which no more lines come: without its end it has stopped. */
export function runAtEnd(run: NotebookRun | undefined): NotebookRun | undefined {
  return run?.status === "running" ? { ...run, status: "stopped" } : run;
}

function withPart({ parts, faults }: CellOutput, line: CellLine, { document }: RunPlan): CellOutput {
  const { fault } = line;
  if (fault === null) return { parts: [...parts, line], faults };
  const { column, message, hint } = fault;
  const row = placeOf(document, fault.line)?.row ?? 0;
  return { parts: [...parts, line], faults: [...faults, { row, column, message, hint }] };
}

/** Cells that were requested and gave nothing are empty now, or gone. */
function outputsAtEnd({ outputs, given }: NotebookRun, { document, ids }: RunPlan): NotebookRun["outputs"] {
  const known = new Set(document.cells.map(({ id }) => id));
  const stays = (id: number): boolean => known.has(id) && (given.has(id) || ids?.has(id) === false);
  return new Map([...outputs].filter(([id]) => stays(id)));
}
