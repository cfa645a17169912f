import { UsageError } from "../core/errors.js";
import type { Chart } from "./chart.js";
import type { FiguresView, TableView } from "./view.js";

/** How the result of a cell is shown. */
export type View = TableView | FiguresView | Chart;

/** A part of a notebook: prose, statements, or both. */
export interface Cell {
  /** Line of its directive, or its first line if it has no directive; from 1. */
  readonly line: number;
  /** Markdown; empty if the cell has none. */
  readonly prose: string;
  /** Statements; empty if the cell is only prose. */
  readonly sql: string;
  /** Line of the file on which `sql` begins, from 1. */
  readonly sqlLine: number;
  readonly view: View;
}

/** A parameter, whose value the caller may set. */
export interface Parameter {
  readonly name: string;
  /** SQL expression of its default value. It may use the parameters before it. */
  readonly expression: string;
  /** Query of the values in a list of options. @default any value */
  readonly options?: string | undefined;
  /** Smallest permitted number. @default none */
  readonly min?: number | undefined;
  /** Greatest permitted number. @default none */
  readonly max?: number | undefined;
  readonly line: number;
}

/** A SQL file that is divided into cells. */
export interface Notebook {
  readonly path: string;
  /** The first heading of its prose, or the file's name if there is none. */
  readonly title: string;
  readonly parameters: readonly Parameter[];
  readonly cells: readonly Cell[];
  /** Whether the file has no directive, and is therefore plain SQL. */
  readonly isPlain: boolean;
}

/** The error of a wrong directive. */
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
