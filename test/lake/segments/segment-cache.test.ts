import { chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Lake } from "../../../src/lake/lake.js";
import type { Snapshot } from "../../../src/lake/log/snapshot.js";
import type { BarsDemand } from "../../../src/lake/segments/block.js";
import { readBars } from "../../../src/lake/segments/read-bars.js";
import { SegmentCache } from "../../../src/lake/segments/segment-cache.js";
import { segmentFolder } from "../../../src/lake/segments/segment-folder.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../temporary-lake.js";

const SYMBOL = "600519.SH";
/** All closes of the symbol since a day. */
const closesSince = (from: number): BarsDemand => ({
  symbols: [SYMBOL],
  by: "day",
  rangeOf: () => ({ from, to: Number.POSITIVE_INFINITY }),
  columns: new Set(["close"]),
});
const DEMAND = closesSince(Number.NEGATIVE_INFINITY);

/** A lake with a file of one bar in each of three years. */
async function threeFiles(): Promise<{ readonly lake: Lake; readonly snapshot: Snapshot }> {
  const session = await openSession();
  const lake = temporaryLake();
  const bars = [2024, 2025, 2026].map((year) => ({ symbol: SYMBOL, at: `${year}-03-02T16:00:00Z` }));
  await land(session, lake, BARS_1D, bars);
  return { lake, snapshot: await lake.snapshot(BARS_1D) };
}

test("a read of more segments than may be open goes through the view, and deletes none of them", async () => {
  const { lake, snapshot } = await threeFiles();
  const root = temporaryFolder();
  const place = { root, folder: root };
  await using few = new SegmentCache(lake, place, 2);
  await few.build(snapshot, [...snapshot.files.values()]);
  expect(await readBars(few, snapshot, DEMAND)).toEqual({});
  expect((await readBars(few, snapshot, closesSince(20_100))).bars?.rows).toBe(2);
  await using enough = new SegmentCache(lake, place, 3);
  expect((await readBars(enough, snapshot, DEMAND)).bars?.rows).toBe(3);
});

test("a segment that a read has found remains open while other reads need other ones", async () => {
  const { lake, snapshot } = await threeFiles();
  const root = temporaryFolder();
  await using cache = new SegmentCache(lake, { root, folder: root }, 1);
  const files = [...snapshot.files.values()];
  await cache.build(snapshot, files);
  using _ = cache.beginRead();
  const found = files.map((file) => cache.find(snapshot, file));
  for (const segment of found) expect(segment?.read(0).length).toBeGreaterThan(0);
});

test("a result of more rows than a record batch should have goes through the view", async () => {
  const { lake, snapshot } = await threeFiles();
  const root = temporaryFolder();
  const [file] = [...snapshot.files.values()];
  if (file === undefined) throw new Error("no file was landed");
  await using cache = new SegmentCache(lake, { root, folder: root });
  await cache.build(snapshot, [...snapshot.files.values()]);
  cache.find(snapshot, file)?.index.rows.fill(300_000_000);
  expect(await readBars(cache, snapshot, DEMAND)).toEqual({});
});

test("what is in the place of a segment and can be neither read nor deleted fails no read", async () => {
  const { lake, snapshot } = await threeFiles();
  const root = temporaryFolder();
  const [file] = [...snapshot.files.values()];
  if (file === undefined) throw new Error("no file was landed");
  const place = { root, folder: join(root, "lake") };
  const path = segmentFolder(place, lake.clock).pathOf(snapshot, file);
  mkdirSync(path, { recursive: true });
  await using cache = new SegmentCache(lake, place);
  expect(cache.find(snapshot, file)).toBeUndefined();
  cache.discard(snapshot, file);
  await cache.build(snapshot, [file]);
  expect(cache.find(snapshot, file)).toBeUndefined();
  rmSync(place.folder, { recursive: true });
  writeFileSync(place.folder, "a file");
  expect(cache.find(snapshot, file)).toBeUndefined();
});

// Only root can give a file to another user.
test.runIf(process.getuid?.() === 0)(
  "a segment of another user is neither used, nor deleted, nor replaced",
  async () => {
    const { lake, snapshot } = await threeFiles();
    const root = temporaryFolder();
    const place = { root, folder: root };
    const files = [...snapshot.files.values()];
    const [file] = files;
    if (file === undefined) throw new Error("no file was landed");
    {
      await using builder = new SegmentCache(lake, place);
      await builder.build(snapshot, files);
    }
    const path = segmentFolder(place, lake.clock).pathOf(snapshot, file);
    const content = readFileSync(path);
    chownSync(path, 12_345, 12_345);
    await using cache = new SegmentCache(lake, place);
    expect((await readBars(cache, snapshot, DEMAND)).missing).toEqual([file]);
    await cache.build(snapshot, files);
    expect(cache.find(snapshot, file)).toBeUndefined();
    expect(readFileSync(path)).toEqual(content);
  },
);
