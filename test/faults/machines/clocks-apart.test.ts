import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../src/client/system-clock.js";
import type { Clock } from "../../../src/core/time.js";
import { Lake } from "../../../src/lake/lake.js";
import { workFolder } from "../../../src/lake/local/work-folder.js";
import { readHistory } from "../../../src/lake/log/history.js";
import { takeRun } from "../../../src/lake/requests/run-lease.js";
import { objectStorage } from "../../../src/lake/storage/object-storage.js";
import { openStorePlace } from "../../../src/object-store/store-place.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, queryLake, T0, temporaryFolder } from "../../lake/temporary-lake.js";
import { HAS_STORE, storeLakes } from "../../object-store/store-lakes.js";

const MINUTE = 60_000;
const DAY = 86_400_000;
/** A store refuses signatures whose time differs from its own by a quarter of an hour. */
const MOST = 14 * MINUTE;
/** How long a lease is silent before others take it over, and more. */
const STALE_MS = 61_000;
const LANDINGS = 4;

/** A clock that is off; nothing waits for real. */
const offClock = (offMs: number): Clock => ({
  ...systemClock,
  now: () => systemClock.now() + offMs,
  sleep: (_, signal) => systemClock.sleep(0, signal),
});

describe.skipIf(!HAS_STORE)("machines on a store, whose clocks are as far apart as it permits", () => {
  const stores = storeLakes();

  /** Machines that share a lake. The time of the store can be moved on. */
  function setUp() {
    const location = stores.newLocation();
    const store = { aheadMs: 0 };
    const machine = async (offMs: number) => {
      const clock = offClock(offMs);
      const place = await openStorePlace(location, { env: stores.env, clock });
      const own = objectStorage(place, { extensions: stores.env.BARLAKE_DUCKDB_EXTENSIONS });
      const storage = {
        ...own,
        leases(folder: string) {
          const leases = own.leases(folder);
          return { ...leases, now: async () => (await leases.now()) + store.aheadMs };
        },
      };
      const work = workFolder(join(temporaryFolder(), "work"));
      return { clock, lake: new Lake(location, { storage, work, clock, hasDatabase: false }) };
    };
    return { location, store, machine };
  }

  test("rows of both land, each once, in commits that are in the order of their times", async () => {
    const { location, machine } = setUp();
    const machines = await Promise.all([machine(-MOST), machine(MOST)]);
    await Promise.all(
      machines.map(async ({ lake, clock }, m) => {
        const session = await openSession({ threads: 1, ...lake.access });
        for (let n = 0; n < LANDINGS; n++)
          await land(
            session,
            lake,
            BARS_1D,
            // One row of its own, and one that both land.
            [{ at: T0 - (1 + 2 * n + m) * DAY }, { at: T0, close: 10.5 }],
            { now: clock.now() },
          );
      }),
    );
    const rows = await queryLake<{ n: number; different: number }>(
      stores.open(location),
      "SELECT count(*)::DOUBLE AS n, count(DISTINCT timestamp)::DOUBLE AS different FROM bars_1d",
    );
    expect(rows.map(({ n, different }) => [n, different])).toEqual([[2 * LANDINGS + 1, 2 * LANDINGS + 1]]);
    const times = (await readHistory(stores.open(location).storage, BARS_1D)).map(
      ({ committedAt }) => committedAt as number,
    );
    expect(times).toHaveLength(2 * LANDINGS);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test("a lease is not taken over early by either, and is once its owner is silent", async () => {
    // Leases are renewed only where a run does so itself.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { store, machine } = setUp();
    const [slow, fast] = [await machine(-MOST), await machine(MOST)];
    const subject = { pipeline: "minute", asks: ["bars_1m"], tables: ["bars_1m"] };
    for (const [holder, other] of [
      [slow, fast],
      [fast, slow],
    ] as const) {
      const held = await takeRun(holder.lake, { ...subject, runId: "held" }, holder);
      const take = (runId: string) => takeRun(other.lake, { ...subject, runId }, other);
      const stop = new AbortController();
      const onWait = (): void => stop.abort();
      const early = takeRun(
        other.lake,
        { ...subject, runId: "early" },
        { ...other, signal: stop.signal, onWait },
      );
      await expect(early).rejects.toThrow("aborted");
      await held.confirm();
      await held.release();
      await (await take("released")).release();
      const silent = await takeRun(holder.lake, { ...subject, runId: "silent" }, holder);
      store.aheadMs = STALE_MS;
      const later = await take("later");
      await later.confirm();
      store.aheadMs = 0;
      await Promise.all([later.release(), silent.release()]);
    }
  });

  test("a machine whose clock is an hour off is refused, with by how much", async () => {
    const { machine } = setUp();
    const { lake } = await machine(60 * MINUTE);
    await expect(lake.snapshot(BARS_1D)).rejects.toMatchObject({
      hint: expect.stringMatching(/^set the clock of this machine: it is 3[56]\d\d s ahead of the store's$/),
    });
  });
});
