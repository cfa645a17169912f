import { writeFile } from "node:fs/promises";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import type { QueryEngine } from "../../db/query-engine.js";
import type { NamedValues } from "../../db/session/named-values.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { Notebook } from "../../notebook/notebook.js";
import { notebookPage } from "../../notebook/page/notebook-page.js";
import { PAGE_ROWS, pageContent, parameterTexts } from "../../notebook/page/page-content.js";
import { type CellRun, computeParameters, runCells } from "../../notebook/run-notebook.js";
import { EXIT } from "../exit-codes.js";
import { replaceFile } from "../results/replace-file.js";
import type { QueryProgress } from "../text/query-progress.js";
import { paint, plural, size, terminalWidth } from "../text/text.js";
import { notebookCellText } from "./notebook-cell-text.js";
import type { NotebookOptions } from "./notebook-options.js";

/** Where a notebook is run. */
export interface NotebookPlace {
  readonly engine: QueryEngine;
  readonly progress: QueryProgress;
  readonly snapshots: readonly Snapshot[];
  readonly asOf: number | undefined;
  /** Maximum number of rows of a table in the terminal. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Maximum number of rows that a chart of the terminal draws. */
const CHART_ROWS = 20_000;

/** Runs a notebook and shows it, as a page or in the terminal. @returns the exit code. */
export async function showNotebook(
  notebook: Notebook,
  options: NotebookOptions,
  place: NotebookPlace,
): Promise<number> {
  if (notebook.cells.length === 0) {
    throw new UsageError(`file ${notebook.path} has no SQL`, { hint: "write a statement into it" });
  }
  const values = await computeParameters(place.engine, notebook, options.param ?? new Map());
  return options.html === undefined
    ? showInTerminal(notebook, values, place)
    : writePage(options.html, notebook, values, place);
}

async function showInTerminal(
  notebook: Notebook,
  values: NamedValues,
  { engine, progress, limit, signal }: NotebookPlace,
): Promise<number> {
  let exit: number = EXIT.done;
  const most = { table: (asked: number) => Math.min(asked, limit), chart: CHART_ROWS };
  const parameters = parameterTexts(values).map(([name, value]) => `${paint("dim", name)} ${value}`);
  if (parameters.length > 0) process.stdout.write(`${parameters.join("   ")}\n\n`);
  for await (const run of watched(
    runCells(engine, notebook, values, most, () => signal.throwIfAborted()),
    progress,
  )) {
    if (signal.aborted) return EXIT.interrupted;
    process.stdout.write(notebookCellText(run, terminalWidth() ?? 100));
    if (run.fault !== undefined) exit = reportFault(notebook, run);
  }
  return exit;
}

async function writePage(
  target: string,
  notebook: Notebook,
  values: NamedValues,
  { engine, progress, snapshots, asOf, signal }: NotebookPlace,
): Promise<number> {
  let exit: number = EXIT.done;
  const runs: CellRun[] = [];
  for await (const run of watched(
    runCells(engine, notebook, values, PAGE_ROWS, () => signal.throwIfAborted()),
    progress,
  )) {
    if (signal.aborted) return EXIT.interrupted;
    runs.push(run);
    if (run.fault !== undefined) exit = reportFault(notebook, run);
  }
  const madeAt = systemClock.now();
  const page = await notebookPage(pageContent(notebook, { values, runs, snapshots, asOf, madeAt }));
  await replaceFile(target, (path) => writeFile(path, page));
  const charts = runs.filter(({ chart }) => chart !== undefined).length;
  const figures = [plural(runs.length, "cell"), plural(charts, "chart"), size(Buffer.byteLength(page))];
  process.stdout.write(`${paint("green", "wrote")} ${target}: ${figures.join(", ")}\n`);
  return exit;
}

/** The items of a generator; while one is computed, its progress is shown. */
async function* watched<T>(items: AsyncGenerator<T>, progress: QueryProgress): AsyncGenerator<T> {
  for (;;) {
    const next = await progress.during(() => items.next());
    if (next.done === true) return;
    yield next.value;
  }
}

function reportFault({ path }: Notebook, { fault }: CellRun): number {
  if (fault === undefined) return EXIT.done;
  process.stderr.write(`${paint("red", "error:")} ${path}:${fault.line}: ${fault.message}\n`);
  if (fault.hint !== undefined) process.stderr.write(`${paint("dim", "hint:")}  ${fault.hint}\n`);
  return EXIT.partial;
}
