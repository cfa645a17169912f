import type { QueryEngine } from "../../db/query-engine.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { Notebook } from "../../notebook/notebook.js";
import { notebookPage } from "../../notebook/page/notebook-page.js";
import { PAGE_ROWS, pageContent } from "../../notebook/page/page-content.js";
import { type CellRun, computeParameters, runCells } from "../../notebook/run-notebook.js";
import { givenOf } from "./run-lines.js";

/** Runs a notebook, and makes the same page as `barlake sql -f NOTEBOOK --html FILE`. */
export async function madePage(
  engine: QueryEngine,
  notebook: Notebook,
  given: ReadonlyMap<string, string>,
  facts: {
    readonly snapshots: readonly Snapshot[];
    readonly asOf: number | undefined;
    readonly madeAt: number;
  },
): Promise<string> {
  const values = await computeParameters(engine, notebook, givenOf(notebook, given));
  const runs: CellRun[] = [];
  for await (const run of runCells(engine, notebook, values, PAGE_ROWS)) runs.push(run);
  return notebookPage(pageContent(notebook, { values, runs, ...facts }));
}
