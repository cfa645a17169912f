import { parquetRelation } from "../../db/parquet-relation.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { REQUESTS } from "../../schema/requests.js";

/** The query of all rows of the ledger. */
export async function ledgerSql(session: Session, lake: Lake): Promise<string> {
  return parquetRelation(session, lake.filesOf(await lake.snapshot(REQUESTS)));
}
