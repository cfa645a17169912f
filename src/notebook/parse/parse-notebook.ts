import { allStatements } from "../../db/statement/split-statements.js";
import { type Cell, type Notebook, NotebookError, type Parameter, type View } from "../notebook.js";
import { directiveOn, parameterIn } from "./directive-line.js";
import { DirectiveFault, PLAIN_TABLE, readView } from "./read-directive.js";
import { readParameter } from "./read-parameter.js";

const COMMENT = /^--(?: (.*)|(.*))$/s;

/** A cell's lines in the file. */
interface Piece {
  readonly line: number;
  readonly view: View;
  readonly lines: string[];
  /** Line number of the first of `lines`. */
  readonly linesFrom: number;
}

/**
 * Parses a SQL file into cells. A line `-- %%` begins a cell; the comments at the beginning of a cell are its prose,
 * the remaining text is SQL. A file without such a line is one cell of SQL, whose comments are not prose.
 *
 * @throws {NotebookError} for an invalid directive, with its line and the permitted values.
 */
export function parseNotebook(text: string, path: string): Notebook {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (!lines.some((line) => directiveOn(line) !== undefined)) return plainNotebook(lines.join("\n"), path);
  const parameters: Parameter[] = [];
  const pieces: Piece[] = [{ line: 1, view: PLAIN_TABLE, lines: [], linesFrom: 1 }];
  for (const [index, content] of lines.entries()) {
    const directive = directiveOn(content);
    if (directive === undefined) pieces.at(-1)?.lines.push(content);
    else {
      const line = index + 1;
      const view = atLine(path, line, () => readLine(directive, line, parameters));
      pieces.push({ line, view, lines: [], linesFrom: line + 1 });
    }
  }
  const cells = pieces.map(cellOf).filter(({ prose, sql }) => prose !== "" || sql !== "");
  const heading = cells.map(({ prose }) => /^#\s+(.+)$/m.exec(prose)?.[1]).find((found) => found);
  return { path, title: heading ?? nameOf(path), parameters, cells, isPlain: false };
}

function plainNotebook(sql: string, path: string): Notebook {
  const isEmpty = allStatements(sql).length === 0;
  const cell: Cell = { line: 1, prose: "", sql, sqlLine: 1, view: PLAIN_TABLE };
  return { path, title: nameOf(path), parameters: [], cells: isEmpty ? [] : [cell], isPlain: true };
}

/** Reads a directive. A parameter is added to `parameters`; the view of its cell is a table. */
function readLine(directive: string, line: number, parameters: Parameter[]): View {
  const declared = parameterIn(directive);
  if (declared === undefined) return readView(directive);
  const parameter = { ...readParameter(declared), line };
  if (parameters.some(({ name }) => name === parameter.name))
    throw new DirectiveFault(`param: ${parameter.name} is declared already`, "another name");
  parameters.push(parameter);
  return PLAIN_TABLE;
}

/**
 * The name of a file without its extension. `node:path` is not used, because pages in a browser parse notebooks, too.
 */
function nameOf(path: string): string {
  return (path.split(/[\\/]/).at(-1) ?? path).replace(/\.sql$/, "");
}

function atLine<T>(path: string, line: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DirectiveFault)
      throw new NotebookError(path, line, error.message, `allowed: ${error.allowed}`);
    throw error;
  }
}

function cellOf({ line, view, lines, linesFrom }: Piece): Cell {
  let at = lines.findIndex((text) => text.trim() !== "" && !COMMENT.test(text));
  if (at < 0) at = lines.length;
  const prose = lines.slice(0, at).map((text) => {
    const [, spaced, bare = ""] = COMMENT.exec(text) ?? [];
    return spaced ?? bare;
  });
  const sql = lines.slice(at).join("\n").trimEnd();
  return {
    line,
    view,
    prose: prose.join("\n").trim(),
    sql: allStatements(sql).length === 0 ? "" : sql,
    sqlLine: linesFrom + at,
  };
}
