import type { TradingDate } from "../../core/time.js";
import { ident, literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { localDate } from "../../market/zone.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS } from "../../schema/reference.js";

/**
 * A list of symbols, and since when the lake knows it. Symbols that left the list before the lake's first snapshot are
 * not in the lake, and no run requests them.
 */
export interface KnownList {
  readonly dataset: "instruments" | "universe_members";
  /** The exchange suffix, for instruments; the id of a universe, for members. */
  readonly list: string;
  readonly region: string;
  /** Date of the first snapshot, in the region's zone. */
  readonly since: TradingDate;
  /** When the first snapshot was taken. Epoch milliseconds. */
  readonly firstSeenAt: number;
}

/** The choice of lists: all, or those of some regions or ids. */
export interface ListChoice {
  /** `instruments` or `universe_members`. */
  readonly table: TableSchema;
  /** SQL of the rows of the table, in parentheses or a name. */
  readonly relation: string;
  /** @default all */
  readonly regions?: readonly Region[] | undefined;
  /** @default all */
  readonly ids?: readonly string[] | undefined;
}

/** The column that names a list, by table. */
const LIST_COLUMN: Readonly<Record<string, string>> = {
  [INSTRUMENTS.name]: "exchange",
  [UNIVERSE_MEMBERS.name]: "id",
};

/** Since when the lake knows lists of symbols; ordered by table and name. */
export async function knownLists(
  session: Session,
  { table, relation, regions, ids }: ListChoice,
): Promise<KnownList[]> {
  const list = ident(LIST_COLUMN[table.name] as string);
  const chosen = [
    ...(regions === undefined ? [] : [`region IN (SELECT unnest(${literalList(regions)}))`]),
    ...(ids === undefined ? [] : [`${list} IN (SELECT unnest(${literalList(ids)}))`]),
  ];
  const rows = await session.json<Omit<KnownList, "since">>(
    `SELECT ${literal(table.name)} AS dataset, ${list} AS list, min(region) AS region,
       epoch_ms(min(valid_from))::DOUBLE AS "firstSeenAt"
     FROM ${relation} WHERE ${chosen.length > 0 ? chosen.join(" AND ") : "true"} GROUP BY ${list} ORDER BY ${list}`,
  );
  return rows.map((row) => ({ ...row, since: localDate(row.firstSeenAt, zoneOf(row.region)) }));
}

function zoneOf(region: string): string {
  return isRegion(region) ? REGIONS[region].zone : "UTC";
}
