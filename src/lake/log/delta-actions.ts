/**
 * Adds a data file to the list of live files (Delta Lake's `add`). This file names the actions of the Delta transaction
 * log as PROTOCOL.md of delta-io/delta does.
 */
export interface AddFile {
  /** Relative to the table, URL-encoded. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly size: number;
  readonly modificationTime: number;
  readonly dataChange: boolean;
  /** JSON text of {@link FileStats}. */
  readonly stats?: string | null;
  /** Facts of a writer about the file, by name. */
  readonly tags?: Readonly<Record<string, string>> | null;
  /** Marks rows of the file as deleted: a feature of newer tables that this program does not support. */
  readonly deletionVector?: unknown;
}

/** Removes a data file from the list of live files (Delta Lake's `remove`). */
export interface RemoveFile {
  readonly path: string;
  /** Epoch milliseconds. Other writers may leave out this and the optional members below. */
  readonly deletionTimestamp?: number | null;
  readonly dataChange: boolean;
  readonly extendedFileMetadata?: boolean | null;
  readonly partitionValues?: Readonly<Record<string, string | null>> | null;
  readonly size?: number | null;
}

/** The schema, partition columns and settings of a table (Delta Lake's `metaData`). */
export interface MetaData {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly format: { readonly provider: "parquet"; readonly options: Readonly<Record<string, string>> };
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly createdTime: number;
}

/** The features that a program must support to read and to write a table (Delta Lake's `protocol`). */
export interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
  readonly readerFeatures?: readonly string[];
  readonly writerFeatures?: readonly string[];
}

/** The last version that an application has committed (Delta Lake's `txn`). */
export interface Txn {
  readonly appId: string;
  /** -1 where a restore has undone all of them: Delta's readers take that for an application without a commit. */
  readonly version: number;
  /** Epoch milliseconds. */
  readonly lastUpdated?: number | null;
}

/** In other writers' commits all members except the timestamp are optional. */
export interface CommitInfo {
  readonly timestamp: number;
  readonly operation?: string;
  readonly operationParameters?: Readonly<Record<string, string>>;
  readonly operationMetrics?: Readonly<Record<string, string>>;
  readonly engineInfo?: string;
}

export type Action =
  | { readonly add: AddFile }
  | { readonly remove: RemoveFile }
  | { readonly metaData: MetaData }
  | { readonly protocol: Protocol }
  | { readonly txn: Txn }
  | { readonly commitInfo: CommitInfo };

/**
 * Statistics of a data file in the log, so that readers can skip the file. Dates and times are in the protocol's form.
 */
export interface FileStats {
  readonly numRecords: number;
  /** Other writers may leave these out. */
  readonly minValues?: Readonly<Record<string, string>>;
  readonly maxValues?: Readonly<Record<string, string>>;
  readonly nullCount?: Readonly<Record<string, number>>;
}

/** The newest protocol that this version reads and writes: no optional features. */
export const PROTOCOL: Protocol = { minReaderVersion: 1, minWriterVersion: 2 };
