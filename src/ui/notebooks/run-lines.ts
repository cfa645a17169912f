import { BarlakeError, QueryError } from "../../core/errors.js";
import { type Clock, ticksOf } from "../../core/time.js";
import type { QueryEngine } from "../../db/query-engine.js";
import { valueKind } from "../../db/result/read-result.js";
import type { NamedValues, TypedValue } from "../../db/session/named-values.js";
import type { PointInTime } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { cellsNeeded } from "../../notebook/cell-links.js";
import { type Cell, type Notebook, type Parameter, shownName } from "../../notebook/notebook.js";
import { cellHtml } from "../../notebook/page/cell-html.js";
import { notebookPage, PAGE_ROWS, pageContent } from "../../notebook/page/notebook-page.js";
import { packChart } from "../../notebook/page/pack-charts.js";
import { type CellFault, type CellRun, computeParameters, runCells } from "../../notebook/run-notebook.js";
import type {
  CellFaultReport,
  CellLine,
  ControlKind,
  FaultReport,
  NotebookLine,
  ParameterReport,
  ResultReport,
} from "../page-data.js";
import { MOST_TEXT } from "../process/jobs.js";

/** A line of the output of a run as JSON. @throws {QueryError} where it is too large for a page. */
export function lineText(line: NotebookLine): string {
  const text = JSON.stringify(line);
  if (text.length <= MOST_TEXT) return text;
  const subject = line.kind === "begin" ? "the parameters are" : "an error is";
  throw new QueryError(`${subject} too large to be shown`, "", { hint: "shorten their values" });
}

/** Most rows of a table in the page, and most rows that a chart draws. */
const MOST_ROWS = { table: 2000, chart: 50_000 } as const;
const MOST_HTML = MOST_TEXT / 2;
const MOST_OPTIONS = 2000;

interface RunUse {
  readonly clock: Clock;
  readonly onCell: (cell: Cell) => void;
  /** Returns the results that were stored since its last call. */
  readonly taken: () => readonly ResultReport[];
  /** Numbers of the lines on which the requested cells begin. @default every cell */
  readonly requested?: readonly number[] | undefined;
}

/** The line of a cell follows when it has ended. Cells that only prepare requested ones have none, unless they fail. */
export async function* notebookLines(
  engine: QueryEngine,
  notebook: Notebook,
  given: ReadonlyMap<string, string>,
  { clock, onCell, taken, requested }: RunUse,
): AsyncGenerator<NotebookLine> {
  const { title, cells } = notebook;
  const shown = new Set(
    cells.flatMap(({ line }, index) => (requested?.includes(line) === false ? [] : [index])),
  );
  const needed = cellsNeeded(cells, shown);
  const running = { ...notebook, cells: cells.filter((_, index) => needed.has(index)) };
  try {
    const own = givenOf(notebook, given);
    const begin = { kind: "begin", title, cells: shown.size } as const;
    let values: NamedValues;
    try {
      values = await computeParameters(engine, notebook, own);
    } catch (error) {
      // The controls are sent nevertheless, because the user needs them to replace the refused value.
      const parameters = await refusedReports(engine, notebook, own);
      if (parameters !== undefined) yield { ...begin, parameters };
      throw error;
    }
    const parameters = await parameterReports(engine, notebook, values);
    yield { ...begin, parameters };
    let began = ticksOf(clock);
    // Results of the parameters' queries do not belong to a cell.
    taken();
    const most = { table: (asked: number) => Math.min(asked, MOST_ROWS.table), chart: MOST_ROWS.chart };
    for await (const run of runCells(engine, running, values, most, onCell)) {
      const now = ticksOf(clock);
      const tookMs = Math.round(now - began);
      began = now;
      const results = taken();
      if (shown.has(cells.indexOf(run.cell)) || run.fault !== undefined) yield cellLine(run, results, tookMs);
    }
    yield { kind: "end" };
  } catch (error) {
    yield { kind: "fault", fault: faultOf(error) };
  }
}

/** The line of a cell. A result whose text is too large for a page is replaced by an error. */
export function cellLine(run: CellRun, results: readonly ResultReport[], tookMs: number): CellLine {
  const { cell, fault: found } = run;
  const fault = found === undefined ? null : cellFaultReport(found);
  const html = textWithin(() => cellHtml(run, 0));
  if (html === undefined) {
    const failed = { cell, results: [], chart: undefined, fault: tooLarge(cell) };
    return cellLine(failed, results, tookMs);
  }
  const chart = run.chart === undefined ? {} : { chart: packChart(run.chart) };
  return { kind: "cell", line: cell.line, html, ...chart, fault, results, tookMs };
}

/** A text that is made; undefined where it is too large for a page, or even for JavaScript. */
function textWithin(make: () => string): string | undefined {
  try {
    const text = make();
    return text.length <= MOST_HTML ? text : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function tooLarge({ sqlLine }: Cell): CellFault {
  return {
    line: sqlLine,
    message: "the result is too large to be shown",
    hint: "select fewer columns or shorter texts; its file can be saved",
  };
}

/** Values of the parameters that a notebook declares. An address may also contain parameters of another notebook. */
function givenOf({ parameters }: Notebook, given: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const declared = parameters.map(({ name }) => name);
  return new Map([...given].filter(([name]) => declared.includes(name)));
}

async function parameterReports(
  engine: QueryEngine,
  { parameters, names }: Notebook,
  values: NamedValues,
): Promise<ParameterReport[]> {
  const reports: ParameterReport[] = [];
  for (const parameter of parameters) {
    const value = values.get(parameter.name) as TypedValue;
    reports.push({
      name: parameter.name,
      label: shownName(names, parameter.name),
      kind: controlOf(parameter, value),
      value: value.value === null ? "" : String(value.value),
      options: await optionsOf(engine, parameter, values),
      min: parameter.min ?? null,
      max: parameter.max ?? null,
    });
  }
  return reports;
}

/** The controls, if a given value is refused; undefined where the notebook's default values are, too. */
async function refusedReports(
  engine: QueryEngine,
  notebook: Notebook,
  given: ReadonlyMap<string, string>,
): Promise<ParameterReport[] | undefined> {
  try {
    const values = await computeParameters(engine, notebook, new Map());
    const reports = await parameterReports(engine, notebook, values);
    return reports.map((report) => ({ ...report, value: given.get(report.name) ?? report.value }));
  } catch {
    return undefined;
  }
}

function controlOf({ name }: Parameter, { type }: TypedValue): ControlKind {
  const kind = valueKind(type);
  if (kind === "date" || kind === "number") return kind;
  return name === "symbol" && kind === "text" ? "symbol" : "text";
}

async function optionsOf(
  engine: QueryEngine,
  { options }: Parameter,
  values: NamedValues,
): Promise<readonly string[] | null> {
  if (options === undefined) return null;
  const { columns } = await engine.result(options, values, MOST_OPTIONS);
  return (columns[0]?.values ?? []).flatMap((value) => (value === null ? [] : [String(value)]));
}

function cellFaultReport({ line, column, message, hint }: CellFault): CellFaultReport {
  return { line, column: column ?? null, message, hint: hint ?? null };
}

function faultOf(error: unknown): FaultReport {
  if (error instanceof BarlakeError) return { message: error.message, hint: error.hint ?? null };
  throw error;
}

/** Runs a notebook, and makes the same page as `barlake sql -f NOTEBOOK --html FILE`. */
export async function madePage(
  engine: QueryEngine,
  notebook: Notebook,
  given: ReadonlyMap<string, string>,
  facts: {
    readonly snapshots: readonly Snapshot[];
    readonly pointInTime: PointInTime;
    readonly madeAt: number;
  },
): Promise<string> {
  const values = await computeParameters(engine, notebook, givenOf(notebook, given));
  const runs: CellRun[] = [];
  for await (const run of runCells(engine, notebook, values, PAGE_ROWS)) runs.push(run);
  return notebookPage(pageContent(notebook, { values, runs, ...facts }));
}
