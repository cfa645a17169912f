import type { TradingDate } from "../../core/time.js";
import { ident, literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { localDate } from "../../market/zone.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS, subjectOf, UNIVERSE_MEMBERS } from "../../schema/reference.js";
import { instantSql, ledgerSql } from "./ledger.js";

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

interface ListChoice {
  /** `instruments` or `universe_members`. */
  readonly table: TableSchema;
  /** SQL of the rows of the table, in parentheses or a name. */
  readonly relation: string;
  /** @default all */
  readonly regions?: readonly Region[] | undefined;
  /** @default all */
  readonly ids?: readonly string[] | undefined;
}

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

export interface ListResponse {
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  /** Why it was not accepted; undefined where it was. */
  readonly fault: string | undefined;
}

/** The responses about a list in the ledger, oldest first. @param list the exchange, or the universe's id. */
export async function listResponses(
  session: Session,
  lake: Lake,
  dataset: string,
  list: string,
): Promise<ListResponse[]> {
  const rows = await session.json<{ id: string; at: number; status: string; reason: string | null }>(
    `SELECT run_id AS id, epoch_ms(asked_at)::DOUBLE AS at, status, reason FROM (${await ledgerSql(session, lake)})
     WHERE dataset = $1 AND http_status = 200 AND list_contains(symbols, $2) ORDER BY asked_at`,
    [dataset, list],
  );
  return rows.map(({ id, at, status, reason }) => {
    return { runId: id, askedAt: at, fault: status === "failed" ? (reason ?? "") : undefined };
  });
}

/** Number of elements that a list had just before an instant (epoch ms). @param where a condition on its rows. */
export async function elementsBefore(
  session: Session,
  lake: Lake,
  table: TableSchema,
  where: string,
  before: number,
): Promise<number> {
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const instant = instantSql(before);
  const [row] = await session.json<{ elements: number }>(
    `SELECT count(DISTINCT (${subjectOf(table).join(", ")}))::DOUBLE AS elements FROM (${files})
     WHERE ${where} AND valid_from < ${instant} AND (valid_to IS NULL OR valid_to >= ${instant})`,
  );
  return row?.elements ?? 0;
}
