import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import { subjectOf } from "../../schema/reference.js";
import type { Lake } from "../lake.js";
import type { Snapshot } from "../log/snapshot.js";
import { selectAs } from "./changes.js";
import { finiteRows } from "./clear-values.js";
import { stagedColumns } from "./staged-rows.js";
import { type LandOptions, type LandReport, upsertDerived } from "./upsert.js";

/**
 * Lands a snapshot in a table of dated versions: new content begins a version at `now` and ends the version that it
 * replaces; versions with the same content do not change. Of a subject of which a newer snapshot is known, because a
 * version began or ended after `now` (by another process, or under another clock), nothing changes.
 *
 * @param staged a temporary table with the table's columns except `valid_from` and `valid_to`, one row for each
 *   subject.
 * @param options.complete a condition on the table's columns: current rows that meet it and are not in the snapshot end
 *   too (delisted, or left a universe). Without it, no version ends because its subject is absent.
 * @param options.defaults where the merge keeps what is not said: SQL of the value, by column, of a subject without a
 *   current version for which the snapshot (`s`) has none.
 */
export async function landVersions(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  options: LandOptions & {
    readonly complete?: string;
    readonly defaults?: Readonly<Record<string, string>>;
  },
): Promise<LandReport> {
  const subject = subjectOf(table);
  const now = `make_timestamptz(${options.now * 1000}::BIGINT)`;
  const same = subject.map((name) => `s.${ident(name)} = c.${ident(name)}`).join(" AND ");
  const isOf = subject.map((name) => `l.${ident(name)} = s.${ident(name)}`).join(" AND ");
  const isKept = options.merge === "keep";
  const delivered = await stagedColumns(session, staged);
  await using versions = new TempTable(session, "versions");
  const make = async (base: Snapshot): Promise<string> => {
    const live = await parquetRelation(session, lake.filesOf(base));
    const columns = base.columns.filter(({ name }) => !["valid_from", "valid_to"].includes(name));
    const content = columns.map(({ name }) => name);
    const valueOf = (name: string): string => {
      if (!isKept) return `s.${ident(name)}`;
      const last = options.defaults?.[name];
      const ifNew = last === undefined ? "" : `, CASE WHEN c.valid_from IS NULL THEN ${last} END`;
      return `coalesce(s.${ident(name)}, c.${ident(name)}${ifNew})`;
    };
    const differs = content.map((name) => `${valueOf(name)} IS DISTINCT FROM c.${ident(name)}`).join(" OR ");
    const ended = [`(s.${ident(subject[0] as string)} IS NOT NULL AND (${differs}))`];
    if (options.complete) ended.push(`(s.${ident(subject[0] as string)} IS NULL AND (${options.complete}))`);
    await versions.fill(`WITH l AS (FROM (${live})), c AS (SELECT * FROM l WHERE valid_to IS NULL),
        s AS (${selectAs(columns, delivered, `(${finiteRows(staged, delivered)})`)})
      SELECT ${content.map((name) => `${valueOf(name)} AS ${ident(name)}`).join(", ")}, ${now} AS valid_from, CAST(NULL AS TIMESTAMPTZ) AS valid_to
      FROM s LEFT JOIN c ON ${same} WHERE (c.valid_from IS NULL AND NOT EXISTS (FROM l WHERE l.valid_to > ${now} AND ${isOf}))
        OR (c.valid_from <= ${now} AND (${differs}))
      UNION ALL
      SELECT ${content.map((name) => `c.${ident(name)}`).join(", ")}, c.valid_from, ${now} AS valid_to
      FROM c LEFT JOIN s ON ${same} WHERE c.valid_from < ${now} AND (${ended.join(" OR ")})`);
    return versions.name;
  };
  // The versions are whole: nothing of a row with the same key is kept.
  return await upsertDerived(session, lake, table, make, { ...options, merge: "replace" });
}
