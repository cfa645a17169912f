import { groupBy } from "../../core/group-by.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import { subjectOf } from "../../schema/reference.js";
import { isCompacted, writeDataFile } from "../files/data-file.js";
import { verifyContent } from "../files/verify-content.js";
import type { Lake } from "../lake.js";
import { deleteUncommitted } from "../land/upsert.js";
import { commitWithRetries, retryOnConflict } from "../log/commit.js";
import { commitInfoAction, removeAction } from "../log/commit-actions.js";
import type { AddFile } from "../log/delta-actions.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";

/** Subjects with two versions at the same time. */
interface OverlappingVersions {
  readonly subjects: number;
  /** The first of them. */
  readonly example: string | undefined;
}

export async function overlappingVersions(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly DataFile[],
): Promise<OverlappingVersions> {
  await using subjects = new TempTable(session, "overlapping_subjects");
  return await findOverlappingVersions(session, lake, snapshot, files, subjects);
}

/**
 * Finds the subjects that have two versions at the same time, such as two current ones, or a version twice. Earlier
 * releases left them where a snapshot landed after a newer one.
 *
 * @param files live files of the snapshot.
 * @param subjects is filled with the subjects.
 */
async function findOverlappingVersions(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly DataFile[],
  subjects: TempTable,
): Promise<OverlappingVersions> {
  if (files.length === 0) return { subjects: 0, example: undefined };
  const { table } = snapshot;
  const names = subjectOf(table).map(ident);
  const rows = await parquetRelation(session, lake.filesOf(snapshot, files));
  const next = `lead(valid_from) OVER (PARTITION BY ${names.join(", ")} ORDER BY valid_from, valid_to)`;
  await subjects.fill(`SELECT DISTINCT ${names.join(", ")}
    FROM (SELECT *, ${next} AS next_from FROM (${rows}))
    WHERE next_from IS NOT NULL AND (valid_to IS NULL OR valid_to > next_from OR valid_from = next_from)`);
  const [found] = await session.json<{ subjects: number; example: string | null }>(
    `SELECT count(*)::DOUBLE AS subjects, min(concat_ws(' ', ${names.join(", ")})) AS example FROM ${subjects.name}`,
  );
  return { subjects: found?.subjects ?? 0, example: found?.example ?? undefined };
}

interface RepairVersionsOptions {
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Mends subjects that have two versions at the same time: of rows with the same beginning one is kept, and each version
 * ends where the next one begins, so that the one that began last is the current one ({@link mendedSql}). Older versions
 * of the table keep the rows as they were.
 *
 * @returns the number of subjects.
 * @throws {LakeError} for a live file that is damaged.
 * @throws {CommitConflict} when other writers were first at every attempt.
 */
export async function repairVersions(
  session: Session,
  lake: Lake,
  table: TableSchema,
  options: RepairVersionsOptions,
): Promise<number> {
  return retryOnConflict(lake, table, (base) => repairOnce(session, lake, base, options));
}

/** Makes one attempt. @returns undefined where another writer has changed the table: then nothing was committed. */
async function repairOnce(
  session: Session,
  lake: Lake,
  base: Snapshot,
  { runId, now, signal }: RepairVersionsOptions,
): Promise<number | undefined> {
  const { table } = base;
  const live = [...base.files.values()];
  await using subjects = new TempTable(session, "overlapping_subjects");
  const found = await findOverlappingVersions(session, lake, base, live, subjects);
  if (found.subjects === 0) return 0;
  const using = `USING (${subjectOf(table).map(ident).join(", ")})`;
  const rows = await parquetRelation(session, lake.filesOf(base, live), { withFile: true });
  const touched = await session.json<{ live_file: string }>(
    `SELECT DISTINCT live_file FROM (${rows}) SEMI JOIN ${subjects.name} ${using}`,
  );
  const byUrl = new Map(live.map((file) => [lake.urlOf(base, file), file]));
  const files = touched.map(({ live_file }) => byUrl.get(live_file) as DataFile);
  await verifyContent(lake, base, files, signal);
  await using versions = new TempTable(session, "mended_versions");
  await versions.fill(mendedSql(table, await parquetRelation(session, lake.filesOf(base, files)), subjects));
  const adds: AddFile[] = [];
  for (const own of byPartition(files)) {
    const { partitionValues } = own[0] as DataFile;
    const ofPartition = Object.entries(partitionValues).map(([name, value]) =>
      value === null ? `${ident(name)} IS NULL` : `CAST(${ident(name)} AS VARCHAR) = ${literal(value)}`,
    );
    const others = await parquetRelation(session, lake.filesOf(base, own));
    const content = `SELECT * FROM (${others}) ANTI JOIN ${subjects.name} ${using}
      UNION ALL BY NAME SELECT * FROM ${versions.name} WHERE ${["true", ...ofPartition].join(" AND ")}`;
    if ((await countRows(session, `(${content})`)) === 0) continue;
    const as = own.every(({ path }) => isCompacted(path)) ? "compacted" : "landed";
    adds.push(await writeDataFile(session, lake, base, content, partitionValues, { as, now }));
  }
  const after = await commitWithRetries(lake, base, {
    actions: [
      commitInfoAction({ operation: "REPAIR", runId, now }, { numRepairedSubjects: found.subjects }),
      ...files.map((file) => removeAction(file, { now, dataChange: true })),
      ...adds.map((add) => ({ add })),
    ],
    // A snapshot that lands at the same time may add a version of one of the subjects.
    stillHolds: (newest) =>
      newest.files.size === live.length && live.every(({ path }) => newest.files.has(path)),
    now,
  });
  if (after !== undefined) return found.subjects;
  await deleteUncommitted(lake, table, adds);
  return undefined;
}

/** The versions of some subjects as they should be: the three rules below, one after the other. */
function mendedSql(table: TableSchema, rows: string, { name: subjects }: TempTable): string {
  const key = subjectOf(table);
  const subject = key.map(ident).join(", ");
  return `WITH
    versions AS (SELECT * FROM (${rows}) SEMI JOIN ${subjects} USING (${subject})),
    single AS (${singleSql(table, "versions", subject)}),
    ended AS (${endedSql(key, "single", subject)})
    ${joinedSql(table, "ended", subject)}`;
}

/** Of the versions of a subject with the same beginning one, with the earliest end that was seen. */
function singleSql(table: TableSchema, versions: string, subject: string): string {
  const order = ["valid_to", ...table.columns.map(({ name }) => ident(name))].join(", ");
  return `SELECT * FROM ${versions}
    QUALIFY row_number() OVER (PARTITION BY ${subject}, valid_from ORDER BY ${order}) = 1`;
}

/**
 * Each version ends where the next one begins. One that has ended also ends where an earlier version of its subject
 * ended, because a newer snapshot no longer had the subject then. A version that has not ended was in all later
 * snapshots.
 */
function endedSql(key: readonly string[], versions: string, subject: string): string {
  const same = key.map((name) => `e.${ident(name)} = v.${ident(name)}`).join(" AND ");
  return `SELECT v.* REPLACE (least(
        v.valid_to,
        lead(v.valid_from) OVER (PARTITION BY ${subject} ORDER BY v.valid_from),
        CASE WHEN v.valid_to IS NOT NULL THEN (
          SELECT min(e.valid_to) FROM ${versions} e
          WHERE ${same} AND e.valid_from < v.valid_from AND e.valid_to > v.valid_from
        ) END
      ) AS valid_to)
    FROM ${versions} v`;
}

/** Versions with the same content that follow one another without a gap are one. */
function joinedSql(table: TableSchema, versions: string, subject: string): string {
  const columns = table.columns.map(({ name }) => name).filter((name) => !name.startsWith("valid_"));
  const content = `struct_pack(${columns.map((name) => `${ident(name)} := ${ident(name)}`).join(", ")})`;
  return `SELECT * EXCLUDE (begins, stretch) REPLACE (last_value(valid_to) OVER whole AS valid_to)
    FROM (
      SELECT *, count(*) FILTER (begins) OVER (PARTITION BY ${subject} ORDER BY valid_from) AS stretch
      FROM (
        SELECT *, (lag(valid_to) OVER own IS DISTINCT FROM valid_from
            OR lag(${content}) OVER own IS DISTINCT FROM ${content}) AS begins
        FROM ${versions} WINDOW own AS (PARTITION BY ${subject} ORDER BY valid_from)
      )
    )
    WINDOW whole AS (PARTITION BY ${subject}, stretch ORDER BY valid_from
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    QUALIFY row_number() OVER whole = 1`;
}

function byPartition(files: readonly DataFile[]): DataFile[][] {
  return [...groupBy(files, ({ partitionValues }) => JSON.stringify(partitionValues)).values()];
}
