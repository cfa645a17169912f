import type { Clock } from "../../core/time.js";
import type { QueryEngine } from "../../db/query-engine.js";
import type { Notebook } from "../../notebook/notebook.js";
import { notebookPage } from "../../notebook/page/notebook-page.js";
import { PAGE_ROWS, pageContent } from "../../notebook/page/page-content.js";
import { type CellRun, computeParameters, runCells } from "../../notebook/run-notebook.js";
import type { LakeState } from "../session/lake-states.js";
import { givenOf } from "./run-lines.js";

/** Runs a notebook, and makes the same page as `barlake sql -f NOTEBOOK --html FILE`. */
export async function madePage(
  engine: QueryEngine,
  notebook: Notebook,
  given: ReadonlyMap<string, string>,
  {
    state,
    signal,
    clock,
  }: { readonly state: LakeState; readonly signal: AbortSignal; readonly clock: Clock },
): Promise<string> {
  const values = await computeParameters(engine, notebook, givenOf(notebook, given));
  const runs: CellRun[] = [];
  for await (const run of runCells(engine, notebook, values, PAGE_ROWS, signal)) {
    signal.throwIfAborted();
    runs.push(run);
  }
  const { snapshots, asOf } = state;
  return notebookPage(pageContent(notebook, { values, runs, snapshots, asOf, madeAt: clock.now() }));
}
