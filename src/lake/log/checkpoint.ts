import { LakeError, messageOf } from "../../core/errors.js";
import { DAY_MS } from "../../core/time.js";
import { ident, literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { withSmallSession } from "../../db/session/small-session.js";
import { withLocalCopies } from "../local/durable-file.js";
import type { LakePlaces } from "../local/work-folder.js";
import type { Storage } from "../storage/storage.js";
import type { Action } from "./delta-actions.js";
import { type CheckpointFiles, checkpointFile, lastCheckpointFile, RESTORE_HINT } from "./log-files.js";
import { addActionOf, type Commit, type Snapshot } from "./snapshot.js";

/** Commits between two checkpoints. */
export const CHECKPOINT_INTERVAL = 50;

/** How long checkpoints list removed files and landed responses. The commits have them as long as the log has these. */
export const RETENTION_MS = 7 * DAY_MS;
/** Most actions in one JSON text, to limit its length. */
const BLOCK_ROWS = 5000;

/** The columns of a checkpoint as the protocol defines them, one for each kind of action. */
const COLUMNS = {
  txn: "STRUCT(appId VARCHAR, version BIGINT, lastUpdated BIGINT)",
  add: "STRUCT(path VARCHAR, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT, modificationTime BIGINT, dataChange BOOLEAN, tags MAP(VARCHAR, VARCHAR), stats VARCHAR)",
  remove:
    "STRUCT(path VARCHAR, deletionTimestamp BIGINT, dataChange BOOLEAN, extendedFileMetadata BOOLEAN, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT)",
  metaData:
    "STRUCT(id VARCHAR, name VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options MAP(VARCHAR, VARCHAR)), schemaString VARCHAR, partitionColumns VARCHAR[], configuration MAP(VARCHAR, VARCHAR), createdTime BIGINT)",
  protocol: "STRUCT(minReaderVersion INTEGER, minWriterVersion INTEGER)",
} as const;

/**
 * Writes a table's state at a version as one Parquet file, so that readers need not read all earlier commits. The log
 * is complete without it, so nothing is lost where it cannot be written.
 *
 * @param now epoch milliseconds; files removed and responses landed long before are left out.
 */
export async function writeCheckpoint(
  { storage, work }: LakePlaces,
  snapshot: Snapshot,
  now: number,
): Promise<void> {
  const { table, version } = snapshot;
  const [actions, staged] = [await work.newFile("ndjson"), await work.newFile("parquet")];
  try {
    const lines = actionsOf(snapshot, now).map((action) => `${JSON.stringify(action)}\n`);
    await work.write(actions, lines);
    const columns = Object.entries(COLUMNS).map(([name, type]) => `${literal(name)}: ${literal(type)}`);
    await withSmallSession((session) =>
      session.run(
        `COPY (SELECT * FROM read_json(${literal(actions)}, format = 'newline_delimited', columns = {${columns.join(", ")}}))
         TO ${literal(staged)} (FORMAT parquet, COMPRESSION zstd)`,
      ),
    );
    // If another process wrote it first, the content is the same.
    await storage.putFileIfAbsent(staged, checkpointFile(table.name, version));
    await storage.put(lastCheckpointFile(table.name), `${JSON.stringify({ version, size: lines.length })}\n`);
  } finally {
    await work.discard(actions);
    await work.discard(staged);
  }
}

/**
 * Reads a checkpoint: the actions that give the table's state at its version, without a digest of the commit.
 *
 * @throws {LakeError} when it is not readable or not complete.
 */
export async function readCheckpoint(
  storage: Storage,
  table: string,
  { version, paths }: CheckpointFiles,
): Promise<Commit> {
  try {
    const actions = await withLocalCopies(storage, paths, (local) =>
      withSmallSession((session) => allActionsIn(session, literalList(local))),
    );
    for (const kind of ["protocol", "metaData"]) {
      if (!actions.some((action) => kind in action)) throw new Error(`it has no ${kind}`);
    }
    return { version, actions, digest: undefined };
  } catch (cause) {
    throw new LakeError(`table ${table}: ${paths[0]} is not readable: ${messageOf(cause).split("\n")[0]}`, {
      hint: RESTORE_HINT,
      cause,
    });
  }
}

async function allActionsIn(session: Session, files: string): Promise<Action[]> {
  const found: Action[][] = [];
  for (const kind of await kindsIn(session, files)) found.push(await actionsIn(session, files, kind));
  // An argument list would be too short for all actions of a kind, so `flat` joins the blocks.
  return found.flat();
}

async function kindsIn(session: Session, files: string): Promise<string[]> {
  const columns = await session.json<{ column_name: string }>(
    `DESCRIBE SELECT * FROM read_parquet(${files}, hive_partitioning = false)`,
  );
  return columns.map((row) => row.column_name).filter((name) => name in COLUMNS);
}

async function actionsIn(session: Session, files: string, kind: string): Promise<Action[]> {
  const blocks = await session.json<{ json: string }>(
    `SELECT string_agg(to_json(${ident(kind)}), ',') AS json
     FROM (
       SELECT ${ident(kind)}, row_number() OVER () // ${BLOCK_ROWS} AS block
       FROM read_parquet(${files}, hive_partitioning = false) WHERE ${ident(kind)} IS NOT NULL
     )
     GROUP BY block ORDER BY block`,
  );
  return blocks.flatMap(({ json }) => {
    const values = JSON.parse(`[${json}]`) as object[];
    return values.map((value) => ({ [kind]: value }) as unknown as Action);
  });
}

function actionsOf(snapshot: Snapshot, now: number): Action[] {
  const { table, protocol, metaData, files, removed, txns } = snapshot;
  if (protocol === undefined || metaData === undefined)
    throw new LakeError(`table ${table.name}: its log has no protocol or no metaData`);
  const oldest = now - RETENTION_MS;
  return [
    { protocol },
    { metaData },
    ...[...txns.values()].filter((txn) => (txn.lastUpdated ?? now) > oldest).map((txn) => ({ txn })),
    ...[...removed.values()]
      .filter((remove) => (remove.deletionTimestamp ?? 0) > oldest)
      .map((remove) => ({ remove: { ...remove, dataChange: false } })),
    ...[...files.values()].map((file) => ({ add: { ...addActionOf(file), dataChange: false } })),
  ];
}
