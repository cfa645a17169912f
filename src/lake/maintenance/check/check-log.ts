import { isDeepStrictEqual } from "node:util";
import { hintOf, messageOf } from "../../../core/errors.js";
import type { TableSchema } from "../../../schema/column.js";
import { readCheckpoint } from "../../log/checkpoint.js";
import {
  type CheckpointFiles,
  commitFile,
  type LogFiles,
  lastCheckpointFile,
  listLog,
} from "../../log/log-files.js";
import { readCommit } from "../../log/read-log.js";
import { type Commit, type DataFile, Draft, emptySnapshot, type Snapshot } from "../../log/snapshot.js";
import type { Storage } from "../../storage/storage.js";
import { isStoreFault } from "../../storage/store-fault.js";
import type { Finding } from "./finding.js";

/**
 * How a checkpoint differs from the state that the log gives at its version, in a few words; undefined where it does
 * not. A checkpoint may leave out old removed files and old landed responses.
 */
export function checkpointDifference(log: Snapshot, checkpoint: Snapshot): string | undefined {
  for (const [path, file] of log.files) {
    const other = checkpoint.files.get(path);
    if (other === undefined) return `it lacks ${path}`;
    const difference = fileDifference(file, other);
    if (difference !== undefined) return `${path} has another ${difference}`;
  }
  for (const path of checkpoint.files.keys()) {
    if (!log.files.has(path)) return `it has ${path}, which is not live`;
  }
  for (const [identity, { version }] of checkpoint.txns) {
    if (log.txns.get(identity)?.version !== version) return `it has another transaction ${identity}`;
  }
  const { metaData, protocol } = log;
  if (
    metaData?.id !== checkpoint.metaData?.id ||
    metaData?.schemaString !== checkpoint.metaData?.schemaString
  )
    return "it has other columns";
  if (
    protocol?.minReaderVersion !== checkpoint.protocol?.minReaderVersion ||
    protocol?.minWriterVersion !== checkpoint.protocol?.minWriterVersion
  )
    return "it has another protocol";
  return undefined;
}

/** Statistics are compared only where both files have them: other writers may store them in separate columns. */
function fileDifference(file: DataFile, other: DataFile): string | undefined {
  if (file.size !== other.size) return "size";
  if (!isDeepStrictEqual({ ...file.partitionValues }, { ...other.partitionValues })) return "partition";
  const [stats, others] = [file.stats, other.stats];
  if (stats === undefined || others === undefined) return undefined;
  return isDeepStrictEqual(stats, others) ? undefined : "statistics";
}

const RESTORE_ENTRY = "restore it from a backup; no version from there on is read without it";
const DROP_CHECKPOINT = "move it away: readers then use an older one, or the log from its beginning";

/**
 * Reads a table's log from version 0, or from its oldest checkpoint where the first commits were deleted. Every entry
 * must exist and be readable, and every checkpoint must equal the state that the entries before it give.
 *
 * @param findings gets what is wrong.
 * @returns the state that the whole log gives; undefined where the log is damaged.
 * @throws the error of a store that is not well: it says nothing about the log.
 */
export async function checkLog(
  storage: Storage,
  table: TableSchema,
  findings: Finding[],
): Promise<Snapshot | undefined> {
  const log = await listLog(storage, table.name);
  const reader = new LogReader(storage, table, findings);
  const [from, to] = rangeOf(log);
  const checkpoints = new Map(log.checkpoints.map((one) => [one.version, one]));
  const isHeadless = log.commits.length > 0 && log.commits[0] !== 0 && log.checkpoints.length === 0;
  if (isHeadless) reader.headless();
  for (let version = from; version <= to; version++) {
    const checkpoint = checkpoints.get(version);
    await reader.entry(version, version === from && checkpoint !== undefined);
    if (checkpoint !== undefined) await reader.checkpoint(checkpoint);
  }
  await reader.lastCheckpoint(log, to);
  return reader.finish();
}

/**
 * The first and last version that a log should have, both inclusive; the last is -1 where there is no log. A log that does
 * not begin with version 0 begins with its oldest checkpoint: what a cleanup has left before it belongs to no version
 * that can be read.
 */
function rangeOf({ commits, checkpoints }: LogFiles): readonly [number, number] {
  const starts = commits[0] === 0 ? [0] : [checkpoints[0]?.version ?? commits[0]];
  const ends = [commits.at(-1), checkpoints.at(-1)?.version];
  const known = (versions: readonly (number | undefined)[]): number[] =>
    versions.filter((version) => version !== undefined);
  return [Math.min(...known(starts)), Math.max(-1, ...known(ends))];
}

class LogReader {
  readonly #storage: Storage;
  readonly #table: TableSchema;
  readonly #findings: Finding[];
  /** The state so far; undefined after damage, until a checkpoint restores it. */
  #draft: Draft | undefined;
  #isWhole = true;

  constructor(storage: Storage, table: TableSchema, findings: Finding[]) {
    this.#storage = storage;
    this.#table = table;
    this.#findings = findings;
    this.#draft = new Draft(emptySnapshot(table));
  }

  /** Reports a log that begins after version 0 and has no checkpoint. */
  headless(): void {
    const file = commitFile(this.#table.name, 0);
    this.#broken("log_begins_late", file, "is missing, and there is no checkpoint to begin with", 0);
  }

  /** Reads an entry. @param optional whether the version's checkpoint replaces the entry. */
  async entry(version: number, optional: boolean): Promise<void> {
    const file = commitFile(this.#table.name, version);
    let commit: Commit | undefined;
    try {
      commit = await readCommit(this.#storage, this.#table.name, version);
    } catch (error) {
      if (isStoreFault(error)) throw error;
      this.#broken("log_entry_unreadable", file, faultOf(error, file), version);
      return;
    }
    if (optional) this.#draft = undefined;
    else if (commit === undefined) this.#broken("log_entry_missing", file, "is missing", version);
    else this.#apply(commit, file);
  }

  async checkpoint(checkpoint: CheckpointFiles): Promise<void> {
    const { version, paths } = checkpoint;
    const file = paths[0] as string;
    try {
      const actions = await readCheckpoint(this.#storage, this.#table.name, checkpoint);
      const draft = new Draft(emptySnapshot(this.#table));
      draft.apply(actions);
      const content = draft.finish();
      if (this.#draft !== undefined) {
        const known = this.#draft.finish();
        const difference = checkpointDifference(known, content);
        this.#draft = new Draft(known);
        if (difference !== undefined)
          this.find("checkpoint_differs", file, `is not what the log comes to: ${difference}`, {
            version,
            hint: DROP_CHECKPOINT,
          });
      } else this.#draft = new Draft(content);
    } catch (error) {
      if (isStoreFault(error)) throw error;
      this.find("checkpoint_unreadable", file, faultOf(error, file), { version, hint: DROP_CHECKPOINT });
    }
  }

  /** Checks that `_last_checkpoint` names a checkpoint that exists, and no version after the log's end. */
  async lastCheckpoint({ checkpoints }: LogFiles, newest: number): Promise<void> {
    const file = lastCheckpointFile(this.#table.name);
    const hint = "delete it: other programs list the folder without it";
    try {
      const text = await this.#storage.readText(file);
      if (text === undefined) return;
      const { version } = JSON.parse(text) as { version?: unknown };
      if (checkpoints.some((one) => one.version === version)) return;
      const beyond = typeof version === "number" && version > newest;
      const end = beyond ? `, while the log ends with version ${newest}: its newest entries are gone` : "";
      this.find(
        "last_checkpoint",
        file,
        `names version ${String(version)}, of which there is no checkpoint${end}`,
        {
          hint: beyond ? "restore the table's _delta_log from a backup" : hint,
          severity: beyond ? "error" : "warning",
        },
      );
    } catch (error) {
      if (isStoreFault(error)) throw error;
      this.find("last_checkpoint", file, `is not readable: ${messageOf(error)}`, {
        hint,
        severity: "warning",
      });
    }
  }

  find(
    rule: Finding["rule"],
    file: string,
    what: string,
    more: Pick<Finding, "hint"> & Partial<Pick<Finding, "version" | "severity">>,
  ): void {
    const { name } = this.#table;
    this.#findings.push({ severity: "error", table: name, file, rule, message: `${file} ${what}`, ...more });
  }

  finish(): Snapshot | undefined {
    const snapshot = this.#isWhole ? this.#draft?.finish() : undefined;
    if (snapshot !== undefined && snapshot.version >= 0) this.#checkSchema(snapshot);
    return snapshot;
  }

  #apply(commit: Commit, file: string): void {
    try {
      this.#draft?.apply(commit);
    } catch (error) {
      const what = `is not understood: ${messageOf(error)}`;
      this.#broken("log_not_understood", file, what, commit.version, hintOf(error));
    }
  }

  #broken(
    rule: Finding["rule"],
    file: string,
    what: string,
    version: number,
    hint: string = RESTORE_ENTRY,
  ): void {
    this.find(rule, file, what, { version, hint });
    this.#draft = undefined;
    this.#isWhole = false;
  }

  #checkSchema({ version, metaData, protocol, columns }: Snapshot): void {
    const { name, partition, columns: declared } = this.#table;
    const hint = "another program has written this table; write it again, or restore it from a backup";
    const complain = (what: string): void => {
      const found = { severity: "error", table: name, version, rule: "log_schema", hint } as const;
      this.#findings.push({ ...found, message: `table ${name}: ${what}` });
    };
    if (protocol === undefined || metaData === undefined) {
      complain(`its log has no ${protocol === undefined ? "protocol" : "metaData"}`);
      return;
    }
    if (metaData.partitionColumns?.join() !== partition.join())
      complain(
        `is partitioned by ${metaData.partitionColumns?.join(", ") || "nothing"}, not by ${partition.join(", ")}`,
      );
    for (const column of columns) {
      const own = declared.find((one) => one.name === column.name);
      if (own !== undefined && own.type !== column.type)
        complain(`column ${column.name} is ${column.type} by the log, and ${own.type} by its declaration`);
    }
  }
}

function faultOf(error: unknown, file: string): string {
  const [message = ""] = messageOf(error).split("\n");
  const at = message.indexOf(file);
  return at < 0 ? `is not readable: ${message}` : message.slice(at + file.length).trim();
}
