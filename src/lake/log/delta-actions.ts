import { LakeError } from "../../core/errors.js";
import type { Column, ColumnType } from "../../schema/column.js";

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

/** Checks that a table needs only protocol versions and features that this program supports. @throws {LakeError} */
export function checkProtocol(table: string, protocol: Protocol): void {
  const { minReaderVersion: reader, minWriterVersion: writer } = protocol;
  const features = [...new Set([...(protocol.readerFeatures ?? []), ...(protocol.writerFeatures ?? [])])];
  const isKnown = reader <= PROTOCOL.minReaderVersion && writer <= PROTOCOL.minWriterVersion;
  if (isKnown && features.length === 0) return;
  const asked = features.length > 0 ? `, with the features ${features.join(", ")}` : "";
  throw new LakeError(
    `table ${table}: its log asks for reader version ${reader} and writer version ${writer}${asked}; this version knows ${PROTOCOL.minReaderVersion} and ${PROTOCOL.minWriterVersion}, without features`,
    { hint: "another program has upgraded the table; read it with that one, or restore it from a backup" },
  );
}

/** Checks that a table's files are Parquet. @throws {LakeError} */
export function checkMetaData(table: string, { format }: MetaData): void {
  if (format.provider === "parquet") return;
  throw new LakeError(`table ${table}: its files are ${JSON.stringify(format.provider)}, not parquet`);
}

/**
 * Rejects a commit that breaks a rule of the table, or a table with a rule that cannot be checked here.
 *
 * @throws {LakeError}
 */
export function checkWritable(
  table: string,
  metaData: MetaData | undefined,
  actions: readonly Action[],
): void {
  if (metaData === undefined) return;
  const removesRows = actions.some((action) => "remove" in action && action.remove.dataChange);
  if (removesRows && metaData.configuration["delta.appendOnly"]?.toLowerCase() === "true") {
    throw new LakeError(`table ${table}: is append-only (delta.appendOnly), and this would change rows`);
  }
  if (!metaData.schemaString.includes("delta.invariants")) return;
  const { fields } = JSON.parse(metaData.schemaString) as { fields: { name: string; metadata: object }[] };
  const guarded = fields.find(({ metadata }) => "delta.invariants" in metadata);
  if (guarded === undefined) return;
  throw new LakeError(
    `table ${table}, column ${guarded.name}: has an invariant (delta.invariants), which this version cannot check`,
  );
}

const DELTA_TYPE: Readonly<Record<ColumnType, unknown>> = {
  string: "string",
  double: "double",
  int64: "long",
  int32: "integer",
  boolean: "boolean",
  date: "date",
  timestamp: "timestamp",
  "string[]": { type: "array", elementType: "string", containsNull: false },
};

interface DeltaField {
  readonly name: string;
  readonly type: unknown;
  readonly nullable: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The `schemaString` of a table with these columns. */
export function schemaString(columns: readonly Column[]): string {
  const fields = columns.map((column): DeltaField => {
    const metadata = { comment: column.unit ? `${column.doc} [${column.unit}]` : column.doc };
    return { name: column.name, type: DELTA_TYPE[column.type], nullable: column.nullable === true, metadata };
  });
  return JSON.stringify({ type: "struct", fields });
}

/** The columns that a `schemaString` declares. @throws {LakeError} for a type that the lake does not use. */
export function columnsOfSchema(table: string, text: string): Column[] {
  const { fields } = JSON.parse(text) as { fields: DeltaField[] };
  return fields.map((field): Column => {
    const type = (Object.keys(DELTA_TYPE) as ColumnType[]).find(
      (candidate) => JSON.stringify(DELTA_TYPE[candidate]) === JSON.stringify(normalised(field.type)),
    );
    if (type === undefined) {
      throw new LakeError(
        `table ${table}, column ${field.name}: type ${JSON.stringify(field.type)} is not supported`,
      );
    }
    return { name: field.name, type, nullable: field.nullable, doc: field.metadata.comment ?? "" };
  });
}

/**
 * A type as the lake writes it. Other writers may declare that a list can contain nulls; this makes no difference to
 * readers.
 */
function normalised(type: unknown): unknown {
  if (typeof type !== "object" || type === null) return type;
  const { elementType } = type as { elementType?: unknown };
  return { type: "array", elementType, containsNull: false };
}

/**
 * Reads the text of a log entry: one action in each line.
 *
 * An entry without an action is an error. No writer makes one: it is what remains of an entry after a crash of the
 * machine. If it were read as "nothing changed", an older state would appear as the newest.
 *
 * @throws {Error} that says what is wrong with the text; the message does not name the file.
 */
export function parseActions(text: string): Action[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new Error("it is empty");
  return lines.map((line, index) =>
    parseAction(line, index === lines.length - 1 ? "the last line" : `line ${index + 1}`),
  );
}

/** The members that the code needs in each kind of action. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  add: ["path", "partitionValues"],
  remove: ["path"],
  metaData: ["schemaString", "format"],
  protocol: ["minReaderVersion", "minWriterVersion"],
  txn: ["appId"],
};

function parseAction(line: string, where: string): Action {
  let action: unknown;
  try {
    action = JSON.parse(line);
  } catch (cause) {
    throw new Error(`${where} is not JSON (cut short, or overwritten)`, { cause });
  }
  if (!isObject(action)) throw new Error(`${where} is not a JSON object`);
  const [kind] = Object.keys(action);
  if (kind === undefined) throw new Error(`${where} has no action`);
  const value = action[kind];
  if (!isObject(value)) throw new Error(`${where} has ${kind} without content`);
  const missing = MEMBERS[kind]?.find((member) => value[member] === undefined || value[member] === null);
  if (missing !== undefined) throw new Error(`${where} has ${kind} without ${missing}`);
  return action as unknown as Action;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
