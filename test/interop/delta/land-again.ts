import type { Session } from "../../../src/db/session/session.js";
import { parquetRelation } from "../../../src/db/views/parquet-relation.js";
import type { Lake } from "../../../src/lake/lake.js";
import { landBars, stageBars } from "../../../src/lake/land/land-bars.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import type { LandReport } from "../../../src/lake/land/upsert.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { FINAL } from "./eventful-lake.js";

const BAR =
  "symbol, timestamp, open, high, low, close, volume, amount, open_interest, prev_close, settlement_price, lot";

/** Lands all daily bars of a lake again, as another delivery would bring them. @param close SQL of their closes. */
export async function landAgain(
  session: Session,
  lake: Lake,
  close: string,
  now: number,
): Promise<LandReport> {
  const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1D)));
  await stageBars(session, "again");
  await session.run(
    `INSERT INTO again BY NAME SELECT ${BAR}, 'test' AS source, row_number() OVER () AS line
     FROM (SELECT * REPLACE (${close} AS close) FROM (${live}))`,
  );
  const options = { operation: "TEST", runId: "test", now, finalEnd: FINAL };
  return landBars(session, lake, BARS_1D, "again", { ...options, rejects: new Rejects(session, "test") });
}
