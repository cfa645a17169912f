import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import type { LandReport } from "../../src/lake/land/upsert.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { startWorker } from "../faults/worker-process.js";
import { contentOf, landed, type ModelBar, timeOf } from "../lake/bar-model.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { cases } from "../sweep.js";
import { findHttpfs } from "./httpfs.js";
import { STORES, type StoreHere, startStore, storesHere } from "./store-server.js";

const WORKER = fileURLToPath(new URL("land-worker.mjs", import.meta.url));
const WRITERS = cases({ few: 4, more: 4, all: 8 });
/** Number of landings of each writer; every fourth corrects a day. */
const LANDINGS = cases({ few: 4, more: 4, all: 40 });

interface Order {
  readonly location: string;
  readonly env: Readonly<Record<string, string>>;
  readonly bars: readonly (ModelBar & { readonly at: number })[];
}

/** Landing number `turn` of a writer: days of the writer's own symbol, sometimes corrected, and days that all write. */
function deliveryOf(writer: number, turn: number): ModelBar[] {
  const own = `60000${writer}.SH`;
  const bars = [0, 1].map((i): ModelBar => ({ symbol: own, n: 2 * turn + i, close: 10 + writer }));
  if (turn % 4 !== 3) return bars;
  return [...bars, { symbol: own, n: turn, close: 20 + writer }, { symbol: "000001.SZ", n: turn, close: 30 }];
}

const extensions = findHttpfs();

const HERE = storesHere(cases({ few: 1, more: 1, all: 2 }));

// Where no store is here the test is defined all the same: a file without tests fails.
describe.each(HERE.length > 0 ? HERE.map(({ name }) => name) : STORES)("%s", (name) => {
  test.skipIf(HERE.length === 0 || extensions === undefined)(
    `${WRITERS} processes land ${LANDINGS} times each in one table: every row is there, once`,
    async () => {
      const server = await startStore(HERE.find((one) => one.name === name) as StoreHere);
      onTestFinished(() => server.stop());
      const location = `s3://${server.bucket}/${randomUUID()}`;
      const env = {
        ...server.env,
        BARLAKE_WORK: temporaryFolder(),
        BARLAKE_DUCKDB_EXTENSIONS: extensions as string,
      };
      const workers = await Promise.all(
        Array.from({ length: WRITERS }, () => startWorker<Order, LandReport>(WORKER)),
      );
      const reports = await Promise.all(
        workers.map(async (worker, index) => {
          const own: (LandReport | undefined)[] = [];
          for (let turn = 0; turn < LANDINGS; turn++) {
            const bars = deliveryOf(index, turn).map((bar) => ({ ...bar, at: timeOf(bar) }));
            own.push(await worker.perform({ location, env, bars }));
          }
          worker.close();
          return own;
        }),
      );
      let expected: ReturnType<typeof landed>["content"] = new Map();
      for (let index = 0; index < WRITERS; index++)
        for (let turn = 0; turn < LANDINGS; turn++)
          expected = landed(expected, deliveryOf(index, turn)).content;
      const lake = new Lake(location, { hasDatabase: false, environment: env });
      using session = await Session.open({ threads: 1, ...lake.access });
      const snapshot = await lake.snapshot(BARS_1D);
      expect(await contentOf(session, lake, snapshot)).toEqual(expected);
      const versions = reports.flat().map((report) => report?.version ?? Number.NaN);
      expect(versions.sort((a, b) => a - b)).toEqual(
        Array.from({ length: WRITERS * LANDINGS }, (_, version) => version),
      );
      const inserted = reports.flat().reduce((sum, report) => sum + (report?.inserted ?? Number.NaN), 0);
      expect(inserted).toBe(expected.size);
    },
  );
});
