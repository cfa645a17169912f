import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { REQUESTS } from "../../schema/requests.js";

/** The query of all rows of the ledger. @param version @default the newest */
export async function ledgerSql(session: Session, lake: Lake, version?: Snapshot): Promise<string> {
  return parquetRelation(session, lake.filesOf(version ?? (await lake.snapshot(REQUESTS))));
}

/** The newest version of the ledger. */
export async function ledgerVersion(lake: Lake): Promise<number> {
  return (await lake.snapshot(REQUESTS)).version;
}

/** The instant of a parameter, or a number, in epoch milliseconds. */
export function instantSql(epochMs: string | number): string {
  return `make_timestamptz((${epochMs} * 1000)::BIGINT)`;
}
