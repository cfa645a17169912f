import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/client/system-clock.js";
import { workFolder } from "../../src/lake/local/work-folder.js";
import { commit } from "../../src/lake/log/commit.js";
import { schemaActions } from "../../src/lake/log/commit-actions.js";
import { commitFile } from "../../src/lake/log/log-files.js";
import { readCommit, readLog } from "../../src/lake/log/read-log.js";
import { emptySnapshot } from "../../src/lake/log/snapshot.js";
import { objectStorage } from "../../src/lake/storage/object-storage.js";
import type { Storage } from "../../src/lake/storage/storage.js";
import { type AcquireRule, acquireLease } from "../../src/lease/acquire-lease.js";
import { type LeaseKind, Leases } from "../../src/lease/leases.js";
import { objectLeases } from "../../src/lease/object-leases.js";
import { thisProcess } from "../../src/lease/owner.js";
import { openObjectStore } from "../../src/object-store/object-store.js";
import {
  openStorePlace,
  type StorePlace,
  storePlace,
  type WriteAbility,
} from "../../src/object-store/store-place.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { once } from "../once.js";
import { pickFrom, SWEEP } from "../sweep.js";
import { countRequests } from "./count-requests.js";
import { type Fault, type FaultyStore, type Passing, startFaultyStore } from "./faulty-store.js";
import { laggingLists } from "./lagging-lists.js";
import { type StoreHere, type StoreServer, startStore, storesHere } from "./store-server.js";

const [here] = storesHere(1);

describe.skipIf(here === undefined)("a store behind a proxy that misbehaves", () => {
  let server: StoreServer;
  let ability: WriteAbility;
  beforeAll(async () => {
    server = await startStore(here as StoreHere);
    const { bucket, env } = server;
    const place = await openStorePlace(`s3://${bucket}/probed`, { env, clock: systemClock });
    ability = await place.expectWritable();
    await place.store.close();
  });
  afterAll(() => server.stop());

  let opened = 0;
  /** Opens an empty place behind a proxy; its pauses take no time. It is not probed, unless the test is about that. */
  async function setUp({
    isProbed = false,
    ...options
  }: {
    timeoutMs?: number | undefined;
    isProbed?: boolean;
  } = {}) {
    const faulty = await startFaultyStore(server);
    onTestFinished(() => faulty.stop());
    const counts = countRequests();
    const prefix = `lake-${++opened}`;
    const open = async ({ env }: Pick<FaultyStore, "env">): Promise<StorePlace> => {
      const clock = { now: () => Date.now(), sleep: () => turn() };
      const { bucket } = server;
      const store = await openObjectStore({ bucket, env, clock, onRequest: counts.observe, ...options });
      onTestFinished(() => store.close());
      return storePlace(store, prefix, isProbed ? undefined : Promise.resolve(ability));
    };
    const place = await open(faulty);
    return {
      faulty,
      counts,
      place,
      storage: objectStorage(place),
      open: () => open(faulty),
      direct: () => open(server),
    };
  }

  const left = async (place: StorePlace): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { objects } of place.store.list({ prefix: place.keyOf("") }))
      keys.push(...objects.map(({ key }) => key));
    return keys;
  };

  describe("is refused before the first write, and left as it was", () => {
    const isProbe = ({ method, key }: Passing): boolean => method === "PUT" && key.includes("/probes/");
    const seen = new Map<string, number>();
    /** Lets several writers of a key find that there is no object, and then write. */
    const checksFirst = ({ isConditional, key }: Passing): Fault | undefined => {
      if (!isConditional) return undefined;
      seen.set(key, (seen.get(key) ?? 0) + 1);
      return (seen.get(key) ?? 0) <= 2 ? { kind: "unconditional" } : undefined;
    };
    once.each<[string, (passing: Passing) => Fault | undefined, string]>([
      [
        "it ignores conditions",
        (one) => (one.isConditional ? { kind: "unconditional" } : undefined),
        "8 created the object",
      ],
      ["it checks a condition, and writes later", checksFirst, "of 8 writes at the same time"],
      [
        "it refuses all conditions",
        (one) => (isProbe(one) ? { kind: "refused", status: 412, code: "PreconditionFailed" } : undefined),
        "0 created the object",
      ],
      [
        "it does not know conditions",
        (one) => (isProbe(one) ? { kind: "refused", status: 501, code: "NotImplemented" } : undefined),
        "NotImplemented",
      ],
      [
        "its lists lag",
        (one) => (one.method === "GET" && one.key === "" ? { kind: "old", age: 1 } : undefined),
        "a list ",
      ],
    ])("%s", async (_, faultOf, message) => {
      const { faulty, storage, place, direct } = await setUp({ isProbed: true });
      faulty.faultOf = faultOf;
      for (let attempt = 0; attempt < 2; attempt++)
        await expect(storage.putIfAbsent("t/_delta_log/0.json", "first")).rejects.toThrow(message);
      await expect(place.expectWritable()).rejects.toMatchObject({ hint: expect.anything() });
      expect(await left(await direct())).toEqual([]);
    });
  });

  once(
    "a store that ignores the condition for parts gets large files as a whole; a probe is remembered",
    async () => {
      const { faulty, place, counts, open } = await setUp({ isProbed: true });
      faulty.faultOf = ({ query, isConditional }) =>
        isConditional && query.has("uploadId") ? { kind: "unconditional" } : undefined;
      expect(await place.expectWritable()).toEqual({ parts: { minBytes: Number.POSITIVE_INFINITY } });
      expect(await left(place)).toHaveLength(1);
      counts.take();
      const other = await open();
      expect(await other.expectWritable()).toEqual(await place.expectWritable());
      expect(counts.take()).toEqual({ get: 1 });
    },
  );

  /** The writers below meet most of them, but delete nothing, and meet no body that stops: these two are in each run. */
  const faults: readonly [string, Fault, (passing: Passing) => boolean][] = [
    ["an overload", { kind: "refused", status: 503, code: "SlowDown" }, () => true],
    ["a write whose response is lost", { kind: "lost" }, ({ method }) => method === "PUT"],
    ["a write that a proxy repeats", { kind: "repeated" }, ({ method }) => method === "PUT"],
    [
      "the page of a proxy that does not find the store",
      { kind: "refused", status: 404, code: "" },
      () => true,
    ],
    ["a deletion whose response is lost", { kind: "lost" }, ({ method }) => method === "DELETE"],
    ["a content that is damaged on its way", { kind: "damaged" }, ({ method }) => method === "PUT"],
    ["a body that is cut short", { kind: "cut", bytes: 100 }, ({ method }) => method === "GET"],
    [
      "a body that stops",
      { kind: "stalled", bytes: 100 },
      ({ method, key }) => method === "GET" && key.endsWith("/t/b"),
    ],
    ["a list that is too old", { kind: "old", age: 1 }, ({ query }) => query.has("list-type")],
  ];
  const pinned = [...faults.keys()].filter((n) => /deletion|stops/.test(faults[n]?.[0] ?? ""));
  test.each(pickFrom(faults, { few: 3, more: 9, all: 9 }, pinned))(
    "each request but its repetition meets it: %s",
    async (_, fault, isMet) => {
      const { faulty, storage } = await setUp({
        timeoutMs: fault.kind === "stalled" ? 1000 : undefined,
      });
      const met = new Set<string>();
      faulty.faultOf = (passing) => {
        const { method, key, query } = passing;
        const address = `${method} ${key} ${String(query)}`;
        if (!isMet(passing) || met.delete(address)) return undefined;
        met.add(address);
        return fault;
      };
      const content = randomBytes(300_000);
      const file = join(temporaryFolder(), "file");
      writeFileSync(file, content);
      expect(await storage.list("t")).toEqual([]);
      expect(await storage.putIfAbsent("t/a", "first")).toBe(true);
      expect(await storage.putIfAbsent("t/a", "second")).toBe(false);
      expect(await storage.readText("t/a")).toBe("first");
      expect(await storage.putFileIfAbsent(file, "t/b")).toBe(true);
      expect(await storage.putFileIfAbsent(file, "t/b")).toBe(false);
      const pieces: Buffer[] = [];
      for await (const piece of (await storage.read("t/b")) ?? []) pieces.push(Buffer.from(piece));
      expect(Buffer.concat(pieces).equals(content)).toBe(true);
      expect((await storage.readRange("t/b", { last: 200_000 }))?.equals(content.subarray(100_000))).toBe(
        true,
      );
      expect(await storage.list("t")).toEqual(["a", "b"]);
      expect((await storage.walk("t")).map(({ size }) => size)).toEqual([5, 300_000]);
      await storage.delete("t/a");
      expect(await storage.readText("t/a")).toBeUndefined();
      expect(faulty.counts.get(fault.kind)).toBeGreaterThan(0);
    },
  );

  once("a list that remains too old is an error, not a commit that is taken for none", async () => {
    const { faulty, storage } = await setUp();
    expect(await storage.list("t")).toEqual([]);
    await storage.putIfAbsent("t/a", "1");
    faulty.faultOf = ({ query }) => (query.has("list-type") ? { kind: "old", age: 1000 } : undefined);
    await expect(storage.list("t")).rejects.toMatchObject({ code: "ListLags" });
    faulty.faultOf = () => undefined;
    expect(await storage.list("t")).toEqual(["a"]);
  });

  once("a commit that another process was first with is listed, or the list is an error", async () => {
    const { faulty, storage, open } = await setUp();
    expect(await storage.list("t")).toEqual([]);
    await objectStorage(await open()).putIfAbsent("t/a", "1");
    expect(await storage.putIfAbsent("t/a", "2")).toBe(false);
    faulty.faultOf = ({ query }) => (query.has("list-type") ? { kind: "old", age: 1000 } : undefined);
    await expect(storage.list("t")).rejects.toMatchObject({ code: "ListLags" });
  });

  once("a refusal of the store is not taken for a log that is damaged", async () => {
    const { faulty, storage } = await setUp();
    await storage.putIfAbsent(commitFile("t", 0), "{}");
    faulty.faultOf = ({ method, key }) =>
      method === "GET" && key.endsWith(commitFile("t", 0))
        ? { kind: "refused", status: 403, code: "AccessDenied" }
        : undefined;
    await expect(readCommit(storage, "t", 0)).rejects.toMatchObject({
      code: "AccessDenied",
      hint: expect.stringContaining("s3:GetObject"),
    });
  });

  once(
    "a prefix without permission is an error that names the object; nothing else is in the way",
    async () => {
      const { faulty, storage } = await setUp();
      faulty.faultOf = ({ key }) =>
        key.includes("/secret/") ? { kind: "refused", status: 403, code: "AccessDenied" } : undefined;
      for (const call of [() => storage.readText("secret/a"), () => storage.put("secret/a", "1")])
        await expect(call()).rejects.toMatchObject({
          message: expect.stringContaining("/secret/a: AccessDenied"),
          hint: expect.stringContaining("s3:GetObject"),
        });
      await storage.put("open/a", "1");
      expect(await storage.readText("open/a")).toBe("1");
    },
  );

  once.each<[string, Fault]>([
    ["lost responses", { kind: "lost" }],
    ["overloads", { kind: "refused", status: 503, code: "SlowDown" }],
  ])("a lease is of one process at a time, through %s", async (_, fault) => {
    const { faulty, place, open } = await setUp();
    const met = new Set<string>();
    faulty.faultOf = ({ method, key, query }) => {
      const address = `${method} ${key} ${String(query)}`;
      if (met.delete(address)) return undefined;
      met.add(address);
      return fault;
    };
    const [owner, other] = [objectLeases(place, "leases"), objectLeases(await open(), "leases")];
    await owner.create("a", "{}", "waiting");
    expect(await owner.renew("a", "acquired")).toBe(true);
    const seen = (await other.read("a"))?.renewedAt;
    expect(await other.read("a")).toMatchObject({ text: "{}", state: "acquired" });
    expect(await owner.renew("a", "acquired")).toBe(true);
    expect(await other.remove("a", seen)).toBe(false);
    const [, isGone] = await Promise.all([
      owner.renew("a", "acquired"),
      other.remove("a", (await other.read("a"))?.renewedAt),
    ]);
    expect(await owner.renew("a", "acquired")).toBe(!isGone);
    await owner.remove("a");
    expect([await owner.ids(), await other.renew("a", "acquired")]).toEqual([[], false]);
    expect((await left(place)).filter((key) => key.includes("/leases/"))).toEqual([]);
    expect(faulty.counts.get(fault.kind)).toBeGreaterThan(10);
  });

  test.each(pickFrom([3, 8], { few: 1, more: 2, all: 2 }))(
    "a lease is of one process at a time, and commits are there once, where lists lag by %d lists",
    async (lists) => {
      const { faulty, place, open, direct } = await setUp();
      faulty.faultOf = laggingLists(lists);
      const places = [place, await open(), await open()];
      let holders = 0;
      let taken = 0;
      await Promise.all(
        places.map(async (one, process) => {
          const leases = new Leases(objectLeases(one, "leases"), KIND, systemClock);
          for (let round = 0; round < ROUNDS; round++) {
            const lease = await acquireLease(leases, { process }, RULE, {
              clock: { sleep: () => turn() },
            });
            holders += 1;
            expect(holders).toBe(1);
            expect(await lease.renew()).toBe(true);
            taken += 1;
            holders -= 1;
            await lease.release();
          }
          await leases.close();
        }),
      );
      expect(taken).toBe(ROUNDS * places.length);
      const done = await Promise.all(places.map((one, writer) => commitMany(objectStorage(one), writer)));
      const log = await readLog(objectStorage(await direct()), emptySnapshot(BARS_1D));
      expect([...log.files.keys()].sort()).toEqual(done.flat().sort());
      expect(log.version).toBe(done.flat().length - 1);
    },
  );

  test.skipIf(SWEEP === "few")(
    "writers commit through a store that fails at random: each commit is there once, and none else",
    async () => {
      const { faulty, open, direct } = await setUp();
      const places = await Promise.all(Array.from({ length: 4 }, open));
      let draws = 0;
      const kinds: Fault[] = [
        { kind: "lost" },
        { kind: "repeated" },
        { kind: "refused", status: 404, code: "" },
        { kind: "refused", status: 503, code: "SlowDown" },
        { kind: "refused", status: 409, code: "ConditionalRequestConflict" },
        { kind: "cut", bytes: 30 },
        { kind: "damaged" },
        { kind: "old", age: 1 },
      ];
      // Every third request meets a fault, of each kind in turn.
      faulty.faultOf = ({ method }) => {
        const fault = ++draws % 3 === 0 ? kinds[(draws / 3) % kinds.length] : undefined;
        return method === "HEAD" && fault?.kind === "cut" ? undefined : fault;
      };
      const done = await Promise.all(places.map((place, writer) => commitMany(objectStorage(place), writer)));
      const log = await readLog(objectStorage(await direct()), emptySnapshot(BARS_1D));
      expect([...log.files.keys()].sort()).toEqual(done.flat().sort());
      expect(log.version).toBe(done.flat().length - 1);
      for (const kind of ["lost", "repeated", "refused", "damaged", "old"] as const)
        expect(faulty.counts.get(kind)).toBeGreaterThan(0);
    },
  );
});

const COMMITS = 6;

const ROUNDS = 3;
const RULE: AcquireRule<{ readonly process: number }> = {
  fits: (others) => others.length === 0,
  rankOf: ({ process }) => String(process),
  expectFree: () => {},
};
/** A lease whose owner is never taken for dead. */
const KIND: LeaseKind<{ readonly process: number }> = {
  content: z.object({ process: z.number() }),
  ownerOf: () => thisProcess(),
  staleMs: 3_600_000,
};

/** Commits files to a table, one each; returns their paths. */
async function commitMany(storage: Storage, writer: number): Promise<string[]> {
  const places = { storage, work: workFolder(temporaryFolder()) };
  const paths: string[] = [];
  let base = emptySnapshot(BARS_1D);
  for (let n = 0; n < COMMITS; n++) {
    const path = `region=CN/year=2026/w${writer}-${n}.parquet`;
    for (;;) {
      base = await readLog(storage, base);
      const add = { path, partitionValues: {}, size: 1, modificationTime: n, dataChange: true };
      const actions = [...(base.version < 0 ? schemaActions(base, BARS_1D.columns, 0) : []), { add }];
      const after = await commit(places, base, actions, 0);
      if (after === undefined) continue;
      base = after;
      paths.push(path);
      break;
    }
  }
  return paths;
}
