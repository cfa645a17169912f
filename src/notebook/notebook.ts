import { UsageError } from "../core/errors.js";
import type { Language } from "../core/language.js";
import type { RisingColour } from "../market/regions.js";

export interface Shown {
  readonly title: string | undefined;
  /** Columns whose ratios are shown as percentages. */
  readonly percent: readonly string[];
  /** Text that is shown instead of a result without rows. */
  readonly empty: string | undefined;
  /** The language of fixed texts. @default English */
  readonly language?: Language;
  /** What is shown for names of columns and for texts in charts, in that language. @default the names */
  readonly names?: ShownNames;
}

/** What is shown for names of columns and parameters, and for texts that statements give to charts. */
export type ShownNames = ReadonlyMap<string, string>;

/** A name of a column or parameter as it is shown: in the notebook's own words, else with blanks. */
export function shownName(names: ShownNames | undefined, name: string): string {
  return names?.get(name) ?? name.replaceAll("_", " ");
}

export interface TableView extends Shown {
  readonly kind: "table";
  readonly rows: number;
}

/** One row, of which each value is shown in large type under the name of its column. */
export interface FiguresView extends Shown {
  readonly kind: "figures";
}

export const CHART_KINDS = ["line", "bar", "scatter", "heatmap", "histogram", "candlestick"] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export type Channel =
  | "x"
  | "y"
  | "color"
  | "low"
  | "high"
  | "open"
  | "close"
  | "volume"
  | "size"
  | "label"
  | "lines";

export interface ChannelRule {
  readonly channel: Channel;
  /** `default`: the column with the name of the channel is used, and must exist. `present`: it is used if it exists. */
  readonly need: "required" | "optional" | "default" | "present";
  /** Whether it accepts several columns. */
  readonly isMany?: boolean;
  /** Whether its values must be numbers. */
  readonly isNumber?: boolean;
}

const X: ChannelRule = { channel: "x", need: "required" };
const Y: ChannelRule = { channel: "y", need: "required", isNumber: true };
const COLOR: ChannelRule = { channel: "color", need: "optional" };

export const CHANNELS: Readonly<Record<ChartKind, readonly ChannelRule[]>> = {
  line: [
    X,
    { ...Y, isMany: true },
    COLOR,
    { channel: "low", need: "optional", isNumber: true },
    { channel: "high", need: "optional", isNumber: true },
  ],
  bar: [X, Y, COLOR],
  scatter: [
    { ...X, isNumber: true },
    Y,
    COLOR,
    { channel: "size", need: "optional", isNumber: true },
    { channel: "label", need: "optional" },
  ],
  heatmap: [X, { channel: "y", need: "required" }, { ...COLOR, need: "required", isNumber: true }],
  histogram: [{ ...X, isNumber: true }, COLOR],
  candlestick: [
    X,
    { channel: "open", need: "default", isNumber: true },
    { channel: "high", need: "default", isNumber: true },
    { channel: "low", need: "default", isNumber: true },
    { channel: "close", need: "default", isNumber: true },
    { channel: "volume", need: "present", isNumber: true },
    { channel: "lines", need: "optional", isMany: true, isNumber: true },
  ],
};

export interface Chart extends Shown {
  readonly kind: ChartKind;
  readonly columns: Readonly<Partial<Record<Channel, readonly string[]>>>;
  /** Height of the drawing, in pixels. */
  readonly height: number;
  readonly log: readonly ("x" | "y")[];
  /** Values of y at which a horizontal line is drawn. */
  readonly rule: readonly number[];
  /** Whether bars with the same x are stacked, and not next to each other. */
  readonly isStacked: boolean;
  /**
   * The colour of a rising candle (its close is not below its open); undefined: the usual colour in the instrument's
   * region.
   */
  readonly rising: RisingColour | undefined;
  readonly bins: number;
}

export interface DrawnChart extends Chart {
  readonly rising: RisingColour;
}

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

export interface Notebook {
  readonly path: string;
  /** The first heading of its prose, or the file's name if there is none. */
  readonly title: string;
  readonly parameters: readonly Parameter[];
  readonly cells: readonly Cell[];
  /** Whether the file has no directive, and is therefore plain SQL. */
  readonly isPlain: boolean;
  /** The language of its texts. @default English */
  readonly language?: Language;
  /** What is shown for names, in that language. @default the names */
  readonly names?: ShownNames;
}

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
