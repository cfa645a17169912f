import { LakeError } from "../core/errors.js";
import type { Storage } from "./storage.js";

/** What the folder of a table's log holds. */
export interface LogFiles {
  /** Versions of the JSON commits, ascending. */
  readonly commits: readonly number[];
  /** Whole checkpoints, ascending. */
  readonly checkpoints: readonly CheckpointFiles[];
}

/** A checkpoint: one Parquet file or, by other writers, several parts. */
export interface CheckpointFiles {
  readonly version: number;
  /** Relative to the lake. */
  readonly paths: readonly string[];
}

/** What to do about a file that is damaged or gone. */
export const RESTORE_HINT = "restore it from a backup; barlake check --deep tells what else is damaged";

const COMMIT = /^(\d{20})\.json$/;
const CHECKPOINT = /^(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet$/;

const folderOf = (table: string): string => `${table}/_delta_log`;
const digits = (version: number): string => String(version).padStart(20, "0");

/** Where a commit lies in the lake. */
export function commitFile(table: string, version: number): string {
  return `${folderOf(table)}/${digits(version)}.json`;
}

/** Where a checkpoint lies in the lake. */
export function checkpointFile(table: string, version: number): string {
  return `${folderOf(table)}/${digits(version)}.checkpoint.parquet`;
}

/** Where a table tells of its newest checkpoint. */
export function lastCheckpointFile(table: string): string {
  return `${folderOf(table)}/_last_checkpoint`;
}

/** Lists a table's log; both lists are empty where there is none. */
export async function listLog(storage: Storage, table: string): Promise<LogFiles> {
  const names = (await storage.list(folderOf(table))).sort();
  const commits = names.flatMap((name) => {
    const match = COMMIT.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
  return { commits, checkpoints: checkpointsIn(table, names) };
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

/** Says that a table's log has a hole. */
export function missingEntry(table: string, version: number): LakeError {
  return new LakeError(`table ${table}: ${commitFile(table, version)} is missing`, {
    hint: RESTORE_HINT,
  });
}
