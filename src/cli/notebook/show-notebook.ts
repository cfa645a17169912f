import { writeFile } from "node:fs/promises";
import stringWidth from "string-width";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import type { QueryEngine } from "../../db/query-engine.js";
import type { StatementResult } from "../../db/result/statement-result.js";
import type { NamedValues } from "../../db/session/named-values.js";
import type { PointInTime } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { type Notebook, shownName, type View } from "../../notebook/notebook.js";
import { notebookTexts } from "../../notebook/notebook-texts.js";
import { formatValues } from "../../notebook/page/format-values.js";
import { notebookPage, PAGE_ROWS, pageContent, parameterTexts } from "../../notebook/page/notebook-page.js";
import { type CellRun, computeParameters, runCells } from "../../notebook/run-notebook.js";
import { chartText } from "../charts/chart-text.js";
import { EXIT } from "../cli.js";
import type { QueryProgress } from "../query-progress.js";
import { replaceFile } from "../results/write-result.js";
import { count, paint, plural, size, table, terminalWidth } from "../text.js";
import type { NotebookOptions } from "./notebook-options.js";

/** A cell for a terminal: its prose, tables and charts. @param width columns of the terminal. */
export function notebookCellText({ cell, results, chart }: CellRun, width: number): string {
  const { view } = cell;
  const parts: string[] = cell.prose === "" ? [] : [proseText(cell.prose)];
  if (view.title !== undefined) parts.push(paint("bold", view.title));
  for (const result of results) {
    const isLast = result === results.at(-1);
    if (result.rows === 0 && view.empty !== undefined) parts.push(paint("dim", view.empty));
    else if (isLast && view.kind === "figures" && result.rows > 0) parts.push(figuresText(result, view));
    else if (isLast && chart !== undefined) parts.push(chartText(chart, width));
    else parts.push(tableText(result, view));
  }
  return parts.length === 0 ? "" : `${parts.join("\n")}\n\n`;
}

/** Markdown is printed as it is; only headings and bold text are styled. */
function proseText(prose: string): string {
  return prose
    .replaceAll(/^#+\s+(.*)$/gm, (_, heading: string) => paint("bold", heading))
    .replaceAll(/\*\*([^*]+)\*\*/g, (_, bold: string) => paint("bold", bold));
}

function tableText({ columns, rows }: StatementResult, view: View): string {
  const texts = columns.map((column) => formatValues(column, view.percent.includes(column.name)));
  const shown = columns[0]?.values.length ?? 0;
  const lines = Array.from({ length: shown }, (_, row) => texts.map((column) => column[row]));
  const names = columns.map(({ name }) => view.names?.get(name) ?? name);
  const said = notebookTexts(view.language);
  const summary = shown < rows ? said.first(count(shown), count(rows)) : said.rows(count(rows));
  return `${table(names, lines)}\n${paint("dim", summary)}`;
}

function figuresText({ columns }: StatementResult, view: View): string {
  const names = columns.map(({ name }) => shownName(view.names, name));
  const width = Math.max(...names.map(stringWidth));
  const lines = columns.map((column, at) => {
    const [value] = formatValues(
      { ...column, values: column.values.slice(0, 1) },
      view.percent.includes(column.name),
    );
    const name = names[at] ?? "";
    return `${paint("dim", name)}${" ".repeat(width - stringWidth(name))}  ${value ?? "·"}`;
  });
  return lines.join("\n");
}

export interface NotebookPlace {
  readonly engine: QueryEngine;
  readonly progress: QueryProgress;
  readonly snapshots: readonly Snapshot[];
  readonly pointInTime: PointInTime;
  readonly limit: number;
  readonly signal: AbortSignal;
}

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
  const parameters = parameterTexts(values).map(
    ([name, value]) => `${paint("dim", notebook.names?.get(name) ?? name)} ${value}`,
  );
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
  { engine, progress, snapshots, pointInTime, signal }: NotebookPlace,
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
  const page = await notebookPage(pageContent(notebook, { values, runs, snapshots, pointInTime, madeAt }));
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
