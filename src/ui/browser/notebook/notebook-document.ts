import { directiveOn, sourceCells } from "../../../notebook/parse/parse-notebook.js";

/** A line of a text, and its line end, which is empty for the last line. */
type Line = readonly [content: string, ending: string];

/** A text after a change in an editor that uses `\n` alone: unchanged lines retain their line ends, new ones get the first's. */
export function editedText(before: string, edited: string): string {
  const old = linesOf(before);
  const now = linesOf(edited);
  const isSame = (a: Line | undefined, b: Line | undefined): boolean => a !== undefined && a[0] === b?.[0];
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && isSame(old[head], now[head])) head++;
  let tail = 0;
  while (tail < shorter - head && isSame(old[old.length - 1 - tail], now[now.length - 1 - tail])) tail++;
  const usual = old[0]?.[1] || "\n";
  return now
    .map(([content, ending], at) => {
      if (ending === "") return content;
      const was =
        at < head ? old[at] : at >= now.length - tail ? old[at - now.length + old.length] : undefined;
      return content + (was?.[1] || usual);
    })
    .join("");
}

function linesOf(text: string): Line[] {
  return [...text.matchAll(/(.*?)(\r\n?|\n|$)/gsy)]
    .map(([, content = "", ending = ""]): Line => [content, ending])
    .filter(([content, ending], at, all) => content + ending !== "" || at === all.length - 1);
}

/** A part of a notebook's text that is edited as one unit. */
export interface DocumentCell {
  /** Remains while the cell's editor changes the text; any other change gives the cell a new id. */
  readonly id: number;
  /** The text of the cell without the line ends after it. */
  readonly body: string;
  /** The line ends after the text. */
  readonly tail: string;
}

/** The text of a notebook during editing. Parts that were not edited are unchanged, byte for byte. */
export interface NotebookDocument {
  /** A byte order mark, or an empty text. */
  readonly mark: string;
  readonly cells: readonly DocumentCell[];
  readonly nextId: number;
}

/** A line of a document: the cell that contains it, and the row within the cell, from 0. */
interface DocumentPlace {
  readonly id: number;
  readonly row: number;
}

/** Splits a text into a document. @param before a document whose cells with the same text have the same ids */
export function documentOf(text: string, before?: NotebookDocument): NotebookDocument {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const known = [...(before?.cells ?? [])];
  let nextId = before?.nextId ?? 1;
  const cells = sourceCells(text.slice(mark.length)).map((piece): DocumentCell => {
    // Line ends that were typed at the end of a cell belong to its body while its editor shows them.
    const same = known.findIndex((cell) => cell.body + cell.tail === piece);
    if (same >= 0) return known.splice(same, 1)[0] as DocumentCell;
    const body = piece.replace(/[\r\n]+$/, "");
    const at = known.findIndex((cell) => cell.body === body);
    const id = known.splice(at, at < 0 ? 0 : 1)[0]?.id ?? nextId++;
    return { id, body, tail: piece.slice(body.length) };
  });
  return { mark, cells, nextId };
}

export function textOf({ mark, cells }: NotebookDocument): string {
  return mark + cells.map(({ body, tail }) => body + tail).join("");
}

/** The document after a cell was edited. @param edited the cell's text from the editor, with `\n` as line ends */
export function withEdited(document: NotebookDocument, id: number, edited: string): NotebookDocument {
  const cells = document.cells.map((cell) =>
    cell.id === id ? { ...cell, body: editedText(cell.body, edited) } : cell,
  );
  return { ...document, cells };
}

/** @param after the cell before it; undefined: at the beginning. @returns the id of the new cell, too */
export function withNewCell(
  document: NotebookDocument,
  after: number | undefined,
): { readonly document: NotebookDocument; readonly id: number } {
  const id = document.nextId;
  const at = document.cells.findIndex((cell) => cell.id === after) + 1;
  const end = lineEnd(document);
  const cell: DocumentCell = { id, body: `-- %%${end}`, tail: "" };
  // The text of an empty file is not a cell.
  const others = document.cells.filter(({ body, tail }) => body + tail !== "");
  const cells = others.toSpliced(Math.min(at, others.length), 0, cell);
  return { document: separated({ ...document, cells, nextId: id + 1 }), id };
}

export function withoutCell(document: NotebookDocument, id: number): NotebookDocument {
  const cells = document.cells.filter((cell) => cell.id !== id);
  return { ...document, cells: cells.length > 0 ? cells : documentOf("").cells };
}

/** The document with a deleted cell restored. @param at its former position among the cells, from 0 */
export function withRestored(document: NotebookDocument, cell: DocumentCell, at: number): NotebookDocument {
  const others = document.cells.filter(({ body, tail }) => body + tail !== "");
  return separated({ ...document, cells: others.toSpliced(Math.min(at, others.length), 0, cell) });
}

/** The document with a cell moved up (-1) or down (1); the same document if the cell cannot be moved that way. */
export function withMoved(document: NotebookDocument, id: number, by: -1 | 1): NotebookDocument {
  const from = document.cells.findIndex((cell) => cell.id === id);
  const cell = document.cells[from];
  const to = from + by;
  if (cell === undefined || to < 0 || to >= document.cells.length) return document;
  return separated({ ...document, cells: document.cells.toSpliced(from, 1).toSpliced(to, 0, cell) });
}

/** The cell and row of a line of the text. @param line from 1; a line after the end is in the last cell */
export function placeOf({ cells }: NotebookDocument, line: number): DocumentPlace | undefined {
  let first = 1;
  let found: DocumentPlace | undefined;
  for (const { id, body, tail } of cells) {
    if (first > line) break;
    found = { id, row: line - first };
    first += (body + tail).split("\n").length - 1;
  }
  return found;
}

export function linesBefore({ cells }: NotebookDocument, id: number): number {
  const before = cells.slice(
    0,
    cells.findIndex((cell) => cell.id === id),
  );
  return before.reduce((lines, { body, tail }) => lines + (body + tail).split("\n").length - 1, 0);
}

export function canMove({ cells }: NotebookDocument, id: number): readonly [isUp: boolean, isDown: boolean] {
  const at = cells.findIndex((cell) => cell.id === id);
  return [at > 0, at < cells.length - 1];
}

/** Every cell but the first begins with a directive, and every cell but the last ends with a line end. */
function separated(document: NotebookDocument): NotebookDocument {
  const end = lineEnd(document);
  let { nextId } = document;
  const cells = document.cells.map((cell, at): DocumentCell => {
    const isLast = at === document.cells.length - 1;
    const tail = cell.tail === "" && !isLast ? end : cell.tail;
    const [first = ""] = cell.body.split(/\r?\n/, 1);
    if (at === 0 || directiveOn(first) !== undefined) return { ...cell, tail };
    return { id: nextId++, body: `-- %%${end}${cell.body}`, tail };
  });
  return { ...document, cells, nextId };
}

function lineEnd(document: NotebookDocument): string {
  return /\r?\n/.exec(textOf(document))?.[0] ?? "\n";
}
