import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import { rowCount } from "../../src/lake/lake.js";
import { readLog } from "../../src/lake/log/delta-log.js";
import { emptySnapshot } from "../../src/lake/log/snapshot.js";
import { objectStorage } from "../../src/lake/storage/object-storage.js";
import { openStorePlace } from "../../src/object-store/store-place.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { startWorker } from "../faults/worker-process.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { cases } from "../sweep.js";
import { findStore, STORES, startStore } from "./store-server.js";

const WORKER = fileURLToPath(new URL("store-worker.mjs", import.meta.url));
const WRITERS = 8;
const LANDINGS = cases({ few: 8, more: 8, all: 40 });

interface Order {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly name: string;
  readonly rows: number;
}
interface Landed {
  readonly version: number;
  readonly conflicts: number;
}

describe.each(STORES)("%s", (name) => {
  const program = findStore(name);
  test.skipIf(program === undefined)(
    `${WRITERS} processes land ${LANDINGS} times each in one table: every row is there, once`,
    async () => {
      const server = await startStore(name, program as string);
      try {
        const url = `s3://${server.bucket}/${randomUUID()}`;
        const folder = temporaryFolder();
        const workers = await Promise.all(
          Array.from({ length: WRITERS }, () => startWorker<Order, Landed>(WORKER)),
        );
        const landings = await Promise.all(
          workers.map(async (worker, index) => {
            const landed: (Landed | undefined)[] = [];
            for (let turn = 0; turn < LANDINGS; turn++) {
              const order = {
                url,
                env: server.env,
                folder,
                name: `${index}-${turn}`,
                rows: 1 + index * 100 + turn,
              };
              landed.push(await worker.perform(order));
            }
            worker.close();
            return landed;
          }),
        );
        const total = WRITERS * LANDINGS;
        const versions = landings.flat().map((landed) => landed?.version ?? Number.NaN);
        expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, n) => n));
        const place = await openStorePlace(url, { env: server.env, clock: systemClock });
        const storage = objectStorage(place);
        const snapshot = await readLog(storage, emptySnapshot(BARS_1D), { whole: true });
        const names = Array.from({ length: total }, (_, n) => `${n % WRITERS}-${Math.floor(n / WRITERS)}`);
        expect([...snapshot.files.keys()].sort()).toEqual(
          names.map((one) => `region=CN/year=2026/${one}.parquet`).sort(),
        );
        const turns = Array.from({ length: LANDINGS }, (_, turn) => turn);
        const rows = Array.from({ length: WRITERS }, (_, index) =>
          turns.map((turn) => 1 + index * 100 + turn),
        ).flat();
        expect(rowCount(snapshot)).toBe(rows.reduce((sum, one) => sum + one, 0));
        const stored = await storage.walk("bars_1d/region=CN");
        expect(stored).toHaveLength(total);
        for (const { path, size } of stored) expect(snapshot.files.get(`region=CN/${path}`)?.size).toBe(size);
        await place.store.close();
      } finally {
        await server.stop();
      }
    },
  );
});
