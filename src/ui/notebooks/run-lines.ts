import { BarlakeError } from "../../core/errors.js";
import { type Clock, ticksOf } from "../../core/time.js";
import type { QueryEngine } from "../../db/query-engine.js";
import { valueKind } from "../../db/result/read-result.js";
import type { NamedValues, TypedValue } from "../../db/session/named-values.js";
import { cellsNeeded } from "../../notebook/cell-links.js";
import type { Notebook, Parameter } from "../../notebook/notebook.js";
import { cellHtml } from "../../notebook/page/cell-html.js";
import { packChart } from "../../notebook/page/pack-charts.js";
import { type CellFault, computeParameters, runCells } from "../../notebook/run-notebook.js";
import type {
  CellFaultReport,
  ControlKind,
  FaultReport,
  NotebookLine,
  ParameterReport,
  ResultReport,
} from "../page-data.js";

/** Most rows of a table in the page, and most rows that a chart draws. */
const MOST_ROWS = { table: 2000, chart: 50_000 } as const;
/** Most values in a list of options. */
const MOST_OPTIONS = 2000;

/** Options of a run of a notebook. */
interface RunUse {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Returns the results that were stored since its last call. */
  readonly taken: () => readonly ResultReport[];
  /** Numbers of the lines on which the requested cells begin. @default every cell */
  readonly requested?: readonly number[] | undefined;
}

/**
 * Runs a notebook. The output is returned line by line; the line of a cell follows when the cell has ended. Cells that
 * only prepare the requested ones run without a line, unless they fail.
 *
 * @throws the signal's reason if it aborts: it is more precise than the error of the interrupted statement.
 */
export async function* notebookLines(
  engine: QueryEngine,
  notebook: Notebook,
  given: ReadonlyMap<string, string>,
  { signal, clock, taken, requested }: RunUse,
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
      signal.throwIfAborted();
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
    for await (const run of runCells(engine, running, values, most, signal)) {
      signal.throwIfAborted();
      const now = ticksOf(clock);
      const chart = run.chart === undefined ? {} : { chart: packChart(run.chart) };
      const tookMs = Math.round(now - began);
      began = now;
      const results = taken();
      if (!shown.has(cells.indexOf(run.cell)) && run.fault === undefined) continue;
      const fault = run.fault === undefined ? null : cellFaultReport(run.fault);
      yield { kind: "cell", line: run.cell.line, html: cellHtml(run, 0), ...chart, fault, results, tookMs };
    }
    yield { kind: "end" };
  } catch (error) {
    signal.throwIfAborted();
    yield { kind: "fault", fault: faultOf(error) };
  }
}

/** Values of the parameters that a notebook declares. An address may also contain parameters of another notebook. */
export function givenOf(
  { parameters }: Notebook,
  given: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const declared = parameters.map(({ name }) => name);
  return new Map([...given].filter(([name]) => declared.includes(name)));
}

async function parameterReports(
  engine: QueryEngine,
  { parameters }: Notebook,
  values: NamedValues,
): Promise<ParameterReport[]> {
  const reports: ParameterReport[] = [];
  for (const parameter of parameters) {
    const value = values.get(parameter.name) as TypedValue;
    reports.push({
      name: parameter.name,
      kind: controlOf(parameter, value),
      value: value.value === null ? "" : String(value.value),
      options: await optionsOf(engine, parameter, values),
      min: parameter.min ?? null,
      max: parameter.max ?? null,
    });
  }
  return reports;
}

/**
 * The controls, if one of the given values is refused; undefined where the notebook's default values are refused, too.
 */
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
