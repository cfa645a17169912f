import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { segmentFolder } from "../../../src/lake/segments/segment-folder.js";
import { temporaryFolder } from "../temporary-lake.js";

const NOW = Date.parse("2026-11-21T00:00:00Z");
const CLOCK = { now: () => NOW };
const DAY_MS = 86_400_000;

/** Writes files of 100 bytes, each a day older than the one before it. @returns the names that are left. */
function folderOf(names: readonly string[]): { readonly root: string; readonly left: () => string[] } {
  const root = temporaryFolder();
  for (const [age, name] of names.entries()) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, new Uint8Array(100));
    const seconds = (NOW - (age + 1) * DAY_MS) / 1000;
    utimesSync(path, seconds, seconds);
  }
  const left = (): string[] => {
    const found = readdirSync(root, { recursive: true, encoding: "utf8" });
    return names.filter((name) => found.includes(name));
  };
  return { root, left };
}

const segmentOf = (lake: string, n: number): string =>
  `${lake}-0123456789ab/bars_1d/p-0123456789abcdef-0000000${n}.bars`;

test("space is freed by deleting the segments and copies of any lake that were not opened for the longest time", async () => {
  const unfinished = `${segmentOf("a", 4)}.01234567-89ab-cdef-0123-456789abcdef.partial`;
  const copy = `a-0123456789ab/sql/${"0123456789abcdef".repeat(2)}.duckdb`;
  const log = `${copy}.01234567-89ab-cdef-0123-456789abcdef.partial.wal`;
  const names = [segmentOf("a", 1), segmentOf("b", 2), copy, unfinished, log];
  const { root, left } = folderOf(names);
  const folder = segmentFolder({ root, folder: join(root, "a-0123456789ab"), maxBytes: 300 }, CLOCK);
  expect(await folder.freeSpaceFor(50)).toBe(true);
  expect(left()).toEqual(names.slice(0, 2));
  expect(await folder.freeSpaceFor(301)).toBe(false);
});

test("a file that is no segment is neither counted nor deleted, in any folder that the user names", async () => {
  const others = [
    "notes.txt",
    "mine.bars",
    "lake/bars_1d/region=CN/year=2026/p-0123456789abcdef-00000001.parquet",
    "download.partial",
    "project/bars_1d/notes.bars",
  ];
  const { root, left } = folderOf([...others, segmentOf("a", 1)]);
  const folder = segmentFolder({ root, folder: join(root, "a-0123456789ab"), maxBytes: 250 }, CLOCK);
  expect(await folder.freeSpaceFor(150)).toBe(true);
  expect(left()).toEqual([...others, segmentOf("a", 1)]);
  expect(await folder.freeSpaceFor(200)).toBe(true);
  expect(left()).toEqual(others);
});

test("a file that could not be written leaves nothing, nor does the log that DuckDB wrote next to it", async () => {
  const root = temporaryFolder();
  const folder = segmentFolder({ root, folder: join(root, "a-0123456789ab") }, CLOCK);
  const path = join(root, "a-0123456789ab", "sql", `${"0".repeat(32)}.duckdb`);
  const adding = folder.add(path, async (unfinished) => {
    writeFileSync(unfinished, "rows");
    writeFileSync(`${unfinished}.wal`, "rows");
    throw new Error("no space left");
  });
  await expect(adding).rejects.toThrow("no space left");
  expect(readdirSync(join(root, "a-0123456789ab", "sql"))).toEqual([]);
});

test("folders of segments are open to their user only, as the lake may be", async () => {
  const folder = join(temporaryFolder(), "segments", "a-0123456789ab");
  const path = join(folder, "bars_1d", "p-0123456789abcdef-00000001.bars");
  const segments = segmentFolder({ root: dirname(folder), folder }, CLOCK);
  await segments.add(path, async (unfinished) => writeFileSync(unfinished, "bars"));
  for (const made of [dirname(folder), folder, dirname(path)]) expect(statSync(made).mode & 0o77).toBe(0);
});

test("what is in use is not deleted, and what another process may be writing neither", async () => {
  const writing = `${segmentOf("b", 2)}.01234567-89ab-cdef-0123-456789abcdef.partial`;
  const names = [segmentOf("a", 1), writing];
  const { root, left } = folderOf(names);
  for (const name of names) utimesSync(join(root, name), NOW / 1000 - 1800, NOW / 1000 - 1800);
  const folder = segmentFolder({ root, folder: join(root, "a-0123456789ab"), maxBytes: 350 }, CLOCK);
  expect(await folder.freeSpaceFor(150)).toBe(true);
  expect(await folder.freeSpaceFor(300)).toBe(false);
  expect(left()).toEqual(names);
});
