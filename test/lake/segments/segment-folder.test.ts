import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { segmentFolder } from "../../../src/lake/segments/segment-folder.js";
import { temporaryFolder } from "../temporary-lake.js";

const NOW = Date.parse("2026-11-23T12:00:00Z");
const HOUR_MS = 3_600_000;

/** Files of 100 bytes in two lakes' folders, by the hours since they were used. */
function usedBefore(root: string, hours: Readonly<Record<string, number>>): void {
  for (const [name, since] of Object.entries(hours)) {
    const path = join(root, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, Buffer.alloc(100));
    const seconds = (NOW - since * HOUR_MS) / 1000;
    utimesSync(path, seconds, seconds);
  }
}

const filesIn = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(bars|partial)$/.test(name))
    .sort();

test("room is made by deleting what was not used for the longest time, of any lake, but nothing in use", async () => {
  const root = temporaryFolder();
  const place = { root, folder: join(root, "one"), maxBytes: 350 };
  const folder = segmentFolder(place, { now: () => NOW });
  usedBefore(root, { "one/a.bars": 2, "one/b.bars": 3, "two/c.bars": 0.5 });
  expect(await folder.makeRoom(50)).toBe(true);
  expect(filesIn(root)).toEqual(["one/a.bars", "one/b.bars", "two/c.bars"]);
  expect(await folder.makeRoom(60)).toBe(true);
  expect(filesIn(root)).toEqual(["one/a.bars", "two/c.bars"]);
  expect(await folder.makeRoom(300)).toBe(false);
  expect(filesIn(root)).toEqual(["two/c.bars"]);
  expect(await folder.makeRoom(351)).toBe(false);
});

test("what a killed process has left is deleted, and what another one is writing is not", async () => {
  const root = temporaryFolder();
  const folder = segmentFolder({ root, folder: join(root, "one") }, { now: () => NOW });
  usedBefore(root, { "one/a.bars.1.partial": 2, "one/b.bars.2.partial": 0.5, "one/c.bars": 90 });
  expect(await folder.makeRoom(100)).toBe(true);
  expect(filesIn(root)).toEqual(["one/b.bars.2.partial", "one/c.bars"]);
});

test("a segment has its name when it is whole, and one that fails leaves nothing", async () => {
  const root = temporaryFolder();
  const folder = segmentFolder({ root, folder: join(root, "one") }, { now: () => NOW });
  const path = join(root, "one", "bars_1d", "a.bars");
  const failed = folder.add(path, async (unfinished) => {
    writeFileSync(unfinished, "some");
    throw new Error("no space");
  });
  await expect(failed).rejects.toThrow("no space");
  expect(filesIn(root)).toEqual([]);
  await folder.add(path, async (unfinished) => writeFileSync(unfinished, "whole"));
  expect(filesIn(root)).toEqual(["one/bars_1d/a.bars"]);
  folder.remove(path);
  folder.remove(path);
  expect(filesIn(root)).toEqual([]);
});
