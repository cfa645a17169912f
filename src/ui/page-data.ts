/*
 * What the workspace's page receives as JSON: types alone, shared by the server and the page. Times are epoch
 * milliseconds, days `YYYY-MM-DD` of the exchange's own calendar.
 */
import type { Region } from "../market/regions.js";
import type { SessionStatus } from "../market/session-status.js";
import type { RunStatus } from "../schema/runs.js";

/** An error, and what to do next. */
export interface FaultReport {
  readonly message: string;
  readonly hint: string | null;
}

/** A table of the lake. */
export interface TableReport {
  readonly name: string;
  readonly doc: string;
  readonly version: number;
  readonly files: number;
  readonly rows: number;
  /** Of the live files. */
  readonly bytes: number;
  readonly committedAt: number | null;
  /** Days of bars; null for other tables. */
  readonly first: string | null;
  readonly last: string | null;
}

/** A state of the lake, which further requests name by its id. */
export interface LakeReport {
  readonly state: string;
  readonly location: string;
  readonly asOf: number | null;
  readonly tables: readonly TableReport[];
  readonly refused: readonly (FaultReport & { readonly name: string })[];
  /** Free space of the lake's disk; null where it is not known, as for an object store. */
  readonly freeBytes: number | null;
}

/** An instrument with its amount of the session. */
export interface TradedReport {
  readonly symbol: string;
  readonly name: string | null;
  readonly close: number;
  /** Against the previous close, as a ratio; null where that is not known. */
  readonly change: number | null;
  readonly amount: number;
}

/** The newest landed session of a region. */
export interface MarketReport {
  readonly region: Region;
  readonly day: string;
  readonly bars: number;
  readonly up: number;
  readonly down: number;
  readonly unchanged: number;
  /** Bars without a previous close. */
  readonly unknown: number;
  /** Bars that are not final. */
  readonly open: number;
  readonly status: SessionStatus;
  readonly traded: readonly TradedReport[];
}

/** A month of a table and region. */
export interface MonthReport {
  readonly dataset: string;
  readonly region: Region;
  /** `YYYY-MM`. */
  readonly month: string;
  /** Bars in the lake. */
  readonly bars: number;
  /** Sessions of the calendar that have begun; null where none is known. */
  readonly sessions: number | null;
  /** Sessions with at least one bar; null where only the log was read. */
  readonly withBars: number | null;
  /** Days of symbols, from the ledger of requests; null where nothing was requested. */
  readonly asked: {
    readonly expected: number;
    readonly answered: number;
    readonly open: number;
    readonly gap: number;
  } | null;
}

export interface CoverageReport {
  readonly months: readonly MonthReport[];
  /** Why the ledger is not compared; null where it is. */
  readonly note: "imported" | "past" | null;
}

/** The symbols that lack days of a month. */
export interface MissingReport {
  /** At most some hundreds. */
  readonly symbols: readonly {
    readonly symbol: string;
    readonly first: string;
    readonly last: string;
    readonly days: number;
    readonly isOpen: boolean;
  }[];
  readonly total: number;
  /** The command that requests them. */
  readonly command: string;
}

/** A run of a pipeline. */
export interface RunReport {
  readonly id: string;
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly stopped: string | null;
  readonly requests: number;
  readonly failed: number;
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly rejected: number;
  readonly bytes: number;
}

/** An instrument as a search finds it. */
export interface FoundInstrument {
  readonly symbol: string;
  readonly name: string | null;
  readonly nameEn: string | null;
  readonly type: string | null;
  readonly region: Region | null;
}

/** Instruments that a search has found, the best first. */
export interface SearchReport {
  readonly found: readonly FoundInstrument[];
  /** Instruments that were searched. */
  readonly total: number;
  /** False: symbols that only have bars are not among them yet; a request with `whole` waits for these. */
  readonly isWhole: boolean;
}

/** A day on which the exchange restated the previous close. */
export interface ExEventReport {
  readonly day: string;
  readonly lastClose: number;
  readonly prevClose: number;
}

/** A statement that became known. */
export interface AnnouncedReport {
  readonly day: string;
  readonly table: string;
  readonly periodEnd: string;
}

/** An instrument, and what its view shows in addition to the chart. */
export interface InstrumentReport extends FoundInstrument {
  readonly exchange: string | null;
  readonly listedOn: string | null;
  readonly previous: string | null;
  readonly next: string | null;
  /** Zone of the exchange. */
  readonly zone: string;
  /** Whether any bar states the previous close, by which ex-events are seen. */
  readonly statesPrevClose: boolean;
  readonly exEvents: readonly ExEventReport[];
  readonly announced: readonly AnnouncedReport[];
}

/** Statements of an instrument as they were known at the end of a day, newest first. */
export interface StatementsReport {
  readonly columns: readonly { readonly name: string; readonly unit: "currency" | "ratio" | "date" }[];
  readonly rows: readonly (readonly (number | string | null)[])[];
}

/** A notebook in the list. */
export interface NotebookReport {
  readonly name: string;
  readonly title: string;
  /** Whether it comes with barlake. */
  readonly isShipped: boolean;
  /** Hash of the file's content; null of one that comes with barlake. */
  readonly hash: string | null;
}

/** The notebooks, and the folder of the user's. */
export interface NotebooksReport {
  readonly notebooks: readonly NotebookReport[];
  readonly folder: string | null;
}

/** The response to a notebook that was to be renamed or deleted; but for `done`, with status 409. */
export interface MoveReport {
  readonly kind: "done" | "taken" | "changed";
}

/** A notebook as it is edited. */
export interface NotebookSource {
  readonly name: string;
  readonly text: string;
  /** Of the content of the user's file; null where there is none yet. */
  readonly hash: string | null;
  /** Whether it comes with barlake: saving makes a copy. */
  readonly isShipped: boolean;
  /** Whether the text is exactly the file: one that is not UTF-8 is only shown. */
  readonly isExact: boolean;
  /** Folder that notebooks are saved into, as a full path; null where there is none. */
  readonly folder: string | null;
}

/** A notebook's text that is to be run. */
export interface RunRequest {
  readonly name: string;
  readonly text: string;
  /** Lines on which the requested cells begin. @default every cell */
  readonly cells?: readonly number[] | undefined;
}

/** A notebook's text that is to be saved. */
export interface SaveRequest {
  readonly name: string;
  readonly text: string;
  /** Hash of the file that the text was made from; null where there was none. */
  readonly before: string | null;
}

/** The response to a saved notebook; with status 409 `theirs`, what the file contains now, null where it is gone. */
export type SaveReport =
  | { readonly kind: "saved"; readonly hash: string }
  | {
      readonly kind: "changed";
      readonly theirs: { readonly text: string; readonly hash: string } | null;
    };

/** An error of a cell, at its place in the file. */
export interface CellFaultReport extends FaultReport {
  /** Line of the file, from 1. */
  readonly line: number;
  /** UTF-16 units before the place in that line; null where the engine names no place. */
  readonly column: number | null;
}

/** A result that the workspace stores for some time, so that it can be scrolled and exported. */
export interface ResultReport {
  /** Null where it was too large to be stored: only the rows in the page are there. */
  readonly id: string | null;
  readonly rows: number;
}

/** Some rows of a result, as texts. */
export interface RowsReport {
  /** The first one's offset. */
  readonly from: number;
  /** Rows of the whole result. */
  readonly rows: number;
  readonly columns: readonly (readonly (string | null)[])[];
}

/** The kind of control that sets a parameter. */
export type ControlKind = "date" | "number" | "text" | "symbol";

/** A parameter of a notebook, with its value. */
export interface ParameterReport {
  readonly name: string;
  readonly kind: ControlKind;
  readonly value: string;
  readonly options: readonly string[] | null;
  readonly min: number | null;
  readonly max: number | null;
}

/** A line of a notebook's run, which arrives as its cells end. */
export type NotebookLine =
  | {
      readonly kind: "begin";
      readonly title: string;
      readonly parameters: readonly ParameterReport[];
      readonly cells: number;
    }
  /** `line` is that of `Cell`; `chart` is a `PackedChart`, undefined for a cell without one. */
  | {
      readonly kind: "cell";
      readonly line: number;
      readonly html: string;
      readonly chart?: unknown;
      readonly fault: CellFaultReport | null;
      /** The cell's results, in their order; one without rows is missing. */
      readonly results: readonly ResultReport[];
      readonly tookMs: number;
    }
  | { readonly kind: "fault"; readonly fault: FaultReport }
  | { readonly kind: "end" };

/** A cell that has run. */
export type CellLine = Extract<NotebookLine, { readonly kind: "cell" }>;
