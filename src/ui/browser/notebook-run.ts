import type { CellLine, NotebookLine, ParameterReport } from "../page-data.js";

/** What a run of a notebook has given so far. */
export interface NotebookRun {
  readonly title: string;
  readonly parameters: readonly ParameterReport[];
  readonly cells: readonly CellLine[];
  /** Cells of the notebook. */
  readonly planned: number;
  /** `stopped`: it ended before its last cell. */
  readonly status: "running" | "done" | "stopped";
  readonly tookMs: number;
}

/** The run after its next line; undefined until it has begun. */
export function runAfter(
  run: NotebookRun | undefined,
  line: NotebookLine,
  tookMs: number,
): NotebookRun | undefined {
  if (line.kind === "begin") {
    const { title, parameters, cells: planned } = line;
    return { title, parameters, cells: [], planned, status: "running", tookMs };
  }
  if (run === undefined) return undefined;
  if (line.kind === "cell") return { ...run, cells: [...run.cells, line], tookMs };
  return { ...run, status: line.kind === "end" ? "done" : "stopped", tookMs };
}

/** A run of which no more lines come: without its end it has stopped. */
export function runAtEnd(run: NotebookRun | undefined): NotebookRun | undefined {
  return run?.status === "running" ? { ...run, status: "stopped" } : run;
}
