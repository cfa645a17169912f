import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { REQUESTS } from "../../schema/requests.js";

/** The query of all rows of the ledger. @param version the version to read. @default the newest */
export async function ledgerSql(session: Session, lake: Lake, version?: Snapshot): Promise<string> {
  return parquetRelation(session, lake.filesOf(version ?? (await lake.snapshot(REQUESTS))));
}

/** The number of the newest version of the ledger. */
export async function ledgerVersion(lake: Lake): Promise<number> {
  return (await lake.snapshot(REQUESTS)).version;
}

/** SQL of an instant. @param epochMs epoch milliseconds: a number, or the name of a parameter. */
export function instantSql(epochMs: string | number): string {
  return `make_timestamptz((${epochMs} * 1000)::BIGINT)`;
}
