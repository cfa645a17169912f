import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Clock } from "../../../src/core/time.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import { objectStorage } from "../../../src/lake/storage/object-storage.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { PermitQuota } from "../../../src/serve/keys/count/permit-quota.js";
import { addKey, keyPlace, revokeKey } from "../../../src/serve/keys/key-records.js";
import { StoredKeys } from "../../../src/serve/keys/key-ring.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { storePlaces } from "../../object-store/store-places.js";
import { cases } from "../../sweep.js";

const NOW = Date.parse("2026-11-21T00:00:00Z");

/** The time does not pass, however long the place takes: what would give up goes on, and what only pauses does not wait. */
const CLOCK: Clock = {
  now: () => NOW,
  sleep: (_, signal) =>
    signal === undefined
      ? turn()
      : new Promise((_wakes, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
};

interface Place {
  readonly name: string;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** An empty place: the result opens it, as a machine does. */
  readonly openerOf: () => () => Storage;
}

const PLACES: Place[] = [
  {
    name: "a folder",
    start: async () => {},
    stop: async () => {},
    openerOf: () => {
      const folder = temporaryFolder();
      return () => folderStorage(folder);
    },
  },
  ...storePlaces(cases({ few: 1, more: 2, all: 2 })).map(({ openerOf, ...place }) => ({
    ...place,
    openerOf: () => {
      const open = openerOf();
      return () => objectStorage(open());
    },
  })),
];

describe.each(PLACES)("keys in $name", ({ start, stop, openerOf }) => {
  beforeAll(start);
  afterAll(stop);

  test("commands at the same time lose no key, and every service sees them; no secret is there", async () => {
    const open = openerOf();
    const names = Array.from({ length: 6 }, (_, n) => `key-${n}`);
    const clock = { time: NOW, now: (): number => clock.time, sleep: () => new Promise<void>(() => {}) };
    const keys = await StoredKeys.open(keyPlace(open()), clock, () => {});
    const made = await Promise.all(names.map((name) => addKey(keyPlace(open()), name, {}, NOW)));
    clock.time += 3000;
    await keys.refresh();
    expect(made.map((key) => keys.callerOf(key)?.name)).toEqual(names);
    await revokeKey(keyPlace(open()), "key-3", NOW);
    clock.time += 3000;
    await keys.refresh();
    expect([keys.size, keys.callerOf(made[3] ?? "")]).toEqual([5, undefined]);
    const storage = open();
    const files = await storage.walk("");
    const texts = await Promise.all(files.map(({ path }) => storage.readText(path)));
    expect(texts.length).toBeGreaterThan(6);
    for (const key of made) expect(texts.join("")).not.toContain(key.slice(-48));
  });

  test("processes that get requests at the same time accept the number of the key together, and no more", async () => {
    const open = openerOf();
    const faults: unknown[] = [];
    const servers = [1, 2, 3].map(() => new PermitQuota(open(), CLOCK, (error) => void faults.push(error)));
    let accepted = 0;
    const ask = async (quota: PermitQuota): Promise<void> => {
      for (let n = 0; n < 150; n++) if ((await quota.take("alice", NOW, 120)) === 0) accepted++;
    };
    await Promise.all(servers.map(ask));
    expect(faults).toEqual([]);
    expect(accepted).toBeLessThanOrEqual(120);
    expect(accepted).toBeGreaterThan(0);
    await Promise.all(servers.map((quota) => quota.close()));
  });
});

test("a damaged list names the place, and is not replaced", async () => {
  const storage = folderStorage(temporaryFolder());
  await storage.put("keys/000000000001.json", "{");
  await expect(addKey(keyPlace(storage), "alice", {}, NOW)).rejects.toThrow(
    /keys\/000000000001\.json is no file of keys/,
  );
});
