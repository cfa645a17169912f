import type { ColumnType, TableSchema } from "../../../schema/column.js";
import { hashInName } from "../../files/data-file.js";
import { isOutside, type Lake } from "../../lake.js";
import type { FileStats } from "../../log/delta-actions.js";
import type { DataFile, Snapshot } from "../../log/snapshot.js";
import type { StoredFile } from "../../storage/storage.js";
import { isStoreFault } from "../../storage/store-fault.js";
import { isDataFile } from "../vacuum.js";
import { type Finding, FOREIGN, RESTORE, RESTORE_LOG } from "./finding.js";

/** The text form of a partition's value in the log, by type. */
const VALUE_TEXT: Readonly<Partial<Record<ColumnType, RegExp>>> = {
  string: /^[\s\S]+$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
  int32: /^-?\d{1,10}$/,
  int64: /^-?\d{1,19}$/,
  boolean: /^(true|false)$/,
};

/**
 * Compares a table's live files with what is stored: they must exist with their size, in the folder of their partition,
 * and have readable statistics.
 *
 * @param stored the table's files, listed before the log was read.
 * @param findings gets what is wrong.
 * @returns live files that exist with the size given in the log.
 */
export async function checkFiles(
  lake: Lake,
  snapshot: Snapshot,
  stored: readonly StoredFile[],
  findings: Finding[],
): Promise<DataFile[]> {
  const sizes = new Map(stored.map(({ path, size }) => [path, size]));
  const late = [...snapshot.files.keys()].some((path) => !sizes.has(path));
  // Some files were committed after the first listing, so the folder is listed again.
  if (late) for (const { path, size } of await lake.storage.walk(snapshot.table.name)) sizes.set(path, size);
  const newest = late ? await lake.snapshot(snapshot.table) : snapshot;
  const present: DataFile[] = [];
  for (const file of snapshot.files.values()) {
    const find = finder(snapshot, file, findings);
    const size = isOutside(file.path) ? await sizeOutside(lake, snapshot, file) : sizes.get(file.path);
    if (size === file.size) present.push(file);
    else if (size !== undefined) find("file_size", `has ${size} bytes, and ${file.size} by the log`, RESTORE);
    else if (newest.files.has(file.path)) find("file_missing", "is missing, or is no file", RESTORE);
    checkPartition(snapshot.table, file, find);
    checkStatistics(file, find);
  }
  return present;
}

/** The size of a file outside the lake, in bytes; undefined where it does not exist or cannot be reached from here. */
async function sizeOutside(lake: Lake, snapshot: Snapshot, file: DataFile): Promise<number | undefined> {
  try {
    return (await lake.factsOf(snapshot, file))?.size;
  } catch (error) {
    if (isStoreFault(error)) throw error;
    return undefined;
  }
}

export function unknownFiles({ table, files, removed }: Snapshot, stored: readonly StoredFile[]): Finding[] {
  return stored
    .filter(({ path }) => isDataFile(path) && !files.has(path) && !removed.has(path))
    .map(({ path, size }) => ({
      severity: "info",
      table: table.name,
      file: `${table.name}/${path}`,
      rule: "file_unknown",
      message: `${table.name}/${path} (${size} bytes) is in no version: a writer was stopped, or is about to commit it`,
      hint: "barlake vacuum deletes such files a day after they were written",
    }));
}

export type Find = (
  rule: Finding["rule"],
  what: string,
  hint: string,
  severity?: Finding["severity"],
) => void;

export function finder({ table, version }: Snapshot, { path }: DataFile, findings: Finding[]): Find {
  const file = `${table.name}/${path}`;
  return (rule, what, hint, severity = "error") =>
    findings.push({ severity, table: table.name, version, file, rule, message: `${file} ${what}`, hint });
}

function checkPartition(table: TableSchema, { path, partitionValues }: DataFile, find: Find): void {
  const folders = new Map(
    path
      .split("/")
      .slice(0, -1)
      .map((part) => part.split("=", 2) as [string, string | undefined]),
  );
  for (const name of table.partition) {
    const value = partitionValues[name];
    const type = table.columns.find((column) => column.name === name)?.type ?? "string";
    if (value === undefined || value === null) find("partition_value", `has no ${name} in the log`, FOREIGN);
    else if (VALUE_TEXT[type]?.test(value) !== true)
      find(
        "partition_value",
        `has the ${name} ${JSON.stringify(value)} in the log, which is no ${type}`,
        FOREIGN,
      );
    else if (decoded(folders.get(name)) !== value)
      find(
        "partition_value",
        `is ${name} ${JSON.stringify(value)} by the log, and lies in another folder`,
        FOREIGN,
        // Other programs may put a file anywhere; this program always uses the folder of the partition.
        hashInName(path) === undefined ? "info" : "error",
      );
  }
}

function decoded(folder: string | undefined): string | undefined {
  try {
    return folder === undefined ? undefined : decodeURIComponent(folder);
  } catch {
    return folder;
  }
}

function checkStatistics(file: DataFile, find: Find): void {
  const stats = readableStats(file);
  if (stats === "unreadable") {
    find("statistics_unreadable", "has statistics in the log that are not JSON", RESTORE_LOG);
    return;
  }
  if (stats === undefined) {
    const hint = "barlake optimize rewrites small files, with statistics";
    find("statistics_absent", "has no statistics in the log: every query opens it", hint, "info");
    return;
  }
  if (!Number.isSafeInteger(stats.numRecords) || stats.numRecords < 0)
    find(
      "statistics_unreadable",
      `has ${String(stats.numRecords)} rows by the log, which is no count`,
      RESTORE_LOG,
    );
  for (const [name, min] of Object.entries(stats.minValues ?? {})) {
    const max = stats.maxValues?.[name];
    if (typeof min === "string" && typeof max === "string" && min > max)
      find(
        "statistics_wrong",
        `has ${min} as its least ${name} by the log, and ${max} as its greatest`,
        RESTORE_LOG,
      );
  }
}

/** The log's statistics of a file, or `unreadable` where they are damaged. */
export function readableStats(file: DataFile): FileStats | undefined | "unreadable" {
  try {
    return file.stats;
  } catch {
    return "unreadable";
  }
}
