import { LakeError } from "../../core/errors.js";
import { tradeDateSql } from "../../db/market/region-sql.js";
import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { UNIVERSE_MEMBERS } from "../../schema/reference.js";
import type { Lake } from "../lake.js";
import type { Snapshot } from "../log/snapshot.js";
import { type LandOptions, type LandReport, upsertDerived } from "./upsert.js";

/** SQL of the members of a version, with their source: a lake of an earlier version has no column of it. */
export async function membersOf(session: Session, lake: Lake, base: Snapshot): Promise<string> {
  const live = await parquetRelation(session, lake.filesOf(base));
  const has = base.columns.some(({ name }) => name === "source");
  return `(SELECT *${has ? "" : ", NULL::VARCHAR AS source"} FROM (${live}))`;
}

/** The condition that a range of `a` and another one of `b` are of one member, and overlap. */
export function overlapsSql(a: string, b: string): string {
  return `${a}.id = ${b}.id AND ${a}.symbol = ${b}.symbol AND ${a}.valid_from <> ${b}.valid_from
    AND ${a}.valid_from < coalesce(${b}.valid_to, 'infinity') AND ${b}.valid_from < coalesce(${a}.valid_to, 'infinity')`;
}

/** The condition that a range of `a` begins on a day before that of the instant `since`. */
export function beginsBeforeSql(a: string): string {
  return `${tradeDateSql(`${a}.valid_from`, `${a}.region`)} < ${tradeDateSql("since", `${a}.region`)}`;
}

/**
 * Lands memberships with their dates. What the lake saw of a universe itself stays as it is: ranges end where it first saw
 * it, and later ones do not land. A range that begins when a known one of its member does replaces it.
 *
 * @param staged a temporary table with the columns of the members; the ranges of a member do not overlap.
 * @throws {LakeError} where a range overlaps another one that was imported before.
 */
export async function landMemberRanges(
  session: Session,
  lake: Lake,
  staged: string,
  options: LandOptions,
): Promise<LandReport> {
  await using rows = new TempTable(session, "member_ranges");
  const make = async (base: Snapshot): Promise<string> => {
    const live = await membersOf(session, lake, base);
    await rows.fill(`WITH seen AS (SELECT id, min(valid_from) AS since FROM ${live} WHERE source IS NULL GROUP BY id)
      SELECT s.* REPLACE (CASE WHEN since < coalesce(s.valid_to, 'infinity') THEN since ELSE s.valid_to END AS valid_to)
      FROM ${ident(staged)} s LEFT JOIN seen USING (id) WHERE since IS NULL OR ${beginsBeforeSql("s")}`);
    const [found] = await session.json<{ id: string; symbol: string }>(
      `SELECT s.id, s.symbol FROM ${rows.name} s JOIN (SELECT * FROM ${live} WHERE source IS NOT NULL) l ON ${overlapsSql("s", "l")} LIMIT 1`,
    );
    if (found !== undefined)
      throw new LakeError(
        `table universe_members: ${found.symbol} in ${found.id} overlaps what was imported before`,
        {
          hint: "import it again: its rows are then set aside",
        },
      );
    return rows.name;
  };
  const report = await upsertDerived(session, lake, UNIVERSE_MEMBERS, make, { ...options, merge: "replace" });
  const [counts] = await session.json<{ n: number }>(`SELECT count(*)::DOUBLE AS n FROM ${ident(staged)}`);
  return { ...report, unchanged: (counts?.n ?? 0) - report.inserted - report.updated };
}
