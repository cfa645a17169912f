import { LakeError } from "../../core/errors.js";
import { tradeDateSql } from "../../db/market/region-sql.js";
import { ident } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS, subjectOf, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { STATEMENTS } from "../../schema/statements.js";
import type { Lake } from "../lake.js";
import type { Snapshot } from "../log/snapshot.js";
import { openReader } from "../open-reader.js";
import { selectAs } from "./changes.js";
import { finiteRows } from "./clear-values.js";
import { stagedColumns } from "./staged-rows.js";
import { type LandOptions, type LandReport, upsertDerived } from "./upsert.js";

/** Names of the tables whose versions the view `reference_changes` compares. */
export const WITH_CHANGES: ReadonlySet<string> = new Set(
  [INSTRUMENTS, UNIVERSES, UNIVERSE_MEMBERS, ...Object.values(STATEMENTS)].map(({ name }) => name),
);

/** Most examples of each kind of change in a report. */
const SHOWN = 5;

/** Changes of one kind between snapshots: instruments listed, members that left, and so on. */
export interface ReferenceChange {
  readonly dataset: string;
  /** What happened, in the terms of the view `reference_changes`. */
  readonly change: string;
  /** How many symbols changed, or how many universes where the change is about universes. */
  readonly subjects: number;
  /** The first of these changes, with old and new values where there are any. */
  readonly examples: readonly string[];
}

/**
 * What changed in reference data and statements within a period, by the lake's views.
 *
 * @param since epoch milliseconds. @param until epoch milliseconds, inclusive.
 */
export async function referenceChanges(
  views: Session,
  { since, until }: { readonly since: number; readonly until: number },
): Promise<ReferenceChange[]> {
  return views.json(
    `WITH changes AS (
       SELECT dataset, change, coalesce(symbol, universe_id) AS subject,
         concat_ws(' ', symbol, universe_id, period_end) AS name,
         concat(field, ' ', coalesce(was, 'none'), ' -> ', coalesce(is_now, 'none')) AS what,
         field IS NOT NULL AS has_values
       FROM reference_changes
       WHERE changed_at BETWEEN make_timestamptz($1::BIGINT * 1000) AND make_timestamptz($2::BIGINT * 1000)),
     named AS (
       SELECT dataset, change, subject,
         concat(name, ' (' || (min(what) FILTER (has_values)), CASE WHEN count(*) > 1 THEN concat(', ', count(*) - 1, ' more') END,
           CASE WHEN bool_or(has_values) THEN ')' END) AS example
       FROM changes GROUP BY dataset, change, subject, name)
     SELECT dataset, change, count(DISTINCT subject)::DOUBLE AS subjects,
       array_slice(list(example ORDER BY example), 1, ${SHOWN}) AS examples
     FROM named GROUP BY ALL ORDER BY ALL`,
    [since, until],
  );
}

/** As {@link referenceChanges}, for the current state of a lake. */
export async function changesOfLake(
  lake: Lake,
  window: Parameters<typeof referenceChanges>[1],
): Promise<ReferenceChange[]> {
  const { session } = await openReader(lake, { statement: "reference_changes" });
  using reader = session;
  return await referenceChanges(reader, window);
}

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

const SEEN = "first_seen_at";

/**
 * Lands what sources say about instruments, such as corporate actions, in a table with the time at which each row was
 * first seen. What a row does not say keeps the value of the newest version of its subject. Where the table's key has
 * that time, a row that says something else becomes a new version, seen after the one before even if a clock goes back;
 * else it replaces the row, which keeps its time. A row that says nothing new changes nothing.
 *
 * @param staged a temporary table with the table's columns but `first_seen_at`, one row for each subject.
 */
export async function landActions(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  options: LandOptions,
): Promise<LandReport> {
  const subject = table.key.filter((name) => name !== SEEN);
  const hasVersions = table.key.includes(SEEN);
  const fields = table.columns
    .map(({ name }) => name)
    .filter((name) => name !== SEEN && !subject.includes(name) && !table.partition.includes(name));
  const same = subject.map((name) => `s.${ident(name)} = l.${ident(name)}`).join(" AND ");
  const now = `make_timestamptz(${options.now * 1000}::BIGINT)`;
  const seen = hasVersions
    ? `greatest(${now}, l.${SEEN} + INTERVAL 1 MILLISECOND)`
    : `coalesce(l.${SEEN}, ${now})`;
  const select = [
    ...[...subject, ...table.partition].map((name) => `s.${ident(name)}`),
    ...fields.map((name) => `coalesce(s.${ident(name)}, l.${ident(name)}) AS ${ident(name)}`),
    `${seen} AS ${SEEN}`,
  ];
  const differs = fields.map(
    (name) => `(s.${ident(name)} IS NOT NULL AND s.${ident(name)} IS DISTINCT FROM l.${ident(name)})`,
  );
  await using rows = new TempTable(session, "action_rows");
  const make = async (base: Snapshot): Promise<string> => {
    const live = await parquetRelation(session, lake.filesOf(base));
    const newest = `QUALIFY row_number() OVER (PARTITION BY ${subject.map(ident).join(", ")} ORDER BY ${SEEN} DESC) = 1`;
    await rows.fill(`WITH l AS (SELECT * FROM (${live}) ${hasVersions ? newest : ""})
      SELECT ${select.join(", ")} FROM ${ident(staged)} s LEFT JOIN l ON ${same}
      WHERE l.symbol IS NULL OR ${differs.join(" OR ")}`);
    return rows.name;
  };
  // The rows are whole: nothing of a row with the same key is kept.
  const report = await upsertDerived(session, lake, table, make, { ...options, merge: "replace" });
  const offered = await countRows(session, ident(staged));
  return { ...report, unchanged: offered - report.inserted - report.updated };
}

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
  const offered = await countRows(session, ident(staged));
  return { ...report, unchanged: offered - report.inserted - report.updated };
}
