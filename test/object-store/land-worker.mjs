/**
 * A process that lands daily bars in a lake on an object store: it takes orders over IPC, and answers each with its
 * report. It is the built program, so that it starts quickly.
 */
import { systemClock } from "../../dist/client/system-clock.js";
import { Session } from "../../dist/db/session/session.js";
import { Lake } from "../../dist/lake/lake.js";
import { landBars, stageBars } from "../../dist/lake/land/land-bars.js";
import { Rejects } from "../../dist/lake/land/rejects.js";
import { BARS_1D } from "../../dist/schema/bars.js";

const FINAL = { CN: 4e12, HK: 4e12, US: 4e12 };

let lake;
let session;

process.on("message", (order) => {
  land(order).then(
    (done) => process.send({ done }),
    (error) => process.send({ failed: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send({ ready: true });

async function land({ location, env, bars }) {
  if (lake === undefined) {
    lake = new Lake(location, { hasDatabase: false, environment: env });
    session = await Session.open({ threads: 1, ...lake.access });
  }
  await stageBars(session, "staged");
  const rows = bars.map(
    ({ symbol, at, close }, line) =>
      `('${symbol}', make_timestamptz(${at * 1000}::BIGINT), ${close}, ${close}, ${close}, ${close}, 100, 1000, 1, 'test', ${line})`,
  );
  await session.run(
    `INSERT INTO staged (symbol, timestamp, open, high, low, close, volume, amount, lot, source, line) VALUES ${rows.join(", ")}`,
  );
  const options = { operation: "TEST", runId: "worker", now: systemClock.now(), finalEnd: FINAL };
  options.rejects = new Rejects(session, options.runId);
  return landBars(session, lake, BARS_1D, "staged", options);
}
