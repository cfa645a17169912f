import { type RecordBatch, tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { batchesToIpc } from "../../../src/arrow/batches-ipc.js";
import { type Lake, rowCount } from "../../../src/lake/lake.js";
import { landBars, stageBars } from "../../../src/lake/land/land-bars.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { vacuum } from "../../../src/lake/maintenance/vacuum.js";
import { queryArrow } from "../../../src/lake/open-reader.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { FINAL, openSession, T0, temporaryLake } from "../temporary-lake.js";

const DAYS = 10;
const BARS = 20_000;

/** A lake with a file of 20,000 minute bars for each of some days of a month. */
async function minuteLake(): Promise<Lake> {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (let day = 0; day < DAYS; day++) {
    await stageBars(session, "days_bars");
    const start = Date.UTC(2026, 9, 1 + day, 1, 31) * 1000;
    await session.run(
      `INSERT INTO days_bars (symbol, timestamp, open, high, low, close, volume, amount, lot, source, line)
       SELECT lpad((600000 + i // 100)::VARCHAR, 6, '0') || '.SH', make_timestamptz(${start}::BIGINT + (i % 100) * 60000000),
         10, 11, 9, 10 + (hash(i) % 997) / 1000, hash(i) % 100003, 0, 100, 'test', i
       FROM range(${BARS}) t(i)`,
    );
    const options = { operation: "TEST", runId: "test", now: T0, finalEnd: FINAL, responses: [] };
    await landBars(session, lake, BARS_1M, "days_bars", {
      ...options,
      rejects: new Rejects(session, "test"),
    });
  }
  return lake;
}

/** Replaces all live files and deletes the old ones, as optimize and a vacuum without retention do. */
async function replaceAll(lake: Lake): Promise<void> {
  await optimize(await openSession(), lake, BARS_1M, { runId: "test" });
  const { deleted } = await vacuum(lake, BARS_1M, { now: Date.now() + 1000, retentionMs: 0 });
  expect(deleted).toHaveLength(DAYS);
}

test("a query whose files vanish under it throws, and its output does not read as whole", async () => {
  const lake = await minuteLake();
  const snapshot = await lake.snapshot(BARS_1M);
  expect([snapshot.files.size, rowCount(snapshot)]).toEqual([DAYS, DAYS * BARS]);
  let rows = 0;
  const pieces: Uint8Array[] = [];
  const counted = async function* (): AsyncGenerator<RecordBatch> {
    for await (const batch of queryArrow(lake, "FROM bars_1m")) {
      if (rows === 0) await replaceAll(lake);
      rows += batch.numRows;
      yield batch;
    }
  };
  const read = async (): Promise<void> => {
    for await (const piece of batchesToIpc(counted(), "stream")) pieces.push(piece);
  };
  await expect(read()).rejects.toThrow(/^table bars_1m: region=CN\/month=2026-10-01\/p-\S+ is missing$/);
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThan(DAYS * BARS);
  expect(() => tableFromIPC(Buffer.concat(pieces))).toThrow(/metadata/);
});
