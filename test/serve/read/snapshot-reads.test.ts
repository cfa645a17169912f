import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { emptySnapshot, type Snapshot } from "../../../src/lake/log/snapshot.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { snapshotReads } from "../../../src/serve/read/lake-reader.js";

/** A log whose reads end when the test says so. Each read returns the version that was committed when it began. */
function logInTest() {
  const log = { committed: 0, begun: [] as string[] };
  const open: (() => void)[] = [];
  const read = async (table: TableSchema): Promise<Snapshot> => {
    log.begun.push(`${table.name} ${log.committed}`);
    const snapshot = { ...emptySnapshot(table), version: log.committed };
    const { promise, resolve } = withResolvers();
    open.push(resolve);
    await promise;
    if (snapshot.version === 13) throw new Error("version 13");
    return snapshot;
  };
  const endReads = async (): Promise<void> => {
    await setImmediate();
    for (const end of open.splice(0)) end();
  };
  return { log, shared: snapshotReads(read), endReads };
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test("requests of one turn share a read, which starts after them", async () => {
  const { log, shared, endReads } = logInTest();
  const first = shared(BARS_1D);
  const minutes = shared(BARS_1M);
  await Promise.resolve();
  log.committed = 1;
  const second = shared(BARS_1D);
  await endReads();
  expect(log.begun).toEqual(["bars_1d 1", "bars_1m 1"]);
  expect([(await first).version, (await second).version, (await minutes).version]).toEqual([1, 1, 1]);
});

test("requests during a read share the next one, also where the read fails", async () => {
  const { log, shared, endReads } = logInTest();
  log.committed = 13;
  const failing = shared(BARS_1D);
  const refused = expect(failing).rejects.toThrow("version 13");
  await setImmediate();
  log.committed = 14;
  const later = [shared(BARS_1D), shared(BARS_1D)];
  await endReads();
  await refused;
  await endReads();
  expect(log.begun).toEqual(["bars_1d 13", "bars_1d 14"]);
  expect((await Promise.all(later)).map(({ version }) => version)).toEqual([14, 14]);
  const last = shared(BARS_1D);
  await endReads();
  await last;
  expect(log.begun).toHaveLength(3);
});
