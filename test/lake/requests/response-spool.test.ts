import { mkdirSync, readdirSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import { timeIn } from "../../../src/lease/folder-leases.js";
import { temporaryLake } from "../temporary-lake.js";

function* pieces(...texts: string[]): Generator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test("what is stored is there, whole and in order, until it is forgotten; an empty store leaves no folder", async () => {
  const lake = temporaryLake();
  const store = ResponseSpool.of(lake, "run-1");
  await Promise.all([store.store("000002", { n: 2 }), store.store("000001", { n: 1 }, pieces("ab", "c"))]);
  expect(await store.ids()).toEqual(["000001", "000002"]);
  expect(await store.read("000001")).toEqual({ note: { n: 1 }, body: Buffer.from("abc") });
  expect(await store.read("000002")).toEqual({ note: { n: 2 }, body: undefined });
  await store.forget(["000001", "000002"]);
  expect(await store.ids()).toEqual([]);
  await store.close();
  expect(readdirSync(join(lake.location, "spool"))).toEqual([]);
});

test("small and large pieces are stored in their order", async () => {
  const lake = temporaryLake();
  const store = ResponseSpool.of(lake, "run-1");
  const sizes = [3, 70_000, 0, 40_000, 30_000, 30_000, 5, 200_000, 1];
  const parts = sizes.map((size, i) => Buffer.alloc(size, 97 + i));
  await store.store("000001", { n: 1 }, pieces(...parts.map(String)));
  expect((await store.read("000001")).body).toEqual(Buffer.concat(parts));
  await store.close();
});

test("what an earlier release has left in its own folder is taken over, too", async () => {
  const lake = temporaryLake();
  const store = ResponseSpool.of(lake, "run-1");
  await store.store("000001", { n: 1 }, pieces("abc"));
  await store.close();
  renameSync(join(lake.location, "spool"), join(lake.location, "answers"));
  const [taken] = await ResponseSpool.takeOver(lake, "run-2");
  expect(await taken?.read("000001")).toEqual({ note: { n: 1 }, body: Buffer.from("abc") });
  expect(readdirSync(join(lake.location, "spool"))).toEqual(["run-1~run-2"]);
  await taken?.close();
});

test("responses of a running run remain with it; those of an ended run are taken over, once", async () => {
  const lake = temporaryLake();
  const store = ResponseSpool.of(lake, "run-1");
  await store.store("000001", { n: 1 });
  expect(await ResponseSpool.takeOver(lake, "run-2")).toEqual([]);
  await store.close();
  const taken = await Promise.all([
    ResponseSpool.takeOver(lake, "run-2"),
    ResponseSpool.takeOver(lake, "run-3"),
  ]);
  expect(taken.flat()).toHaveLength(1);
  expect((await taken.flat()[0]?.read("000001"))?.note).toEqual({ n: 1 });
  for (const one of taken.flat()) await one.close();
});

test.each([
  ["a process that is gone", { host: "", pid: 2 ** 22 + 1 }, 0],
  ["a machine that gives no sign of life", { host: "elsewhere", pid: 1 }, 3_600_000],
])("answers of %s are taken over", async (_, owner, ageMs) => {
  const lake = temporaryLake();
  const folder = join(lake.location, "spool", "run-1");
  mkdirSync(folder, { recursive: true });
  const { hostname } = await import("node:os");
  writeFileSync(join(folder, "owner.json"), JSON.stringify({ ...owner, host: owner.host || hostname() }));
  const at = ((await timeIn(lake.location)) - ageMs) / 1000;
  utimesSync(join(folder, "owner.json"), at, at);
  writeFileSync(join(folder, "000001.json"), "{}");
  writeFileSync(join(folder, "000002.new"), "{ a half");
  const [taken] = await ResponseSpool.takeOver(lake, "run-2");
  expect(await taken?.ids()).toEqual(["000001"]);
  await taken?.forget(["000001"]);
  await taken?.close();
  expect(readdirSync(join(lake.location, "spool"))).toEqual([]);
});

test("where one folder cannot be taken over, the others are given up again: a later run takes them over", async () => {
  const lake = temporaryLake();
  const store = ResponseSpool.of(lake, "run-1");
  await store.store("000001", { n: 1 });
  await store.close();
  writeFileSync(join(lake.location, "spool", "run-2"), "no folder");
  await expect(ResponseSpool.takeOver(lake, "run-3")).rejects.toThrow(
    /^file \S*spool\/run-2~run-3\S* could not be written: (File exists|Not a directory)$/,
  );
  rmSync(join(lake.location, "spool", "run-2~run-3"), { force: true });
  const [taken] = await ResponseSpool.takeOver(lake, "run-4");
  expect((await taken?.read("000001"))?.note).toEqual({ n: 1 });
  await taken?.close();
});

test.each<[string, (folder: string) => void]>([
  ["a note that is cut short", (folder) => truncateSync(join(folder, "000001.json"), 9)],
  ["no columns", (folder) => rmSync(join(folder, "000001.body"))],
  ["columns that are cut short", (folder) => truncateSync(join(folder, "000001.body"), 2)],
  ["columns of which a bit has changed", (folder) => writeFileSync(join(folder, "000001.body"), "abb")],
])("a response with %s is reported, and can be set aside", async (_, damage) => {
  const lake = temporaryLake();
  const store = ResponseSpool.of(lake, "run-1");
  await store.store("000001", { n: 1 }, pieces("ab", "c"));
  damage(join(lake.location, "spool", "run-1"));
  await expect(store.read("000001")).rejects.toThrow(/^spool\/run-1\/000001: /);
  expect(await store.setAside("000001")).toBe("rejects/spool/run-1/000001");
  expect(readdirSync(join(lake.location, "rejects", "spool", "run-1"))).toContain("000001.json");
  expect(await store.ids()).toEqual([]);
  await store.close();
  expect(readdirSync(join(lake.location, "spool"))).toEqual([]);
});

test("a store that is made while another run searches for those of ended runs is not taken over", async () => {
  const lake = temporaryLake();
  const over = new AbortController();
  const taken: ResponseSpool[] = [];
  const looking = Array.from({ length: 3 }, async (_, n) => {
    while (!over.signal.aborted) taken.push(...(await ResponseSpool.takeOver(lake, `looks-${n}`)));
  });
  try {
    for (let n = 0; n < 100; n++) {
      const store = ResponseSpool.of(lake, `run-${n}`);
      await store.store("000001", { n });
      expect(await store.ids()).toEqual(["000001"]);
      await store.forget(["000001"]);
      await store.close();
    }
  } finally {
    over.abort();
    await Promise.all(looking);
    for (const one of taken) await one.close();
  }
});
