import { BarlakeError, messageOf, QueryError, UsageError } from "../core/errors.js";
import type { QueryEngine } from "../db/query-engine.js";
import { ident } from "../db/quote.js";
import { errorPlace, placeText, unitsBefore } from "../db/result/error-place.js";
import { firstRows, type StatementResult } from "../db/result/statement-result.js";
import type { NamedValues, TypedValue } from "../db/session/named-values.js";
import { allStatements } from "../db/sql-tokens.js";
import { type ChartData, chartData } from "./chart-data.js";
import { type Cell, type Notebook, NotebookError } from "./notebook.js";
import { PLAIN_TABLE } from "./parse/read-directive.js";

export interface CellFault {
  /** Line of the file, from 1. */
  readonly line: number;
  /**
   * Number of UTF-16 units before the position in that line of the file; undefined where the engine reports no
   * position.
   */
  readonly column?: number | undefined;
  readonly message: string;
  readonly hint: string | undefined;
  /** The line of the SQL with the error, and a caret below it; undefined where the engine reports no position. */
  readonly place?: string | undefined;
}

export interface CellRun {
  readonly cell: Cell;
  /** The results of all statements that return rows, in order. */
  readonly results: readonly StatementResult[];
  /** The last result as the data of the cell's chart; undefined if the cell has no chart, or no rows for it. */
  readonly chart: ChartData | undefined;
  /** Why the cell ended early; its remaining statements were not run. Undefined where it did not fail. */
  readonly fault: CellFault | undefined;
}

export interface MostRows {
  /** Returns the most rows of a table for the number that the cell requests. */
  readonly table: (asked: number) => number;
  readonly chart: number;
}

/**
 * Computes a notebook's parameters in order. It also sets them as variables of a DuckDB session, so that
 * `getvariable('name')` can be used where a statement does not accept `$name`, as in CREATE VIEW.
 *
 * @param given values as texts, by name.
 * @throws {UsageError} for a value without a parameter, or of another type.
 */
export async function computeParameters(
  engine: QueryEngine,
  { path, parameters }: Notebook,
  given: ReadonlyMap<string, string>,
): Promise<NamedValues> {
  const stray = [...given.keys()].find((name) => !parameters.some((parameter) => parameter.name === name));
  if (stray !== undefined) {
    const names = parameters.map(({ name }) => name);
    throw new UsageError(`parameter ${stray} is not declared in ${path}`, {
      hint: names.length > 0 ? `declared: ${names.join(", ")}` : "declare it with -- %% param NAME = VALUE",
    });
  }
  const values = new Map<string, TypedValue>();
  for (const { name, expression, line, min, max } of parameters) {
    try {
      values.set(name, await engine.value(expression, values, given.get(name)));
      expectWithin(Number(values.get(name)?.value), min, max);
      if (engine.hasVariables !== false)
        await engine.result(`SET VARIABLE ${ident(name)} = $${name}`, values, 0);
    } catch (error) {
      const text = given.get(name);
      const subject = text === undefined ? `param ${name}` : `param ${name}: "${text}" given`;
      throw new NotebookError(path, line, `${subject}: ${firstLine(messageOf(error))}`);
    }
  }
  return values;
}

/** Checks the bounds of a parameter. @throws {UsageError} for a number outside the bounds. */
function expectWithin(value: number, min: number | undefined, max: number | undefined): void {
  if (min !== undefined && value < min) throw new UsageError(`it is below ${min}, the least`);
  if (max !== undefined && value > max) throw new UsageError(`it is above ${max}, the greatest`);
}

/**
 * Runs the cells one after the other and yields the outcome of each. A cell that fails does not stop the others.
 *
 * @param onCell is called before each cell. What it throws ends the run.
 */
export async function* runCells(
  engine: QueryEngine,
  notebook: Notebook,
  values: NamedValues,
  most: MostRows,
  onCell: (cell: Cell) => void = () => {},
): AsyncGenerator<CellRun> {
  for (const cell of notebook.cells) {
    onCell(cell);
    yield await runCell(engine, cell, values, most);
  }
}

async function runCell(
  engine: QueryEngine,
  cell: Cell,
  values: NamedValues,
  most: MostRows,
): Promise<CellRun> {
  const { view } = cell;
  const isChart = view.kind !== "table" && view.kind !== "figures";
  const tableRows = most.table(view.kind === "table" ? view.rows : PLAIN_TABLE.rows);
  const limit = isChart ? most.chart : tableRows;
  const results: StatementResult[] = [];
  for (const { sql, line } of allStatements(cell.sql)) {
    try {
      const result = await engine.result(sql, values, limit);
      if (result.columns.length === 0) continue;
      // The chart uses the last result. The results before it are shown as tables.
      const before = results.pop();
      if (before !== undefined) results.push(firstRows(before, tableRows));
      results.push(result);
    } catch (error) {
      return { cell, results, chart: undefined, fault: faultOf(error, cell, line) };
    }
  }
  const last = results.at(-1);
  try {
    const parameter = (name: string): string | undefined => {
      const value = values.get(name)?.value;
      return typeof value === "string" ? value : undefined;
    };
    const chart =
      isChart && last !== undefined && last.rows > 0 ? chartData(view, last, parameter) : undefined;
    return { cell, results, chart, fault: undefined };
  } catch (error) {
    return { cell, results, chart: undefined, fault: chartFault(error, cell) };
  }
}

/**
 * The engine's message, with the line of the file that it refers to. @param statementLine line in the cell's SQL, from
 * 1
 */
function faultOf(error: unknown, { sql, sqlLine }: Cell, statementLine: number): CellFault {
  if (!(error instanceof BarlakeError)) throw error;
  const place = error instanceof QueryError ? errorPlace(error) : undefined;
  const within = statementLine - 1 + (place?.line ?? 0);
  // A statement may begin after another one on the same line.
  const start = place === undefined ? 0 : Math.max(0, (sql.split("\n")[within] ?? "").indexOf(place.text));
  return {
    line: sqlLine + within,
    column: place === undefined ? undefined : start + unitsBefore(place),
    message: firstLine(error.message),
    hint: error.hint,
    place: place === undefined ? undefined : placeText(place),
  };
}

function chartFault(error: unknown, { line }: Cell): CellFault {
  if (!(error instanceof BarlakeError)) throw error;
  return { line, message: firstLine(error.message), hint: error.hint };
}

/** The engine's message without its excerpt of the statement. */
function firstLine(message: string): string {
  return (message.split(/\n+LINE \d+:/)[0] ?? "").trim();
}
