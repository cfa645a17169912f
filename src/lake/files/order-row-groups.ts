import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { TableSchema } from "../../schema/column.js";
import { factsOfFile, overwrite, readRangeOf } from "../local/local-files.js";
import { readFooter, TRAILER_BYTES } from "./footer-digest.js";
import { listElements } from "./thrift-list.js";

/** The field of `FileMetaData` that lists the row groups. */
const ROW_GROUPS = 4;

/** A row group, with the least and greatest value of each sort column, as texts that sort as the values do. */
interface RowGroup {
  readonly id: number;
  readonly min: readonly string[];
  readonly max: readonly string[];
}

/**
 * Puts the sorted row groups of an unfinished local file in the table's order. The groups are not moved. Only the
 * footer, which defines their order for readers, is rewritten, with the same length. The session may have cached the
 * old footer, so it should read the file under another name.
 *
 * @returns whether the file is sorted now. It is not sorted where row groups overlap, or lack statistics.
 */
export async function orderRowGroups(session: Session, file: string, table: TableSchema): Promise<boolean> {
  const footer = await readFooter((range) => readRangeOf(file, range));
  // The rows within one group have the order of the scan.
  if (listElements(footer, ROW_GROUPS).length <= 1) return true;
  const groups = await groupsInOrder(session, file, table);
  if (groups.some((group, i) => i > 0 && !precedes(groups[i - 1] as RowGroup, group))) return false;
  if (groups.some(({ id }, index) => id !== index)) {
    await permute(
      file,
      footer,
      groups.map(({ id }) => id),
    );
  }
  return true;
}

/** The row groups sorted by their least values and, where those are equal, by their greatest. */
async function groupsInOrder(session: Session, file: string, table: TableSchema): Promise<RowGroup[]> {
  const pairs = table.sort.map((name, i) => {
    const statistic = (side: string): string =>
      `any_value(stats_${side}_value) FILTER (path_in_schema = ${literal(name)}) AS ${side}_${i}`;
    return `${statistic("min")}, ${statistic("max")}`;
  });
  const order = table.sort.map((_, i) => `min_${i}, max_${i}`);
  const rows = await session.json(
    `SELECT row_group_id::INTEGER AS id, ${pairs.join(", ")} FROM parquet_metadata(${literal(file)})
     GROUP BY row_group_id ORDER BY ${order.join(", ")}`,
  );
  return rows.map((row) => ({
    id: row.id as number,
    min: table.sort.map((_, i) => row[`min_${i}`] as string),
    max: table.sort.map((_, i) => row[`max_${i}`] as string),
  }));
}

/** Whether the statistics show that all rows of group `a` come before all rows of group `b`. */
function precedes(a: RowGroup, b: RowGroup): boolean {
  for (const [i, least] of b.min.entries()) {
    const greatest = a.max[i] as string | null;
    if (greatest === null || least === null) return false;
    const order = Buffer.compare(Buffer.from(greatest), Buffer.from(least));
    if (order !== 0) return order < 0;
    if (a.min[i] !== greatest || b.max[i] !== least) return true;
  }
  return false;
}

async function permute(path: string, footer: Buffer, order: readonly number[]): Promise<void> {
  const size = (await factsOfFile(path))?.size ?? 0;
  await overwrite(path, permuted(footer.subarray(0, -TRAILER_BYTES), order), size - footer.length);
}

/** The footer with its row groups in another order: group `order[k]` becomes group k. */
function permuted(footer: Buffer, order: readonly number[]): Buffer {
  const groups = listElements(footer, ROW_GROUPS);
  const first = groups[0]?.start ?? 0;
  const rest = footer.subarray(groups.at(-1)?.end ?? 0);
  return Buffer.concat([
    footer.subarray(0, first),
    ...order.map((id) => footer.subarray(groups[id]?.start, groups[id]?.end)),
    rest,
  ]);
}
