/**
 * A process that changes a lake, for tests that kill it: it takes orders over IPC and answers each with what it did.
 * It is the built program, so that hundreds of them start quickly.
 */
import { systemClock } from "../../dist/client/system-clock.js";
import { Session } from "../../dist/db/session/session.js";
import { compactAfterRun } from "../../dist/jobs/maintenance/optimize-lake.js";
import { Lake } from "../../dist/lake/lake.js";
import { landBars, stageBars } from "../../dist/lake/land/land-bars.js";
import { Rejects } from "../../dist/lake/land/rejects.js";
import { writeCheckpoint } from "../../dist/lake/log/checkpoint.js";
import { optimize } from "../../dist/lake/maintenance/optimize.js";
import { vacuum } from "../../dist/lake/maintenance/vacuum.js";
import { BARS_1D } from "../../dist/schema/bars.js";
import { REQUESTS } from "../../dist/schema/runs.js";
import { mortal } from "./mortal-lake.mjs";

const FINAL = { CN: 4e12, HK: 4e12, US: 4e12 };

const session = await Session.open({ threads: 1 });
process.on("message", (order) => {
  perform(order).then(
    (done) => process.send({ done: done ?? {} }),
    (error) => process.send({ failed: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send({ ready: true });

async function perform({ kind, folder, kill, ...order }) {
  const lake = new Lake(folder, kill === undefined ? {} : mortal(folder, kill));
  switch (kind) {
    case "land":
      return land(lake, order);
    case "optimize":
      return optimize(session, lake, BARS_1D, { runId: "worker", targetBytes: order.targetBytes });
    case "compact":
      return compactAfterRun(lake, [BARS_1D, REQUESTS], systemClock, { runId: "worker" });
    case "vacuum":
      return vacuum(lake, BARS_1D, { retentionMs: 0, now: Date.now() });
    default: {
      const snapshot = await lake.snapshot(BARS_1D);
      // Before the first landing there is nothing to write a checkpoint of.
      return snapshot.version < 0 ? undefined : writeCheckpoint(lake, snapshot, Date.now());
    }
  }
}

async function land(lake, { bars, responses }) {
  await stageBars(session, "staged");
  const rows = bars.map(
    ({ symbol, at, close }, line) =>
      `('${symbol}', make_timestamptz(${at * 1000}::BIGINT), ${close}, ${close}, ${close}, ${close}, 100, 1000, 1, 'test', ${line})`,
  );
  await session.run(
    `INSERT INTO staged (symbol, timestamp, open, high, low, close, volume, amount, lot, source, line) VALUES ${rows.join(", ")}`,
  );
  const options = { operation: "TEST", runId: "worker", now: systemClock.now(), finalEnd: FINAL, responses };
  return landBars(session, lake, BARS_1D, "staged", { ...options, rejects: new Rejects(session, "test") });
}
