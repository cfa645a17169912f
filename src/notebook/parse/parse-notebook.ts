import type { Language } from "../../core/language.js";
import { allStatements } from "../../db/sql-tokens.js";
import { type Cell, type Notebook, NotebookError, type Parameter, type View } from "../notebook.js";
import { DirectiveFault, PLAIN_TABLE, readNames, readParameter, readView } from "./read-directive.js";

const DIRECTIVE = /^--\s*%%(.*)$/s;

/** The text after `-- %%` in a line of a notebook, without blanks around it; undefined for any other line. */
export function directiveOn(line: string): string | undefined {
  return DIRECTIVE.exec(line)?.[1]?.trim();
}

/** The text after `param` in a directive; undefined for any other directive. */
function parameterIn(directive: string): string | undefined {
  return /^param\b(.*)$/s.exec(directive)?.[1];
}

/** The text after `names.zh` in a directive; undefined for any other directive. */
function namesIn(directive: string): string | undefined {
  return /^names\.zh(?!\S)(.*)$/s.exec(directive)?.[1];
}

const IN_CHINESE = /^--\s+zh:\s?/;

/**
 * The comments of some lines in a language: those after `-- zh:` are Chinese, and the English ones are shown where there
 * are none. Lines that are no comments remain.
 */
function inLanguage(lines: readonly string[], language: Language): string[] {
  const isOther =
    language === "zh" && lines.some((line) => IN_CHINESE.test(line))
      ? (line: string) => line.startsWith("--") && !IN_CHINESE.test(line)
      : (line: string) => IN_CHINESE.test(line);
  return lines.filter((line) => !isOther(line)).map((line) => line.replace(IN_CHINESE, "-- "));
}

interface NotebookHead {
  /** Its first heading. */
  readonly title: string | undefined;
  /** The paragraph below the heading, without marks of Markdown. */
  readonly description: string | undefined;
}

const HEADING = /^--\s*#+\s*(.+)$/;
const PROSE = /^--\s+(\S.*)$/;

/** Reads the first heading of a notebook, and the paragraph below it. Nothing else is parsed, so that no text is wrong. */
export function notebookHead(text: string, language: Language = "en"): NotebookHead {
  const all = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const heading = all.findIndex((line) => HEADING.test(line));
  const end = all.findIndex((line, at) => at > heading && directiveOn(line) !== undefined);
  const lines = inLanguage(end < 0 ? all : all.slice(0, end), language);
  const at = lines.findIndex((line) => HEADING.test(line));
  const title = HEADING.exec(lines[at] ?? "")?.[1]?.trim();
  const below = lines.slice(at + 1);
  const first = below.findIndex((line) => !/^(?:--)?\s*$/.test(line));
  const paragraph: string[] = [];
  for (const line of at < 0 || first < 0 ? [] : below.slice(first)) {
    const isOther = HEADING.test(line) || directiveOn(line) !== undefined;
    const prose = isOther ? undefined : PROSE.exec(line.trimEnd())?.[1];
    if (prose === undefined) break;
    paragraph.push(prose);
  }
  const description = paragraph.join(" ").replace(/\*\*|`/g, "");
  return { title, description: description === "" ? undefined : description };
}

/**
 * Divides a notebook's text into the pieces that a user edits. Each piece begins at a line `-- %%`; declarations of
 * parameters and names belong to the cell above them. The joined pieces equal the text, byte for byte.
 */
export function sourceCells(text: string): string[] {
  const starts: number[] = [];
  let at = 0;
  for (const line of text.split("\n")) {
    const shown = at === 0 ? line.replace(/^\uFEFF/, "") : line;
    const directive = directiveOn(shown.replace(/\r$/, ""));
    const isDeclaration =
      directive !== undefined && (parameterIn(directive) ?? namesIn(directive)) !== undefined;
    if (at === 0 || (directive !== undefined && !isDeclaration)) starts.push(at);
    at += line.length + 1;
  }
  return starts.map((start, index) => text.slice(start, starts[index + 1]));
}

const COMMENT = /^--(?: (.*)|(.*))$/s;

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
 * @param language of prose, titles and names, where the file has them in it.
 * @throws {NotebookError} for an invalid directive, with its line and the permitted values.
 */
export function parseNotebook(text: string, path: string, language: Language = "en"): Notebook {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (!lines.some((line) => directiveOn(line) !== undefined))
    return plainNotebook(lines.join("\n"), path, language);
  const parameters: Parameter[] = [];
  const names = new Map<string, string>();
  const pieces: Piece[] = [{ line: 1, view: PLAIN_TABLE, lines: [], linesFrom: 1 }];
  for (const [index, content] of lines.entries()) {
    const directive = directiveOn(content);
    if (directive === undefined) pieces.at(-1)?.lines.push(content);
    else {
      const line = index + 1;
      const view = atLine(path, line, () => readLine(directive, line, { parameters, names, language }));
      pieces.push({ line, view, lines: [], linesFrom: line + 1 });
    }
  }
  const said = language === "en" ? {} : { language, names };
  const cells = pieces
    .map((piece) => cellOf(piece, said))
    .filter(({ prose, sql }) => prose !== "" || sql !== "");
  const heading = cells.map(({ prose }) => /^#\s+(.+)$/m.exec(prose)?.[1]).find((found) => found);
  return { path, title: heading ?? nameOf(path), parameters, cells, isPlain: false, ...said };
}

function plainNotebook(sql: string, path: string, language: Language): Notebook {
  const isEmpty = allStatements(sql).length === 0;
  const said = language === "en" ? {} : { language };
  const cell: Cell = { line: 1, prose: "", sql, sqlLine: 1, view: { ...PLAIN_TABLE, ...said } };
  return { path, title: nameOf(path), parameters: [], cells: isEmpty ? [] : [cell], isPlain: true, ...said };
}

/** Reads a directive. Parameters and names are added to those before; the view of their cell is a table. */
function readLine(
  directive: string,
  line: number,
  {
    parameters,
    names,
    language,
  }: { readonly parameters: Parameter[]; readonly names: Map<string, string>; readonly language: Language },
): View {
  const shown = namesIn(directive);
  if (shown !== undefined) {
    for (const [name, text] of readNames(shown)) names.set(name, text);
    return PLAIN_TABLE;
  }
  const declared = parameterIn(directive);
  if (declared === undefined) return readView(directive, language);
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

function cellOf({ line, view, lines, linesFrom }: Piece, said: Pick<Notebook, "language" | "names">): Cell {
  let at = lines.findIndex((text) => text.trim() !== "" && !COMMENT.test(text));
  if (at < 0) at = lines.length;
  const prose = inLanguage(lines.slice(0, at), said.language ?? "en").map((text) => {
    const [, spaced, bare = ""] = COMMENT.exec(text) ?? [];
    return spaced ?? bare;
  });
  const sql = lines.slice(at).join("\n").trimEnd();
  return {
    line,
    view: { ...view, ...said },
    prose: prose.join("\n").trim(),
    sql: allStatements(sql).length === 0 ? "" : sql,
    sqlLine: linesFrom + at,
  };
}
