import { createHash, randomBytes, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import { objectStorage } from "../../src/lake/storage/object-storage.js";
import { objectLeases } from "../../src/lease/object-leases.js";
import { openObjectStore } from "../../src/object-store/object-store.js";
import { openStorePlace } from "../../src/object-store/store-place.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { cases } from "../sweep.js";
import { countRequests } from "./count-requests.js";
import { STORES, type StoreHere, type StoreServer, startStore, storesHere } from "./store-server.js";

const HERE = storesHere(cases({ few: 1, more: 2, all: 2 }));

// Where no store is here each is defined all the same: a file without tests fails.
describe.each(HERE.length > 0 ? HERE.map(({ name }) => name) : STORES)("%s", (name) => {
  describe.skipIf(HERE.length === 0)("as a place for lakes", () => {
    let server: StoreServer;
    beforeAll(async () => {
      server = await startStore(HERE.find((one) => one.name === name) as StoreHere);
    });
    afterAll(() => server.stop());

    async function openBucket(env: Readonly<Record<string, string>> = {}, bucket = server.bucket) {
      const counts = countRequests();
      const options = { env: { ...server.env, ...env }, clock: systemClock, onRequest: counts.observe };
      const store = await openObjectStore({ bucket, ...options });
      onTestFinished(() => store.close());
      return { store, counts };
    }

    test("what it prints is there for the report of a test that fails", async () => {
      const { store } = await openBucket();
      await store.put("printed", new Uint8Array());
      await expect
        .poll(server.printed, { timeout: 60_000 })
        .toContain(name === "minio" ? "API:" : "/lakes/printed");
    });

    test("any key can be written, read, listed and deleted", async () => {
      const { store } = await openBucket();
      const root = `${randomUUID()}/`;
      const names = [
        "a b",
        "a+b",
        "c%20d",
        "e%2Ff",
        "ä京🙂",
        "x&y<z>'",
        "(1)!*~",
        "k=v,w;@:$",
        "trailing ",
        "'q'",
        "%",
      ];
      const sorted = names.map((one) => root + one).sort();
      for (const key of sorted) expect(await store.putIfAbsent(key, Buffer.from(key))).toBe(true);
      const listed: string[] = [];
      for await (const { objects } of store.list({ prefix: root }))
        listed.push(...objects.map(({ key }) => key));
      expect(listed.sort()).toEqual(sorted);
      for (const key of sorted) {
        expect((await store.get(key))?.toString()).toBe(key);
        await store.delete(key);
        expect(await store.head(key)).toBeUndefined();
      }
    });

    test("a list goes on after a key, and through all pages", async () => {
      const { store, counts } = await openBucket();
      const root = `${randomUUID()}/`;
      const keys = Array.from({ length: 12 }, (_, n) => `${root}${String(n).padStart(2, "0")}`);
      for (const key of keys) await store.put(key, new Uint8Array());
      counts.take();
      const after: string[] = [];
      for await (const page of store.list({ prefix: root, startAfter: keys[8] as string, delimiter: "/" }))
        after.push(...page.objects.map(({ key }) => key));
      expect(after).toEqual(keys.slice(9));
      expect(counts.take()).toEqual({ list: 1 });
    });

    test("of large files that race in parts one wins, whole; nothing is left of the others", async () => {
      const folder = temporaryFolder();
      const contents = Array.from({ length: 3 }, () => randomBytes(11_000_000));
      const files = contents.map((content, n) => {
        writeFileSync(join(folder, String(n)), content);
        return join(folder, String(n));
      });
      const { store, counts } = await openBucket();
      const parts = { minBytes: 0, partBytes: 5 * 1024 ** 2 };
      const key = `${randomUUID()}/large`;
      const won = await Promise.all(files.map((file) => store.putFileIfAbsent(key, file, parts)));
      expect(won.filter(Boolean)).toHaveLength(1);
      const hash = createHash("sha256");
      for await (const piece of (await store.getStream(key)) ?? []) hash.update(piece);
      const winner = contents[won.indexOf(true)] as Buffer;
      expect(hash.digest("hex")).toBe(createHash("sha256").update(winner).digest("hex"));
      expect(
        (await store.getRange(key, { start: 5_242_878, end: 5_242_884 }))?.equals(
          winner.subarray(5_242_878, 5_242_884),
        ),
      ).toBe(true);
      const { uploadPart = 0, beginUpload = 0, abortUpload = 0 } = counts.take();
      expect(uploadPart).toBe(3 * beginUpload);
      expect(abortUpload).toBe(beginUpload - 1);
    });

    test.each([
      [
        "an unknown key",
        { AWS_ACCESS_KEY_ID: "nobody" },
        undefined,
        /^InvalidAccessKeyId$|^XAdminUserNotFound$/,
        "AWS_ACCESS_KEY_ID",
      ],
      [
        "a wrong secret",
        { AWS_SECRET_ACCESS_KEY: "wrong" },
        undefined,
        /^SignatureDoesNotMatch$/,
        "AWS_SECRET_ACCESS_KEY",
      ],
      ["a bucket that is not there", {}, "no-such-bucket", /^NoSuchBucket$/, "make the bucket"],
    ])(
      "a mistake in the settings is an error that says what to do: %s",
      async (_, env, bucket, code, hint) => {
        const { store, counts } = await openBucket(env, bucket);
        for (const call of [
          () => store.put("a", Buffer.from("1")),
          () => store.head("a"),
          () => store.get("a"),
          () => store.list({ prefix: "" })[Symbol.asyncIterator]().next(),
        ])
          await expect(call()).rejects.toMatchObject({
            code: expect.stringMatching(code),
            hint: expect.stringContaining(hint),
          });
        expect(counts.take()).toEqual({ put: 1, head: 1, get: 2, list: 1 });
      },
    );

    test("a signature of another time is refused, with how far the clock is off", async () => {
      const clock = { now: () => Date.now() - 7_200_000, sleep: (ms: number) => systemClock.sleep(ms) };
      const store = await openObjectStore({ bucket: server.bucket, env: server.env, clock });
      onTestFinished(() => store.close());
      await expect(store.get("a")).rejects.toMatchObject({
        code: "RequestTimeTooSkewed",
        hint: expect.stringMatching(/^set the clock of this machine: it is 7\d\d\d s behind the store's$/),
      });
    });

    test("each call takes as few requests as documented", async () => {
      const counts = countRequests();
      const options = { env: server.env, clock: systemClock, onRequest: counts.observe };
      const place = await openStorePlace(`s3://${server.bucket}/${randomUUID()}`, options);
      onTestFinished(() => place.store.close());
      const storage = objectStorage(place);
      const file = join(temporaryFolder(), "file");
      writeFileSync(file, "content");
      await storage.put("t/a", "1");
      const ofProbe = Object.values(counts.take()).reduce((sum, count) => sum + count, 0);
      expect(ofProbe).toBeLessThan(170);
      const leases = objectLeases(place, "leases");
      const costs: Record<string, unknown> = {};
      for (const [call, run] of Object.entries({
        put: () => storage.put("t/a", "2"),
        putIfAbsent: () => storage.putIfAbsent("t/b", "1"),
        "putIfAbsent, taken": () => storage.putIfAbsent("t/b", "1"),
        putFileIfAbsent: () => storage.putFileIfAbsent(file, "t/c"),
        readText: () => storage.readText("t/a"),
        readRange: () => storage.readRange("t/c", { last: 3 }),
        factsOf: () => storage.factsOf("t/c"),
        list: () => storage.list("t"),
        walk: () => storage.walk("t"),
        delete: () => storage.delete("t/b"),
        "create a lease": () => leases.create("a", "{}", "waiting"),
        "renew a lease": () => leases.renew("a", "acquired"),
        "renew it again": () => leases.renew("a", "acquired"),
        "read a lease": () => leases.read("a"),
        "ids of leases": () => leases.ids(),
        "time of leases": () => leases.now(),
        "remove a lease": () => leases.remove("a"),
      })) {
        await run();
        costs[call] = counts.take();
      }
      expect(costs).toEqual({
        put: { put: 1 },
        putIfAbsent: { put: 1 },
        "putIfAbsent, taken": { put: 1, head: 1 },
        putFileIfAbsent: { put: 1 },
        readText: { get: 1 },
        readRange: { get: 1 },
        factsOf: { head: 1 },
        list: { list: 1 },
        walk: { list: 1 },
        delete: { delete: 1 },
        "create a lease": { put: 1 },
        "renew a lease": { put: 1, list: 1 },
        "renew it again": { put: 1, list: 1, delete: 1 },
        "read a lease": { list: 1, get: 1 },
        "ids of leases": { list: 1 },
        "time of leases": { put: 1, head: 1 },
        "remove a lease": { list: 2, put: 1, delete: 3 },
      });
    });
  });
});
