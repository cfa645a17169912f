import type { CellLine, NotebookLine, ParameterReport } from "../../page-data.js";
import { type NotebookDocument, placeOf } from "./notebook-document.js";

export interface PlacedFault {
  /** Row of the cell's text, from 0. */
  readonly row: number;
  /** Number of UTF-16 units before the position in that row; null where the whole row is meant. */
  readonly column: number | null;
  readonly message: string;
  readonly hint: string | null;
}

/** The output of a cell of the document. A cell with parameters in its prose has several parts. */
export interface CellOutput {
  readonly body: string;
  /** Whether a later run that requested the cell has not returned it. */
  readonly isFormer: boolean;
  readonly parts: readonly CellLine[];
  readonly faults: readonly PlacedFault[];
}

export interface NotebookRun {
  readonly title: string;
  readonly parameters: readonly ParameterReport[];
  readonly outputs: ReadonlyMap<number, CellOutput>;
  readonly given: ReadonlySet<number>;
  /** Number of the notebook's cells that this run has returned, and number that were requested. */
  readonly done: number;
  readonly planned: number;
  /** `stopped`: the run ended before its last cell. */
  readonly status: "running" | "done" | "stopped";
  readonly tookMs: number;
}

/** The document of a run, and the ids of the requested cells; undefined: every cell. */
export interface RunPlan {
  readonly document: NotebookDocument;
  readonly ids: ReadonlySet<number> | undefined;
}

/** The run when another one begins: what it requests is of a former run until it returns it. */
export function formerRun(run: NotebookRun | undefined, ids: RunPlan["ids"]): NotebookRun | undefined {
  if (run === undefined) return undefined;
  const outputs = [...run.outputs].map(
    ([id, output]) => [id, ids?.has(id) === false ? output : { ...output, isFormer: true }] as const,
  );
  return { ...run, outputs: new Map(outputs) };
}

/** The run after its next line; undefined until it has begun. Cells that are not requested do not change. */
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
  const body = plan.document.cells.find((cell) => cell.id === id)?.body ?? "";
  const before = run.given.has(id) ? run.outputs.get(id) : undefined;
  const nothing: CellOutput = { body, isFormer: false, parts: [], faults: [] };
  const outputs = new Map(run.outputs).set(id, withPart(before ?? nothing, line, plan));
  return { ...run, outputs, given: new Set(run.given).add(id), done: run.done + 1, tookMs };
}

/** The run of a notebook that could not begin, because a directive of its text has an error. */
export function noRun(title: string): NotebookRun {
  const nothing = {
    parameters: [],
    outputs: new Map(),
    given: new Set<number>(),
    done: 0,
    planned: 0,
    tookMs: 0,
  };
  return { title, ...nothing, status: "stopped" };
}

/** The run after its last line. If no end was reported, it has stopped. */
export function runAtEnd(run: NotebookRun | undefined): NotebookRun | undefined {
  return run?.status === "running" ? { ...run, status: "stopped" } : run;
}

function withPart(output: CellOutput, line: CellLine, { document }: RunPlan): CellOutput {
  const { fault } = line;
  const parts = [...output.parts, line];
  if (fault === null) return { ...output, parts };
  const { column, message, hint } = fault;
  const row = placeOf(document, fault.line)?.row ?? 0;
  return { ...output, parts, faults: [...output.faults, { row, column, message, hint }] };
}

/** The outputs after a run. Requested cells that returned nothing are empty, or no longer exist. */
function outputsAtEnd({ outputs, given }: NotebookRun, { document, ids }: RunPlan): NotebookRun["outputs"] {
  const known = new Set(document.cells.map(({ id }) => id));
  const stays = (id: number): boolean => known.has(id) && (given.has(id) || ids?.has(id) === false);
  return new Map([...outputs].filter(([id]) => stays(id)));
}
