import { LakeError } from "../../core/errors.js";
import type { Storage } from "../storage/storage.js";

/** The error for a version of a table that does not exist, or that a vacuum or a cleanup of the log has made unreadable. */
export class VersionGone extends LakeError {}

export interface LogFiles {
  /** Versions of the JSON commits, ascending. */
  readonly commits: readonly number[];
  /** Checkpoints with all their parts, ascending. */
  readonly checkpoints: readonly CheckpointFiles[];
  /** The newest version of a commit or checkpoint, including incomplete checkpoints; -1 where there is neither. */
  readonly newest: number;
}

/** A checkpoint: one Parquet file or, from other writers, several parts. */
export interface CheckpointFiles {
  readonly version: number;
  /** Relative to the lake. */
  readonly paths: readonly string[];
}

/** What to do about a log file that is damaged or missing. */
export const RESTORE_HINT = "restore it from a backup; barlake check --deep shows what else is damaged";

const COMMIT = /^(\d{20})\.json$/;
const CHECKPOINT = /^(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet$/;

/** Lists of a log begin with a multiple of this version. */
const LISTED_FROM = 50;

const folderOf = (table: string): string => `${table}/_delta_log`;
const digits = (version: number): string => String(version).padStart(20, "0");

/** The path of a commit's file, relative to the lake. */
export function commitFile(table: string, version: number): string {
  return `${folderOf(table)}/${digits(version)}.json`;
}

/** The path of a checkpoint's file, relative to the lake. */
export function checkpointFile(table: string, version: number): string {
  return `${folderOf(table)}/${digits(version)}.checkpoint.parquet`;
}

/** The path of the file that names a table's newest checkpoint, relative to the lake. */
export function lastCheckpointFile(table: string): string {
  return `${folderOf(table)}/_last_checkpoint`;
}

/** Cached results by list of names. A storage returns the same list object while the folder is unchanged. */
const KNOWN_LISTS = new WeakMap<readonly string[], LogFiles>();

/**
 * Lists a table's log; both lists are empty where there is none. The same object is returned as long as the list is the
 * same.
 *
 * @param since versions before this one may be left out: a store lists a long log in many requests. @default 0
 */
export async function listLog(storage: Storage, table: string, since = 0): Promise<LogFiles> {
  // In steps, so that the list after a commit is that of the next reader.
  const start = since - (since % LISTED_FROM);
  const names = await storage.list(folderOf(table), start <= 0 ? undefined : digits(start));
  const known = KNOWN_LISTS.get(names);
  if (known !== undefined) return known;
  const commits = names.filter((name) => COMMIT.test(name)).map((name) => Number.parseInt(name, 10));
  const others = names.filter((name) => CHECKPOINT.test(name));
  const newest = Math.max(commits.at(-1) ?? -1, Number.parseInt(others.at(-1) ?? "-1", 10));
  const log = { commits, checkpoints: checkpointsIn(table, others), newest };
  KNOWN_LISTS.set(names, log);
  return log;
}

/**
 * All files of a log that are about versions before another one: commits, checkpoints, and what other programs write next
 * to these. Paths are relative to the lake, in the order of the versions.
 */
export async function logEntries(storage: Storage, table: string, before: number): Promise<string[]> {
  const names = await storage.list(folderOf(table));
  return names
    .filter((name) => /^\d{20}\./.test(name) && Number.parseInt(name, 10) < before)
    .map((name) => `${folderOf(table)}/${name}`);
}

export async function isLogEmpty(storage: Storage, table: string): Promise<boolean> {
  return (await storage.list(folderOf(table))).length === 0;
}

/** Whether every commit after `version`, up to the newest version, exists. */
export function hasAllBehind({ commits, newest }: LogFiles, version: number): boolean {
  if (version >= newest) return version === newest;
  const first = commits.indexOf(version + 1);
  return first >= 0 && commits.length - first === newest - version;
}

function checkpointsIn(table: string, names: readonly string[]): CheckpointFiles[] {
  const found = new Map<string, { version: number; parts: number; paths: string[] }>();
  for (const name of names) {
    const match = CHECKPOINT.exec(name);
    if (match === null) continue;
    const [, version, , parts = "1"] = match;
    const id = `${version}.${parts}`;
    const checkpoint = found.get(id) ?? { version: Number(version), parts: Number(parts), paths: [] };
    checkpoint.paths.push(`${folderOf(table)}/${name}`);
    found.set(id, checkpoint);
  }
  return [...found.values()].filter(({ parts, paths }) => paths.length === parts);
}

/** The error for a missing entry: the log has a gap, or another program deleted the entry after the log was listed. */
export class MissingEntry extends LakeError {
  constructor(table: string, version: number) {
    super(`table ${table}: ${commitFile(table, version)} is missing`, { hint: RESTORE_HINT });
  }
}

/** The version that `_last_checkpoint` names; -1 where the file, which is optional, is missing or not readable. */
export async function lastCheckpointVersion(storage: Storage, table: string): Promise<number> {
  const text = await storage.readText(lastCheckpointFile(table)).catch(() => undefined);
  const match = /"version"\s*:\s*(\d+)/.exec(text ?? "");
  return match === null ? -1 : Number(match[1]);
}
