import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { Region } from "../../market/regions.js";
import type { TableSchema } from "../../schema/column.js";
import {
  EXCHANGES,
  INSTRUMENT_EXT,
  INSTRUMENTS,
  UNIVERSE_MEMBERS,
  UNIVERSES,
} from "../../schema/reference.js";
import type { ExchangeSummary, Instrument, UniverseSummary } from "../../wire/resources.js";
import type { LakeVersion } from "./lake-version.js";

export const REFERENCE_TABLES = [INSTRUMENTS, UNIVERSES, UNIVERSE_MEMBERS, EXCHANGES] as const;

/** The newest reference data, in the form of responses. */
export interface ReferenceData {
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly universes: ReadonlyMap<string, UniverseSummary>;
  readonly exchanges: ReadonlyMap<string, ExchangeSummary>;
}

/** The value `ext.type` of quotes in a region, and of its instruments where the source has none. */
export const EXT_TYPE: Readonly<Record<Region, string>> = {
  CN: "cn_equity",
  HK: "hk_equity",
  US: "us_equity",
};

type Row = Readonly<Record<string, unknown>>;

/** Symbols by universe id, ascending. */
export type Members = ReadonlyMap<string, readonly string[]>;

/** Reads the current members of all universes: a request for a universe needs no more of the reference data. */
export async function loadMembers(version: LakeVersion): Promise<Members> {
  return version.query(async (session) =>
    groupMembers(await currentRows(version, session, UNIVERSE_MEMBERS, "id, symbol")),
  );
}

/** Reads the current rows of the other reference tables. */
export async function loadReferenceData(version: LakeVersion, members: Members): Promise<ReferenceData> {
  return version.query(async (session) => {
    const current = (table: TableSchema, key: string) => currentRows(version, session, table, key);
    const summaries = (await current(UNIVERSES, "id")).map((row) => universeOf(row, members));
    const listed = (await current(INSTRUMENTS, "symbol")).map(instrumentOf);
    const counted = await current(EXCHANGES, "exchange");
    return {
      instruments: new Map(listed.map((row) => [row.symbol, row])),
      universes: new Map(summaries.map((row) => [row.id, row])),
      exchanges: new Map(counted.map((row) => [row.exchange as string, exchangeOf(row)])),
    };
  });
}

async function currentRows(
  version: LakeVersion,
  session: Session,
  table: TableSchema,
  order: string,
): Promise<Row[]> {
  const snapshot = await version.snapshot(table);
  const relation = await version.relation(session, snapshot, snapshot.files.values());
  // Instants are left out: no response has them, and each would become an object.
  const columns = snapshot.columns.flatMap(({ name, type }) => {
    if (type === "timestamp") return [];
    return [type === "date" ? `CAST(${ident(name)} AS VARCHAR) AS ${ident(name)}` : ident(name)];
  });
  return session.json<Row>(
    `SELECT ${columns.join(", ")} FROM (${relation}) WHERE valid_to IS NULL ORDER BY ${order}`,
  );
}

function instrumentOf(row: Row): Instrument {
  const ext: Record<string, unknown> = {};
  for (const { name } of INSTRUMENT_EXT) if (row[name] !== null) ext[name] = row[name];
  if (typeof row.ext_other === "string") Object.assign(ext, parseObject(row.ext_other));
  const type = row.ext_type ?? (Object.keys(ext).length > 0 ? EXT_TYPE[row.region as Region] : undefined);
  return {
    symbol: row.symbol as string,
    code: row.code as string,
    exchange: row.exchange as string,
    region: row.region as string,
    ...(row.name === null ? {} : { name: row.name as string }),
    type: row.type as string,
    ...(type === undefined ? {} : { ext: { type: type as string, ...ext } }),
  };
}

function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function groupMembers(rows: readonly Row[]): Map<string, string[]> {
  const symbolsOf = new Map<string, string[]>();
  for (const row of rows) {
    const list = symbolsOf.get(row.id as string);
    if (list === undefined) symbolsOf.set(row.id as string, [row.symbol as string]);
    else list.push(row.symbol as string);
  }
  return symbolsOf;
}

function universeOf(row: Row, members: Members): UniverseSummary {
  const id = row.id as string;
  return {
    id,
    name: (row.name as string | null) ?? id,
    category: (row.category as string | null) ?? "",
    region: row.region as string,
    symbol_count: row.symbol_count === null ? (members.get(id)?.length ?? 0) : Number(row.symbol_count),
    ...(row.description === null ? {} : { description: row.description as string }),
  };
}

function exchangeOf(row: Row): ExchangeSummary {
  return { exchange: row.exchange as string, region: row.region as string, count: Number(row.count) };
}

/**
 * The instants (epoch milliseconds, ascending) at which changes of reference data were first seen. Between two of them
 * the known reference data does not change.
 */
export async function loadReferenceTimes(version: LakeVersion): Promise<number[]> {
  return version.query(async (session) => {
    const parts: string[] = [];
    for (const table of REFERENCE_TABLES) {
      const snapshot = await version.snapshot(table);
      const relation = await version.relation(session, snapshot, snapshot.files.values());
      parts.push(`SELECT unnest([valid_from, valid_to]) AS seen FROM (${relation})`);
    }
    const rows = await session.json<{ at: number }>(
      `SELECT DISTINCT CAST(ceil(epoch_us(seen) / 1000) AS DOUBLE) AS "at" FROM (${parts.join(" UNION ALL ")})
       WHERE seen IS NOT NULL ORDER BY "at"`,
    );
    return rows.map(({ at }) => at);
  });
}
