import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Rejects } from "../../lake/land/rejects.js";
import type { LandOptions, LandReport } from "../../lake/land/upsert.js";
import type { DecimalMark, ImportOptions } from "./import-options.js";
import type { ChosenColumns } from "./plan/choose-columns.js";
import type { FileGroup, OpenGroup } from "./rows/raw-rows.js";

export interface ImportWork {
  readonly session: Session;
  readonly options: ImportOptions;
  readonly rejects: Rejects;
  readonly reference: Lake;
  /** Epoch milliseconds. */
  readonly now: number;
}

export interface ReadGroup {
  readonly group: FileGroup;
  readonly chosen: ChosenColumns;
  readonly mark: DecimalMark;
}

export interface Refusal {
  readonly reason: string;
  readonly hint: string;
}

export interface FileVerdict {
  readonly refusal?: Refusal | undefined;
  readonly found: readonly string[];
  readonly remarks: readonly string[];
  readonly decided: Partial<ImportOptions>;
}

/** The import of one kind of table: rows are read group by group, judged as a whole, and land. */
export interface TableImport extends AsyncDisposable {
  /** Fields without which a file cannot be read. A symbol may come from the file's name. */
  readonly required: readonly string[];
  /** Sentences about the table that each of its imports shows. @default none */
  readonly notes?: readonly string[];
  /** Whether the symbol may come from the file's name, or from the user. */
  readonly hasFileSymbols: boolean;
  /**
   * @param symbol SQL of the text of the symbol, where no column has it.
   * @returns the places of further columns that it read, by their field.
   */
  add(open: OpenGroup, read: ReadGroup, symbol: string | undefined): Promise<ReadonlyMap<string, number>>;
  remove(group: FileGroup): Promise<void>;
  /** Above 0 where a number of the group that was read last cannot be read, or may have another decimal mark. */
  oddRows(group: FileGroup): Promise<number>;
  /** Judges all files, by their places, and sets aside what cannot land. */
  judge(reads: readonly ReadGroup[]): Promise<ReadonlyMap<number, FileVerdict>>;
  /** The first rows of a file as they will land; `row`: their number in the file, from 0. */
  preview(place: number, rows: number): Promise<Record<string, unknown>[]>;
  /** Lands the rows; yields after each table, so that a later error does not hide what has already landed. */
  land(lake: Lake, options: LandOptions): AsyncGenerator<LandReport, void, undefined>;
}

/** A share of rows without a reading from which the whole file is refused: one option decides on all of them. */
export const MOST_ROWS = 0.8;

/** The refusal of a file of whose rows most have several readings. @param reason of one row, with the option that decides. */
export function undecided(reason: string): Refusal {
  const at = reason.indexOf(": `");
  return at < 0
    ? { reason, hint: "write it in another form" }
    : {
        reason: `most of its rows have no certain reading: ${reason.slice(0, at)}`,
        hint: reason.slice(at + 2),
      };
}
