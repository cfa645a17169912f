import { cellsAfter, cellsWithParameters } from "../../../../notebook/cell-links.js";
import type { Cell, Notebook } from "../../../../notebook/notebook.js";
import { type NotebookDocument, placeOf } from "../notebook-document.js";

/** The cells of the document that must run with the given ones: these, and all cells that depend on them. */
export function withDependents(
  document: NotebookDocument,
  { cells }: Notebook,
  ids: ReadonlySet<number>,
): ReadonlySet<number> {
  const found = new Set(ids);
  for (const [at, { line }] of cells.entries())
    if (ids.has(placeOf(document, line)?.id ?? 0))
      for (const id of idsOf(document, cells, cellsAfter(cells, at))) found.add(id);
  return found;
}

/** The cells of the document that must run when parameters have changed. */
export function dependentOn(
  document: NotebookDocument,
  { cells, parameters }: Notebook,
  changed: readonly string[],
): ReadonlySet<number> {
  return idsOf(document, cells, cellsWithParameters(cells, parameters, changed));
}

/** The lines by which a request names the notebook's cells within the given cells of the document. */
export function linesOf(
  document: NotebookDocument,
  { cells }: Notebook,
  ids: ReadonlySet<number>,
): readonly number[] {
  return cells.flatMap(({ line }) => (ids.has(placeOf(document, line)?.id ?? 0) ? [line] : []));
}

/** Names whose values differ between two sets of parameters. */
export function changedNames(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]);
}

function idsOf(
  document: NotebookDocument,
  cells: readonly Cell[],
  indexes: ReadonlySet<number>,
): ReadonlySet<number> {
  return new Set([...indexes].map((index) => placeOf(document, cells[index]?.line ?? 0)?.id ?? 0));
}
