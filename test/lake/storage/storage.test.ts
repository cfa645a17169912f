import { createHash, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { type WorkFolder, workFolder } from "../../../src/lake/local/work-folder.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import { objectStorage } from "../../../src/lake/storage/object-storage.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { storePlaces } from "../../object-store/store-places.js";
import { cases } from "../../sweep.js";
import { temporaryFolder } from "../temporary-lake.js";

/** An empty place of a lake. */
interface Place {
  /** Opens the place once more, as another process does. */
  readonly open: () => Storage;
  readonly work: WorkFolder;
}

/** A form of a storage: makes empty places, between its start and its stop. */
interface Form {
  readonly start?: () => Promise<void>;
  readonly stop?: () => Promise<void>;
  readonly placeOf: () => Place;
  /** Whether DuckDB reads its files without an extension. */
  readonly isLocal: boolean;
}

/** Every form of a storage. */
const FORMS: Readonly<Record<string, Form>> = {
  "a folder": {
    placeOf: () => {
      const folder = temporaryFolder();
      return { open: () => folderStorage(folder), work: workFolder(folder) };
    },
    isLocal: true,
  },
  ...Object.fromEntries(
    storePlaces(cases({ few: 1, more: 2, all: 2 })).map(({ name, start, stop, openerOf }) => {
      const placeOf = (): Place => {
        const open = openerOf();
        return { open: () => objectStorage(open()), work: workFolder(temporaryFolder()) };
      };
      return [name, { start, stop, placeOf, isLocal: false }];
    }),
  ),
};

const RACERS = 8;

describe.each(Object.entries(FORMS))("%s", (_, { start, stop, placeOf, isLocal }) => {
  beforeAll(async () => start?.());
  afterAll(async () => stop?.());

  test("reads a text as it was put, from any process", async () => {
    const { open } = placeOf();
    const storage = open();
    const texts = { "limits/a.json": '{"ä": "京"}\n', "t/region=CN/b": "", "t/c%20d": "x".repeat(3_000_000) };
    for (const [path, text] of Object.entries(texts)) await storage.put(path, text);
    for (const [path, text] of Object.entries(texts)) {
      expect(await storage.readText(path)).toBe(text);
      expect(await open().readText(path)).toBe(text);
    }
  });

  test("says of what does not exist that it does not exist", async () => {
    const { open, work } = placeOf();
    const storage = open();
    for (const path of ["none", "none/deep", "a/b"]) {
      expect(await storage.readText(path)).toBeUndefined();
      expect(await storage.read(path)).toBeUndefined();
      expect(await storage.readRange(path, { last: 8 })).toBeUndefined();
      expect(await storage.factsOf(path)).toBeUndefined();
      expect([await storage.list(path), await storage.walk(path)]).toEqual([[], []]);
      await storage.delete(path);
    }
    await storage.put("a", "a file is no folder");
    expect([await storage.list("a/b"), await storage.walk("a/b")]).toEqual([[], []]);
    expect(await storage.readText("a/b")).toBeUndefined();
    await work.discard(await work.newFile("parquet"));
  });

  test("a put replaces the whole file, and changes its tag", async () => {
    const { open } = placeOf();
    const storage = open();
    const tags = new Set<string | undefined>();
    for (const text of ["a longer first text", "second", "third!"]) {
      await storage.put("one", text);
      expect(await open().readText("one")).toBe(text);
      const facts = await storage.factsOf("one");
      expect(facts?.size).toBe(text.length);
      expect((await open().factsOf("one"))?.tag).toBe(facts?.tag);
      tags.add(facts?.tag);
    }
    expect(tags.size).toBe(3);
  });

  test("readers see the old or the new file while it is replaced, never a part or none", async () => {
    const { open } = placeOf();
    const texts = ["a".repeat(100_000), "b".repeat(200_000)];
    await open().put("one", texts[0] as string);
    const [writer, reader] = [open(), open()];
    for (let n = 1; n <= 20; n++) {
      const write = writer.put("one", texts[n % 2] as string);
      const reads = Array.from({ length: 5 }, () => reader.readText("one"));
      for (const text of await Promise.all(reads)) expect(texts).toContain(text);
      await write;
      expect(await reader.readText("one")).toBe(texts[n % 2]);
    }
  });

  test("a file is created once: of concurrent calls one wins, and its text remains", async () => {
    const { open } = placeOf();
    for (let round = 0; round < 5; round++) {
      const path = `t/_delta_log/${round}.json`;
      const texts = Array.from({ length: RACERS }, (_text, n) => `writer ${n} of round ${round}`);
      const won = await Promise.all(texts.map((text) => open().putIfAbsent(path, text)));
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await open().readText(path)).toBe(texts[won.indexOf(true)]);
    }
    expect(await open().putIfAbsent("t/_delta_log/0.json", "late")).toBe(false);
  });

  test("a local file becomes a file of the lake once, whole, and its local name can go", async () => {
    const { open, work } = placeOf();
    const storage = open();
    const content = randomBytes(3_500_000);
    const files = await Promise.all(Array.from({ length: RACERS }, () => work.newFile("parquet")));
    for (const file of files) writeFileSync(file, content);
    const path = "t/region=CN/year=2026/p-1.parquet";
    const won = await Promise.all(files.map((file) => open().putFileIfAbsent(file, path)));
    expect(won.filter(Boolean)).toHaveLength(1);
    for (const file of files) await work.discard(file);
    expect(await work.unfinished()).toEqual([]);
    expect((await storage.factsOf(path))?.size).toBe(content.length);
    const hash = createHash("sha256");
    for await (const piece of (await open().read(path)) ?? []) hash.update(piece);
    expect(hash.digest("hex")).toBe(createHash("sha256").update(content).digest("hex"));
  });

  test("a reader may stop after the first piece", async () => {
    const { open } = placeOf();
    const storage = open();
    await storage.put("one", "x".repeat(5_000_000));
    for await (const piece of (await storage.read("one")) ?? []) {
      expect(piece.length).toBeGreaterThan(0);
      break;
    }
    await storage.delete("one");
    expect(await storage.factsOf("one")).toBeUndefined();
  });

  test.each([
    ["the last bytes", { last: 3 }, "789"],
    ["more last bytes than there are", { last: 11 }, "0123456789"],
    ["bytes from the beginning", { start: 0, end: 4 }, "0123"],
    ["bytes in the middle", { start: 4, end: 6 }, "45"],
    ["bytes beyond the end", { start: 8, end: 20 }, "89"],
    ["no bytes, as the file ends before them", { start: 10, end: 12 }, ""],
  ])("reads a range: %s", async (_range, range, expected) => {
    const { open } = placeOf();
    await open().put("t/one", "0123456789");
    expect((await open().readRange("t/one", range))?.toString()).toBe(expected);
  });

  test("reads a range of an empty file, and a large one", async () => {
    const { open } = placeOf();
    const storage = open();
    await storage.put("none", "");
    await storage.put("large", `${"x".repeat(3_000_000)}end`);
    for (const range of [{ last: 8 }, { start: 0, end: 8 }])
      expect((await storage.readRange("none", range))?.length).toBe(0);
    const all = await storage.readRange("large", { start: 0, end: 3_000_003 });
    expect([all?.length, all?.subarray(-4).toString()]).toEqual([3_000_003, "xend"]);
  });

  test("lists are sorted, and show every write and deletion of any process at once", async () => {
    const { open } = placeOf();
    const [storage, other] = [open(), open()];
    const names = ["b.json", "a.json", "Z.json", "_last", "10.json", "9.json"];
    for (const [n, name] of names.entries()) {
      await (n % 2 === 0 ? storage : other).put(`t/log/${name}`, name);
      const expected = names.slice(0, n + 1).sort();
      expect(await storage.list("t/log")).toEqual(expected);
      expect(await other.list("t/log")).toEqual(expected);
    }
    await other.delete("t/log/a.json");
    await storage.putIfAbsent("t/log/new.json", "");
    const left = ["10.json", "9.json", "Z.json", "_last", "b.json", "new.json"];
    expect([await storage.list("t/log"), await other.list("t/log")]).toEqual([left, left]);
  });

  test("a walk finds the files at any depth, with size and time, and no folder", async () => {
    const { open } = placeOf();
    const storage = open();
    const files = { "t/b/2": "22", "t/a/deep/1": "1", "t/c": "333", "tt/other": "no part of t" };
    for (const [path, text] of Object.entries(files)) await storage.put(path, text);
    const found = await open().walk("t");
    expect(found.map(({ path, size }) => [path, size])).toEqual([
      ["a/deep/1", 1],
      ["b/2", 2],
      ["c", 3],
    ]);
    for (const { path, modifiedAt } of found)
      expect((await storage.factsOf(`t/${path}`))?.modifiedAt).toBe(modifiedAt);
    await storage.delete("t/c");
    expect((await storage.walk("t")).map(({ path }) => path)).toEqual(["a/deep/1", "b/2"]);
  });

  test("a walk finds more files than one page of a store has", async () => {
    const { open } = placeOf();
    const storage = open();
    const paths = Array.from({ length: 1100 }, (_path, n) => String(n).padStart(4, "0"));
    for (let n = 0; n < paths.length; n += 50)
      await Promise.all(paths.slice(n, n + 50).map((path) => storage.put(`t/${path}`, "")));
    expect((await storage.walk("t")).map(({ path }) => path)).toEqual(paths);
    expect(await storage.list("t")).toEqual(paths);
  });

  test.runIf(isLocal)("DuckDB reads a file at its URL", async () => {
    const { open, work } = placeOf();
    using session = await Session.open({ threads: 1 });
    const file = await work.newFile("parquet");
    await session.run(`COPY (SELECT 7 AS seven) TO '${file}' (FORMAT parquet)`);
    await open().putFileIfAbsent(file, "t/region=CN/p.parquet");
    await work.discard(file);
    const url = open().urlOf("t/region=CN/p.parquet");
    expect(await session.json(`SELECT seven, region FROM read_parquet('${url}')`)).toEqual([
      { seven: 7, region: "CN" },
    ]);
  });
});

test("a work folder lists and deletes what writers left behind", async () => {
  const work = workFolder(temporaryFolder());
  expect(await work.unfinished()).toEqual([]);
  const [one, two] = [await work.newFile("ndjson"), await work.newFile("ndjson")];
  await work.write(one, ["a\n", "b\n"]);
  await work.write(two, ["c\n"]);
  expect(readFileSync(one, "utf8")).toBe("a\nb\n");
  expect((await work.unfinished()).reduce((sum, { size }) => sum + size, 0)).toBe(6);
  await work.discard(two);
  for (const { path } of await work.unfinished()) await work.deleteUnfinished(path);
  expect(await work.unfinished()).toEqual([]);
  await work.discard(one);
});
