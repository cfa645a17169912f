import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";

/** Writes rows with `symbol` and `timestamp` as portable Parquet: plain text, and instants in UTC. */
export async function copyRows(session: Session, rows: string, target: string): Promise<void> {
  await session.run(
    `COPY (SELECT * REPLACE (CAST(symbol AS VARCHAR) AS symbol, CAST("timestamp" AS TIMESTAMPTZ) AS "timestamp") FROM ${rows})
     TO ${literal(target)} (FORMAT parquet, COMPRESSION zstd)`,
  );
}
