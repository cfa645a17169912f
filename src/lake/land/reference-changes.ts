import type { Session } from "../../db/session/session.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { STATEMENTS } from "../../schema/statements.js";
import type { Lake } from "../lake.js";
import { openReader } from "../open-reader.js";

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
