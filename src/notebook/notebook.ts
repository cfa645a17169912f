import { UsageError } from "../core/errors.js";
import type { Chart } from "./chart.js";
import type { FiguresView, TableView } from "./view.js";

/** How the result of a cell is shown. */
export type View = TableView | FiguresView | Chart;

/** A piece of a notebook: prose, statements, or both. */
export interface Cell {
  /** Line of its directive, or of its first line where it has none, from 1. */
  readonly line: number;
  /** Markdown; empty where the cell has none. */
  readonly prose: string;
  /** Statements; empty where the cell is prose alone. */
  readonly sql: string;
  /** Line of the file on which `sql` begins, from 1. */
  readonly sqlLine: number;
  readonly view: View;
}

/** A value that the caller may choose. */
export interface Parameter {
  readonly name: string;
  /** SQL expression of its value where none is given; may mention the parameters before it. */
  readonly expression: string;
  readonly line: number;
}

/** A file of SQL in cells. */
export interface Notebook {
  readonly path: string;
  /** The first heading of its prose; where there is none, the file's name. */
  readonly title: string;
  readonly parameters: readonly Parameter[];
  readonly cells: readonly Cell[];
  /** Whether the file has no directive at all: it is plain SQL then. */
  readonly isPlain: boolean;
}

/** A directive that is wrong. */
export class NotebookError extends UsageError {
  readonly path: string;
  /** Line of the file, from 1. */
  readonly line: number;

  constructor(path: string, line: number, message: string, hint?: string) {
    super(`notebook ${path}:${line}: ${message}`, { hint });
    this.path = path;
    this.line = line;
  }
}
