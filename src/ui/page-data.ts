import type { Region } from "../market/regions.js";
import type { SessionStatus } from "../market/sessions.js";
import type { MissingDays, MonthCoverage } from "../plan/coverage.js";
import type { ActionKind } from "../schema/actions.js";
import type { RunStatus } from "../schema/runs.js";

/** A result that the workspace stores for some time, so that the page can scroll and export it. */
export interface StoredReport {
  readonly id: string;
  readonly rows: number;
}

/** Without an id it needed more space than its run had left: only the rows in the page are available. */
export type ResultReport =
  | StoredReport
  | { readonly id: null; readonly rows: number; readonly mostBytes: number };

export interface RowsReport {
  /** Offset of the first row. */
  readonly from: number;
  /** Number of rows of the whole result, or of those that contain the text that was sought. */
  readonly rows: number;
  readonly columns: readonly (readonly (string | null)[])[];
}

/*
 * The JSON that the page of the workspace receives. This file contains only types, which the server and the page share.
 * Times are epoch milliseconds; days are `YYYY-MM-DD` in the exchange's zone.
 */

export interface FaultReport {
  readonly message: string;
  readonly hint: string | null;
}

export interface TableReport {
  readonly name: string;
  readonly doc: string;
  readonly version: number;
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  readonly committedAt: number | null;
  /** First and last day of a table of bars; null for other tables. */
  readonly first: string | null;
  readonly last: string | null;
}

/** A state of the lake. Further requests name it by its id, `state`. */
export interface LakeReport {
  readonly state: string;
  readonly location: string;
  /** The location as the user named it, as a word of a command line. */
  readonly lakeWord: string;
  readonly asOf: number | null;
  /** Until when what is shown was known: epoch milliseconds, or a date, whose end it is in each region; null: everything. */
  readonly knownAt: number | string | null;
  /** Whether instruments and universes that the lake saw later count as known then. */
  readonly assumesReference: boolean;
  readonly tables: readonly TableReport[];
  readonly refused: readonly (FaultReport & { readonly name: string })[];
  /** Free bytes on the lake's disk; null where unknown, as for an object store. */
  readonly freeBytes: number | null;
}

/** The newest daily bar of an instrument. */
export interface QuoteReport {
  readonly symbol: string;
  readonly name: string | null;
  readonly day: string;
  readonly close: number;
  /** Change from the previous close at the price level of the day, as a ratio; null where that is not known. */
  readonly change: number | null;
  /** The traded amount: as stated, else the close times the shares. */
  readonly amount: number;
}

/** The newest landed session of a region, with counts of its bars. */
export interface MarketReport {
  readonly region: Region;
  readonly day: string;
  readonly bars: number;
  readonly up: number;
  readonly down: number;
  readonly unchanged: number;
  /** Number of bars without a previous close. */
  readonly unknown: number;
  /** Number of bars that are not final. */
  readonly open: number;
  readonly status: SessionStatus;
  readonly traded: readonly QuoteReport[];
}

export interface MonthReport {
  readonly dataset: string;
  readonly region: Region;
  /** `YYYY-MM`. */
  readonly month: string;
  readonly bars: number;
  /** Number of sessions of the calendar that have begun; null where the calendar knows none. */
  readonly sessions: number | null;
  /** Number of sessions with at least one bar; null where only the log was read. */
  readonly withBars: number | null;
  /** Counts of days of symbols, from the ledger of requests; null where nothing was requested. */
  readonly asked: Pick<MonthCoverage, "expected" | "answered" | "open" | "gap"> | null;
}

export interface CoverageReport {
  readonly months: readonly MonthReport[];
  /** Why bars are not compared with the ledger; null where they are. */
  readonly note: "imported" | "past" | null;
}

export interface MissingReport {
  /** The first few hundred of them, at most. */
  readonly symbols: readonly MissingDays[];
  readonly total: number;
  readonly command: string;
}

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

export interface FoundInstrument {
  readonly symbol: string;
  readonly name: string | null;
  readonly nameEn: string | null;
  readonly type: string | null;
  readonly region: Region | null;
}

/** Instruments that a search has found, the best match first. */
export interface SearchReport {
  readonly found: readonly FoundInstrument[];
  readonly total: number;
  /** False while symbols that only have bars are not included yet. A request with `whole` waits for them. */
  readonly isWhole: boolean;
}

/** An ex-event: a day whose prices are at a new level. Earlier prices are divided by its factor. */
export interface ExEventReport {
  readonly day: string;
  readonly lastClose: number;
  /** Null where no exchange states it. */
  readonly prevClose: number | null;
  readonly factor: number;
  /** By what it is known: a factor of a source, the corporate actions of the day, or the stated previous close. */
  readonly witness: "factor" | "actions" | "prev_close";
  /** Source of the factor or of the actions; null for a stated previous close. */
  readonly source: string | null;
}

/** What a source says of a dividend, a split or another corporate action. */
export interface ActionReport {
  /** The day of its ex-event: of the first bar on or after the ex-date; without such a bar, the ex-date. */
  readonly day: string;
  readonly exDate: string;
  readonly kind: ActionKind;
  readonly source: string;
  /** Currency a share. */
  readonly cash: number | null;
  /** Shares a share, as in the table corporate_actions. */
  readonly ratio: number | null;
  readonly price: number | null;
  readonly currency: string | null;
  readonly announced: string | null;
  readonly paid: string | null;
}

/** A day that is no ex-date, as nobody vouches for the days since the bar before. */
export interface UnvouchedReport {
  readonly day: string;
  readonly last: string;
}

export interface AnnouncedReport {
  readonly day: string;
  readonly table: string;
  readonly periodEnd: string;
}

export interface NameReport {
  readonly symbol: string;
  /** First date; null: since ever. */
  readonly from: string | null;
}

/** An instrument, and what its view shows in addition to the chart. */
export interface InstrumentReport extends FoundInstrument {
  /** False: neither the lists of the lake nor its bars have it. */
  readonly isKnown: boolean;
  /** The symbols that it had, the first one first; empty where it was never renamed. */
  readonly names: readonly NameReport[];
  readonly exchange: string | null;
  readonly listedOn: string | null;
  readonly previous: string | null;
  readonly next: string | null;
  /** Time zone of the exchange. */
  readonly zone: string;
  readonly statesPrevClose: boolean;
  /** The newest ones, in the order of their days. */
  readonly exEvents: readonly ExEventReport[];
  /** The newest ones, in the order of their ex-dates, also those of days to come. */
  readonly actions: readonly ActionReport[];
  /** Whether there are earlier ex-events or actions. */
  readonly hasEarlier: boolean;
  /** Of the instrument, and of those that it is compared with, the symbols of which an ex-event is known. */
  readonly adjusted: readonly string[];
  /** Days whose previous close differs from the close of the bar before, of days between which the lake may lack bars. */
  readonly unvouched: readonly UnvouchedReport[];
  readonly announced: readonly AnnouncedReport[];
}

/** Statements of an instrument as they were known at the end of a day, newest first. */
export interface StatementsReport {
  readonly columns: readonly { readonly name: string; readonly unit: "currency" | "ratio" | "date" }[];
  readonly rows: readonly (readonly (number | string | null)[])[];
}

export interface NotebookReport {
  readonly name: string;
  readonly title: string;
  /** The paragraph below its heading; null where there is none. */
  readonly description: string | null;
  readonly isShipped: boolean;
  /** Hash of the file's content; null for a notebook that comes with barlake. */
  readonly hash: string | null;
}

export interface NotebooksReport {
  readonly notebooks: readonly NotebookReport[];
  readonly folder: string | null;
}

/** The response to a request that renames or deletes a notebook. Its status is 409, except for `done`. */
export interface MoveReport {
  readonly kind: "done" | "taken" | "changed";
}

export interface NotebookSource {
  readonly name: string;
  readonly text: string;
  /** Hash of the content of the user's file; null where there is no file yet. */
  readonly hash: string | null;
  /** Whether it comes with barlake: saving it makes a copy. */
  readonly isShipped: boolean;
  /** Whether the text is exactly the content of the file. A file that is not UTF-8 can be shown, but not saved. */
  readonly isExact: boolean;
  /** Full path of the folder in which notebooks are saved; null where there is none. */
  readonly folder: string | null;
}

export interface RunRequest {
  readonly name: string;
  readonly text: string;
  /** Numbers of the lines on which the requested cells begin. @default every cell */
  readonly cells?: readonly number[] | undefined;
}

export interface SaveRequest {
  readonly name: string;
  readonly text: string;
  /** Hash of the file from which the text was made; null where there was no file. */
  readonly before: string | null;
}

/** `theirs` (status 409) is what the file contains now; null where it was deleted. */
export type SaveReport =
  | { readonly kind: "saved"; readonly hash: string }
  | { readonly kind: "changed"; readonly theirs: { readonly text: string; readonly hash: string } | null };

export interface CellFaultReport extends FaultReport {
  /** Line of the file, from 1. */
  readonly line: number;
  /** Number of UTF-16 units before the position in that line; null where the engine reports no position. */
  readonly column: number | null;
}

export type ControlKind = "date" | "number" | "text" | "symbol";

export interface ParameterReport {
  readonly name: string;
  readonly label: string;
  readonly kind: ControlKind;
  readonly value: string;
  readonly options: readonly string[] | null;
  readonly min: number | null;
  readonly max: number | null;
}

/** A line of the output of a notebook's run. Lines arrive while its cells finish. */
export type NotebookLine =
  | {
      readonly kind: "begin";
      readonly title: string;
      readonly parameters: readonly ParameterReport[];
      readonly cells: number;
    }
  /** `line` is the line of `Cell`; `chart` is a `PackedChart`, undefined for a cell without a chart. */
  | {
      readonly kind: "cell";
      readonly line: number;
      readonly html: string;
      readonly chart?: unknown;
      readonly fault: CellFaultReport | null;
      /** The results of the cell, in order. A result without rows is left out. */
      readonly results: readonly ResultReport[];
      readonly tookMs: number;
    }
  | { readonly kind: "fault"; readonly fault: FaultReport }
  | { readonly kind: "end" };

export type CellLine = Extract<NotebookLine, { readonly kind: "cell" }>;
