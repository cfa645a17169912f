import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { subjectOf } from "../../schema/reference.js";
import type { Lake } from "../lake.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";

/** Subjects with two versions at the same time. */
export interface OverlappingVersions {
  readonly subjects: number;
  /** The first of them. */
  readonly example: string | undefined;
}

/** Counts the subjects that {@link findOverlappingVersions} finds. */
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
export async function findOverlappingVersions(
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
