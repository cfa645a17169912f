import { expect, test } from "vitest";
import type { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { withdrawRows } from "../../src/lake/land/absent-days.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { land, liveRows, openSession, T0, temporaryLake } from "../lake/temporary-lake.js";

const [FIRST, SECOND] = ["2024-01-01T16:00:00Z", "2024-01-02T16:00:00Z"];

/** Withdraws the second row. */
async function withdrawSecond(session: Session, lake: Lake): Promise<void> {
  await session.run(
    `CREATE TEMP TABLE withdrawn AS SELECT '600519.SH' AS symbol, TIMESTAMPTZ '${SECOND}' AS timestamp`,
  );
  await withdrawRows(session, lake, BARS_1D, "withdrawn", { runId: "test", now: T0 });
}

test.each<[string, (session: Session, lake: Lake) => Promise<unknown>, number[]]>([
  ["landing", (session, lake) => land(session, lake, BARS_1D, [{ at: FIRST, close: 10.7 }]), [10.7, 10.5]],
  ["compaction", (session, lake) => optimize(session, lake, BARS_1D, { runId: "test" }), [10.5, 10.5]],
  ["withdrawal", withdrawSecond, [10.5]],
])("the files of a commit that a store made and denied stay: %s", async (_, work, expected) => {
  const [{ location, storage }, session] = [temporaryLake(), await openSession({ threads: 1 })];
  let denied = 0;
  const putIfAbsent = async (path: string, text: string): Promise<boolean> =>
    (await storage.putIfAbsent(path, text)) && !(path.includes("/_delta_log/") && denied++ === 0);
  const lake = new Lake(location, { hasDatabase: false });
  await land(session, lake, BARS_1D, [{ at: FIRST }, { at: SECOND }]);
  await land(session, lake, BARS_1D, [{ at: "2023-01-02T16:00:00Z" }]);
  await land(session, lake, BARS_1D, [{ at: "2024-01-03T16:00:00Z", symbol: "000001.SZ" }]);
  const denying = new Lake(location, { hasDatabase: false, storage: { ...storage, putIfAbsent } });
  await work(session, denying);
  expect(denied).toBeGreaterThan(0);
  const rows = await liveRows<{ close: number }>(
    session,
    lake,
    BARS_1D,
    "SELECT close FROM live WHERE symbol = '600519.SH' AND year(timestamp) = 2024 ORDER BY timestamp",
  );
  expect(rows.map(({ close }) => close)).toEqual(expected);
});
