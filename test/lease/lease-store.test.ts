import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { folderLeases, timeIn } from "../../src/lease/folder-leases.js";
import type { LeaseStore } from "../../src/lease/lease-store.js";
import { objectLeases } from "../../src/lease/object-leases.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { storePlaces } from "../object-store/store-places.js";
import { cases } from "../sweep.js";

/** A form of a store: makes empty places, between its start and its stop. A place is opened by each process. */
interface Form {
  readonly start?: () => Promise<void>;
  readonly stop?: () => Promise<void>;
  readonly placeOf: () => () => LeaseStore;
  /** How much two times that it gives may be wrong against one another. */
  readonly precisionMs: number;
}

const FORMS: Readonly<Record<string, Form>> = {
  "a folder": {
    placeOf: () => {
      const folder = join(temporaryFolder(), "leases");
      return () => folderLeases(folder);
    },
    precisionMs: 0,
  },
  ...Object.fromEntries(
    storePlaces(cases({ few: 1, more: 2, all: 2 })).map(({ name, start, stop, openerOf }) => {
      const placeOf = (): (() => LeaseStore) => {
        const open = openerOf();
        return () => objectLeases(open(), "leases");
      };
      return [name, { start, stop, placeOf, precisionMs: 1000 }];
    }),
  ),
};

describe.each(Object.entries(FORMS))("%s", (_, { start, stop, placeOf, precisionMs }) => {
  beforeAll(async () => start?.());
  afterAll(async () => stop?.());

  test("has a record, whole and in any process, from its creation to its removal", async () => {
    const open = placeOf();
    const [one, other] = [open(), open()];
    expect([await one.ids(), await one.read("a")]).toEqual([[], undefined]);
    await one.create("a", '{"of":"ä京"}', "waiting");
    await one.create("b", '{"of":2}', "acquired");
    expect((await other.ids()).sort()).toEqual(["a", "b"]);
    expect(await other.read("a")).toMatchObject({ text: '{"of":"ä京"}', state: "waiting" });
    expect(await other.read("b")).toMatchObject({ text: '{"of":2}', state: "acquired" });
    expect(await other.remove("a")).toBe(true);
    expect([await one.ids(), await one.read("a")]).toEqual([["b"], undefined]);
    expect(await one.remove("a")).toBe(true);
  });

  test("of processes that each create a record and then read, at least one sees the other", async () => {
    const open = placeOf();
    for (let round = 0; round < 20; round++) {
      const look = async (n: number): Promise<string[]> => {
        const store = open();
        await store.create(`${round}-${n}`, "{}", "acquired");
        return store.ids();
      };
      const seen = await Promise.all([0, 1, 2, 3].map(look));
      const blind = seen.filter((ids) => ids.filter((id) => id.startsWith(`${round}-`)).length === 1);
      expect(blind.length).toBeLessThan(2);
    }
  });

  test("a renewal has the time of the store, and the state; it creates nothing", async () => {
    const open = placeOf();
    const store = open();
    const before = await store.now();
    await store.create("a", '{"n":1}', "waiting");
    const first = (await store.read("a"))?.renewedAt ?? 0;
    expect(first).toBeGreaterThanOrEqual(before - precisionMs);
    expect(await store.renew("a", "waiting")).toBe(true);
    expect(await store.renew("a", "acquired")).toBe(true);
    const last = await open().read("a");
    expect(last).toMatchObject({ text: '{"n":1}', state: "acquired" });
    expect(last?.renewedAt).toBeGreaterThanOrEqual(first);
    expect(last?.renewedAt).toBeLessThanOrEqual((await open().now()) + precisionMs);
    await store.remove("a");
    expect(await store.renew("a", "acquired")).toBe(false);
    expect(await store.ids()).toEqual([]);
  });

  test("a record that was renewed since it was read is not removed; of two that remove it, both may", async () => {
    const open = placeOf();
    const store = open();
    await store.create("a", "{}", "acquired");
    const seen = (await store.read("a"))?.renewedAt ?? 0;
    while ((await store.read("a"))?.renewedAt === seen) await store.renew("a", "acquired");
    expect(await open().remove("a", seen)).toBe(false);
    const again = (await store.read("a"))?.renewedAt;
    expect(await Promise.all([open().remove("a", again), open().remove("a", again)])).toEqual([true, true]);
    expect(await store.ids()).toEqual([]);
  });

  test("a renewal and a removal at the same time: the record is gone for good, or it remains and the removal reports that", async () => {
    const open = placeOf();
    for (let round = 0; round < 10; round++) {
      const [owner, other] = [open(), open()];
      const id = `race-${round}`;
      await owner.create(id, "{}", "acquired");
      const seen = (await other.read(id))?.renewedAt ?? 0;
      const [, isGone] = await Promise.all([owner.renew(id, "acquired"), other.remove(id, seen)]);
      expect(await owner.renew(id, "acquired")).toBe(!isGone);
      expect((await open().ids()).includes(id)).toBe(!isGone);
      await owner.remove(id);
    }
    expect(await open().ids()).toEqual([]);
  });

  test("a record that was removed is created again under its id, and renewed by a process that did not create it", async () => {
    const open = placeOf();
    const [owner, child] = [open(), open()];
    await owner.create("a", '{"n":1}', "waiting");
    expect(await child.renew("a", "acquired")).toBe(true);
    expect(await owner.renew("a", "acquired")).toBe(true);
    expect(await child.renew("a", "waiting")).toBe(true);
    expect(await owner.read("a")).toMatchObject({ text: '{"n":1}', state: "waiting" });
    await open().remove("a");
    expect([await owner.renew("a", "acquired"), await child.renew("a", "acquired")]).toEqual([false, false]);
    await owner.create("a", '{"n":1}', "acquired");
    expect(await child.read("a")).toMatchObject({ text: '{"n":1}', state: "acquired" });
    expect(await open().ids()).toEqual(["a"]);
  });
});

test.each([-2, 2])("a renewal has the time of the file system: the clock is %i hours off", async (hours) => {
  const folder = temporaryFolder();
  const store = folderLeases(folder);
  await store.create("a", '{"a":1}', "acquired");
  utimesSync(join(folder, "a.json"), 1, 1);
  const before = await timeIn(folder);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  await store.renew("a", "acquired");
  const { mtimeMs } = statSync(join(folder, "a.json"));
  expect(mtimeMs).toBeGreaterThanOrEqual(before);
  expect(mtimeMs).toBeLessThanOrEqual(await timeIn(folder));
  expect(JSON.parse(readFileSync(join(folder, "a.json"), "utf8"))).toEqual({ a: 1 });
});

test("a record of an earlier release, without a state, is an acquired one", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "a.json"), '{"a":1}');
  expect(await folderLeases(folder).read("a")).toMatchObject({ text: '{"a":1}', state: "acquired" });
});

test("a folder that goes with its last record comes again with the next one", async () => {
  const folder = join(temporaryFolder(), "leases");
  const stores = Array.from({ length: 4 }, () => folderLeases(folder));
  await Promise.all(
    stores.map(async (store, n) => {
      for (let turn = 0; turn < 25; turn++) {
        await store.create(`${n}-${turn}`, "{}", "acquired");
        expect(await store.read(`${n}-${turn}`)).toBeDefined();
        await store.remove(`${n}-${turn}`);
        await store.tidy();
      }
    }),
  );
  mkdirSync(folder, { recursive: true });
  expect(readdirSync(folder)).toEqual([]);
});

test.runIf(process.platform !== "win32")("private records are readable for this user alone", async () => {
  const folder = join(temporaryFolder(), "leases");
  await folderLeases(folder, { ending: ".claim.json", isPrivate: true }).create("a", "{}", "waiting");
  const modes = [folder, join(folder, "a.claim.json")].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600]);
});
