import type { Session } from "../../../src/db/session/session.js";
import { recordRun } from "../../../src/jobs/run/report/run-record.js";
import type { Lake } from "../../../src/lake/lake.js";

/** Lands the record of one run. @param odd a text in the record. @param now epoch milliseconds. */
export async function landRun(session: Session, lake: Lake, odd: string, now: number): Promise<void> {
  const runId = `test/${now}`;
  const report = {
    runId,
    pipeline: "test",
    status: "partial",
    stopped: odd,
    requests: { planned: 3, sent: 3, answered: 3, empty: 0, refused: 0, failed: 0 },
    rows: 3,
    bytes: Number.MAX_SAFE_INTEGER,
    durationMs: 60_000,
    landed: [],
    rejected: [],
  } as const;
  const run = { session, lake, startedAt: now - 60_000, clock: { now: () => now } };
  await recordRun(run, report, { symbols: [odd] }, "127.0.0.1:80");
}
