import { allStatements, type SqlToken, sqlTokens } from "../db/sql-tokens.js";
import type { Cell, Parameter } from "./notebook.js";

/** Words that begin a statement which changes something; such a word may also follow a WITH clause. */
const CHANGES: ReadonlySet<string> = new Set([
  "alter",
  "comment",
  "create",
  "delete",
  "drop",
  "insert",
  "merge",
  "reset",
  "set",
  "truncate",
  "update",
]);

/** Words between the first word of a change and the name of the changed object. */
const BEFORE_NAME: ReadonlySet<string> = new Set(
  (
    "or replace ignore temp temporary persistent unique recursive global local session table view macro function type " +
    "sequence index schema variable into from if not exists on column materialized"
  ).split(" "),
);

/** Statements with these words create objects whose query runs only when the object is used. */
const READ_LATER: ReadonlySet<string> = new Set(["view", "macro", "function"]);

/** A cell with this change makes all others depend on it: its statements do not name what they change. */
const ANYTHING = "*";

/**
 * The objects that a cell changes in the session, and all names that it mentions; in lower case, `$name` for a
 * parameter.
 */
interface CellNames {
  readonly changes: ReadonlySet<string>;
  readonly mentions: ReadonlySet<string>;
  /** Whether it may create a view or a macro, which reads the mentioned objects only when it is used. */
  readonly isReadLater: boolean;
}

/**
 * The cells that must run so that some cells can be shown: these, and earlier cells that create or change objects which
 * they mention. A name that is mentioned for another reason may make a cell run needlessly, but no needed cell is left
 * out.
 *
 * @param shown indexes of the cells to show.
 */
export function cellsNeeded(cells: readonly Cell[], shown: ReadonlySet<number>): ReadonlySet<number> {
  const all = cells.map(namesOf);
  const needed = new Set<number>();
  const names = new Set<string>();
  for (let index = Math.max(-1, ...shown); index >= 0; index--) {
    const { changes, mentions, isReadLater } = all[index] as CellNames;
    const isMentioned = names.size > 0 && overlaps(changes, names);
    if (needed.has(index) || (!shown.has(index) && !isMentioned)) continue;
    needed.add(index);
    const known = names.size;
    for (const name of mentions) names.add(name);
    // Cells between a view and its use may change what the view reads, so these cells are searched again.
    if (isReadLater && names.size > known) index = Math.max(...shown) + 1;
  }
  return needed;
}

/** The cells after a cell that must run again when the cell has changed. @param at index of the cell */
export function cellsAfter(cells: readonly Cell[], at: number): ReadonlySet<number> {
  const cell = cells[at];
  return cell === undefined ? new Set() : following(cells, at + 1, new Set(namesOf(cell).changes));
}

/** The cells that must run again when parameters have changed. @param changed names of the parameters */
export function cellsWithParameters(
  cells: readonly Cell[],
  parameters: readonly Parameter[],
  changed: readonly string[],
): ReadonlySet<number> {
  const names = new Set(changed.flatMap(parameterNames));
  // The default of a parameter may use parameters before it.
  for (const { name, expression } of parameters)
    if (overlaps(mentionsIn(sqlTokens(expression)), names))
      for (const own of parameterNames(name)) names.add(own);
  return following(cells, 0, names);
}

function following(cells: readonly Cell[], from: number, names: Set<string>): ReadonlySet<number> {
  const all = cells.map(namesOf);
  const found = new Set<number>();
  for (const [index, { changes, mentions }] of all.entries()) {
    if (index < from || names.size === 0) continue;
    addViewsOf(all.slice(0, index), names);
    if (!names.has(ANYTHING) && !overlaps(mentions, names)) continue;
    found.add(index);
    for (const name of changes) names.add(name);
  }
  return found;
}

/** Adds the views and macros of cells that read these names, directly or through other views. */
function addViewsOf(cells: readonly CellNames[], names: Set<string>): void {
  for (const { changes, mentions, isReadLater } of cells)
    if (isReadLater && overlaps(mentions, names)) for (const name of changes) names.add(name);
}

function namesOf({ sql }: Cell): CellNames {
  const statements = allStatements(sql).map((statement) =>
    sqlTokens(statement.sql).filter(({ kind }) => kind !== "blank" && kind !== "comment"),
  );
  return {
    changes: new Set(statements.flatMap(changedBy)),
    mentions: new Set(statements.flatMap((tokens) => [...mentionsIn(tokens)])),
    isReadLater: statements.some((tokens) =>
      tokens.some(({ kind, text }) => kind === "word" && READ_LATER.has(text.toLowerCase())),
    ),
  };
}

function parameterNames(name: string): readonly string[] {
  // getvariable('name') is another way to read a parameter.
  return [`$${name.toLowerCase()}`, `'${name.toLowerCase()}`];
}

/** The names that a statement creates, changes or drops; none for a query. */
function changedBy(tokens: readonly SqlToken[]): readonly string[] {
  const start = firstChange(tokens);
  if (start < 0) return [];
  const isWord = (token: SqlToken | undefined): boolean => token?.kind === "word";
  let at = start + 1;
  while (isWord(tokens[at]) && BEFORE_NAME.has((tokens[at] as SqlToken).text.toLowerCase())) at++;
  // If a name has a schema, its last part is used.
  while (tokens[at + 1]?.text === "." && tokens[at + 2] !== undefined) at += 2;
  const token = tokens[at];
  if (token?.kind !== "word" && token?.kind !== "identifier") return [ANYTHING];
  const name = nameOf(token);
  return [name, `'${name}`];
}

/**
 * The position of the word by which a statement changes something: its first word, or the word after its WITH clause;
 * -1 for a query.
 */
function firstChange(tokens: readonly SqlToken[]): number {
  const isChange = ({ kind, text }: SqlToken): boolean => kind === "word" && CHANGES.has(text.toLowerCase());
  const [first] = tokens;
  if (first === undefined) return -1;
  if (first.text.toLowerCase() !== "with") return isChange(first) ? 0 : -1;
  let depth = 0;
  return tokens.findIndex((token) => {
    if (token.text === "(") depth++;
    if (token.text === ")") depth--;
    return depth === 0 && isChange(token);
  });
}

function mentionsIn(tokens: readonly SqlToken[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [at, token] of tokens.entries()) {
    const { kind, text } = token;
    if (kind === "string") names.add(`'${text.slice(1, -1).toLowerCase()}`);
    if (kind !== "word" && kind !== "identifier") continue;
    names.add(tokens[at - 1]?.text === "$" ? `$${text.toLowerCase()}` : nameOf(token));
  }
  return names;
}

function nameOf({ kind, text }: SqlToken): string {
  return (kind === "identifier" ? text.slice(1, -1).replaceAll('""', '"') : text).toLowerCase();
}

function overlaps(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a.has(ANYTHING) && b.size > 0) return true;
  for (const name of a) if (b.has(name)) return true;
  return false;
}
