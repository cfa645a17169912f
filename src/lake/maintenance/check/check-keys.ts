import { ident, literalList } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import type { TableSchema } from "../../../schema/column.js";
import type { Lake } from "../../lake.js";
import type { DataFile, Snapshot } from "../../log/snapshot.js";
import type { RowFacts } from "./check-rows.js";
import type { Finding } from "./finding.js";

/** A live file whose rows have been read. */
export interface ReadFile {
  readonly file: DataFile;
  readonly facts: RowFacts;
}

/**
 * Finds keys that occur more than once in a partition. Files whose ranges do not overlap cannot share a key, and a
 * sorted file shows its own repeats. So only keys of files that overlap, or are not sorted, are compared, group by
 * group; what does not fit into memory is spilled.
 *
 * @param files of one partition.
 */
export async function checkKeys(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly ReadFile[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const group of overlappingGroups(snapshot.table, files)) {
    if (isSettled(snapshot.table, group)) continue;
    const found = await duplicates(session, lake, snapshot, group);
    if (found !== undefined) findings.push(found);
  }
  return findings;
}

/** Whether a group is a single file whose rows, when they were read, showed that its keys are unique. */
function isSettled({ key, sort }: TableSchema, group: readonly ReadFile[]): boolean {
  const [one] = group;
  if (one === undefined || group.length > 1 || !one.facts.isSorted) return false;
  return one.facts.repeats === 0 && sort.every((name) => key.includes(name));
}

/** Groups of overlapping files: files of different groups share no key. */
function overlappingGroups(table: TableSchema, files: readonly ReadFile[]): ReadFile[][] {
  const columns = table.stats.filter((name) => table.key.includes(name));
  let groups: ReadFile[][] = [];
  for (const file of files) {
    const isMet = (group: readonly ReadFile[]): boolean => group.some((one) => meets(columns, one, file));
    const met = groups.filter(isMet);
    groups = [...groups.filter((group) => !met.includes(group)), [...met.flat(), file]];
  }
  return groups;
}

function meets(columns: readonly string[], { facts: a }: ReadFile, { facts: b }: ReadFile): boolean {
  return columns.every((name) => {
    const [aMin, aMax, bMin, bMax] = [a.min[name], a.max[name], b.min[name], b.max[name]];
    if (aMin === undefined || aMax === undefined || bMin === undefined || bMax === undefined) return true;
    return aMin <= bMax && bMin <= aMax;
  });
}

async function duplicates(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  group: readonly ReadFile[],
): Promise<Finding | undefined> {
  const { table, version } = snapshot;
  const urls = new Map(group.map(({ file }) => [lake.urlOf(snapshot, file), file]));
  const keys = table.key.map(ident).join(", ");
  const shown = table.key.map((name) => `coalesce(CAST(${ident(name)} AS VARCHAR), 'null')`);
  const [row] = await session.json<{ keys: bigint; example: string; first: string; last: string }>(
    `SELECT count(*) OVER () AS keys, concat_ws(' ', ${shown.join(", ")}) AS example, first, last
     FROM (
       SELECT ${keys}, min(live_file) AS first, max(live_file) AS last
       FROM read_parquet(${literalList([...urls.keys()])}, hive_partitioning = false, filename = 'live_file')
       GROUP BY ${keys} HAVING count(*) > 1
     )
     ORDER BY ${keys} LIMIT 1`,
  );
  if (row === undefined) return undefined;
  const nameOf = (url: string): string => `${table.name}/${urls.get(url)?.path}`;
  const places = [...new Set([row.first, row.last].map(nameOf))];
  return {
    severity: "error",
    table: table.name,
    version,
    file: places[0] as string,
    rule: "duplicate_key",
    message: `${places.join(" and ")}: ${row.keys === 1n ? "a key" : `${row.keys} keys`} (${table.key.join(", ")}) more than once: ${row.example}`,
    hint: "every query counts these rows twice; barlake history shows which commit brought the second",
  };
}
