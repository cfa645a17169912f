import { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { landFaultyDays } from "../../lake/faulty-days.js";
import { land } from "../../lake/temporary-lake.js";

/** A symbol as a hostile source writes it. */
export const HOSTILE = "<img src=x onerror=alert(1)>";

/** A symbol that is longer than any. */
export const LONG = "x".repeat(300);

/** A lake of one symbol whose rows contradict one another, with rows that were set aside. */
export async function faultyRowsLake(folder: string): Promise<Lake> {
  const lake = new Lake(folder, { hasDatabase: false });
  using session = await Session.open();
  await landFaultyDays(session, lake);
  const minutes = ["11:29", "11:30", "12:10", "13:01"];
  await land(
    session,
    lake,
    BARS_1M,
    minutes.map((at, i) => ({ at: `2024-01-08T${at}:00+08:00`, open: i === 0 ? 0 : 10 })),
  );
  const rejects = new Rejects(session, "import-1");
  await rejects.add(
    "bars_1d",
    `SELECT 'a.csv' AS source, 7 AS line, '${HOSTILE}' AS symbol, '2024-01-08' AS "timestamp", 'bad_symbol' AS rule,
       'it is no symbol' AS reason, NULL::BIGINT AS bars, '{"a":1}'::JSON AS "row"`,
  );
  for (const symbol of ["''", "NULL", `'${LONG}'`, "'..'"])
    await rejects.add(
      "bars_1d",
      `SELECT 'b.csv' AS source, 1 AS line, ${symbol} AS symbol, '2024-01-08' AS "timestamp", 'bad_symbol' AS rule,
         'it is no symbol' AS reason, NULL::BIGINT AS bars, '{}'::JSON AS "row"`,
    );
  await rejects.save(lake);
  return lake;
}
