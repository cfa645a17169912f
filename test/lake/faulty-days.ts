import type { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { land } from "./temporary-lake.js";

/** Lands daily bars of 600519.SH: one on a Saturday that opens below its low, and one whose amount does not fit its volume. */
export async function landFaultyDays(session: Session, lake: Lake): Promise<void> {
  const days = ["2024-01-05", "2024-01-06", "2024-01-08", "2024-01-09", "2024-01-10", "2024-01-11"];
  await land(
    session,
    lake,
    BARS_1D,
    days.map((day, i) => ({
      at: `${day}T00:00:00+08:00`,
      open: i === 1 ? 0 : 10 + i / 10,
      low: 9,
      high: 12,
      volume: 1000,
      amount: i === 0 ? 2e6 : 10_500,
    })),
  );
}
