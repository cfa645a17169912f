import { EventEmitter } from "node:events";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { type BarsDemand, BLOCK_COLUMNS } from "../../../src/lake/segments/block.js";
import { type BlockPlace, BlockThread, ThreadEnded } from "../../../src/lake/segments/block-thread.js";
import { readBars } from "../../../src/lake/segments/read-bars.js";
import { SegmentCache } from "../../../src/lake/segments/segment-cache.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { landRows, newLake } from "../../serve/served-lake.js";
import { temporaryFolder } from "../temporary-lake.js";

const CONTENT = Uint8Array.from({ length: 100_000 }, (_, at) => (at * at) >> 3);

/** An open file with {@link CONTENT}. */
function openFile(): number {
  const path = join(temporaryFolder(), "file");
  writeFileSync(path, CONTENT);
  const descriptor = openSync(path, "r");
  onTestFinished(() => closeSync(descriptor));
  return descriptor;
}

const placeIn = (descriptor: number, offset: number, length: number): BlockPlace => ({
  descriptor,
  offset,
  length,
  checksum: crc32(CONTENT.subarray(offset, offset + length)),
});

test("reads of many at the same time each get their blocks, in the order of the places", async () => {
  const descriptor = openFile();
  await using thread = new BlockThread();
  const anyPlaces = fc.array(fc.tuple(fc.nat(90_000), fc.integer({ min: 1, max: 9999 })), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.array(anyPlaces, { maxLength: 6 }), async (reads) => {
      await Promise.all(
        reads.map(async (places) => {
          const blocks = await thread.read(places.map((place) => placeIn(descriptor, ...place)));
          expect(blocks.failed).toBe(-1);
          const expected = places.map(([offset, length]) => CONTENT.subarray(offset, offset + length));
          const bytes = Buffer.concat(expected);
          expect(Buffer.compare(Buffer.from(blocks.memory, 0, bytes.length), bytes)).toBe(0);
          thread.giveBack(blocks);
        }),
      );
    }),
  );
});

test("the first block that is not what was written, or cannot be read, is named", async () => {
  const descriptor = openFile();
  await using thread = new BlockThread();
  const good = placeIn(descriptor, 10, 1000);
  const changed = { ...good, checksum: good.checksum ^ 1 };
  const beyond = { ...good, offset: CONTENT.length - 10 };
  const closed = { ...good, descriptor: 100_000 };
  for (const bad of [changed, beyond, closed]) {
    expect((await thread.read([good, good, bad, bad])).failed).toBe(2);
    expect((await thread.read([good])).failed).toBe(-1);
  }
});

test("a read for which there is no memory fails alone", async () => {
  const descriptor = openFile();
  await using thread = new BlockThread();
  const good = placeIn(descriptor, 10, 1000);
  const before = thread.read([good]);
  await expect(thread.read([{ ...good, length: 2 ** 52 }])).rejects.toThrow(RangeError);
  expect([(await before).failed, (await thread.read([good])).failed]).toEqual([-1, -1]);
});

test("after its end, and when it ends during a read, the error says so", async () => {
  const descriptor = openFile();
  const thread = new BlockThread();
  const places = Array.from({ length: 2000 }, () => placeIn(descriptor, 0, CONTENT.length));
  const reads = [thread.read(places), thread.read(places)];
  const outcomes = Promise.allSettled(reads);
  await thread[Symbol.asyncDispose]();
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(ThreadEnded) });
  await expect(thread.read(places)).rejects.toThrow(ThreadEnded);
  expect(thread.hasEnded).toBe(true);
});

test("the thread has few reads at the same time: the others wait, in their order", async () => {
  const sent: number[] = [];
  const worker = Object.assign(new EventEmitter(), {
    ref: () => {},
    unref: () => {},
    terminate: () => Promise.resolve(0),
    postMessage: ({ places }: { places: Float64Array }) => void sent.push(places[1] as number),
  });
  await using thread = new BlockThread(() => worker as unknown as Worker);
  const outcomes: string[] = [];
  const reads = Array.from({ length: 10 }, (_, offset) =>
    thread.read([{ descriptor: 0, offset, length: 1, checksum: 0 }]).then(
      ({ failed }) => outcomes.push(`${offset} ${failed}`),
      (error: unknown) => outcomes.push(`${offset} ${(error as Error).message}`),
    ),
  );
  const reply = (failed: number): unknown => worker.emit("message", { memory: new ArrayBuffer(1), failed });
  expect(sent).toEqual([0, 1, 2, 3]);
  for (let read = 0; read < 5; read++) reply(read);
  expect(sent).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  worker.emit("error", new Error("too little memory"));
  await Promise.all(reads);
  const ended = [5, 6, 7, 8, 9].map((read) => `${read} too little memory`);
  expect(outcomes).toEqual([...[0, 1, 2, 3, 4].map((read) => `${read} ${read}`), ...ended]);
  expect(sent).toHaveLength(9);
});

/** A thread where the system permits no more of them. */
const refused = (): BlockThread =>
  new BlockThread(() => {
    throw new Error("no more threads");
  });

test("where no thread can be started, the error says so, and it is not tried again", async () => {
  await using thread = refused();
  const place = placeIn(openFile(), 0, 1000);
  await expect(thread.read([place])).rejects.toThrow(ThreadEnded);
  expect(thread.hasEnded).toBe(true);
  await expect(thread.read([place])).rejects.toThrow(ThreadEnded);
});

const SYMBOLS = Array.from({ length: 30 }, (_, k) => `${600_000 + k}.SH`);
const FIRST = Date.parse("2024-06-02T16:00:00Z");

/** Segments of daily bars of two years, 600 KB. */
async function twoYears() {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  const bars = SYMBOLS.flatMap((symbol, k) =>
    Array.from({ length: 300 }, (_, day) => {
      const open = 10 + k + day / 100;
      const prices = { open, high: open + 1, low: open - 1, close: open + 0.5, amount: 1 };
      const prev_close = (day + k) % 7 === 0 ? null : open;
      return { symbol, timestamp: FIRST + day * 86_400_000, ...prices, volume: k * day, prev_close };
    }),
  );
  await landRows(lake, BARS_1D, bars);
  const snapshot = await lake.snapshot(BARS_1D);
  const root = temporaryFolder();
  const cache = new SegmentCache(lake, { root, folder: root });
  onTestFinished(() => cache[Symbol.asyncDispose]());
  await cache.build(snapshot, [...snapshot.files.values()]);
  return { cache, snapshot, root };
}

const demandOf = (first: number, days: number): BarsDemand => ({
  symbols: SYMBOLS,
  by: "time",
  rangeOf: (symbol) => {
    const from = (FIRST + (first + SYMBOLS.indexOf(symbol)) * 86_400_000) * 1000;
    return { from, to: from + days * 86_400_000_000 };
  },
  columns: new Set(BLOCK_COLUMNS.map(({ name }) => name)),
});

/** What was read, in a form that can be compared. */
const factsOf = ({ bars }: Awaited<ReturnType<typeof readBars>>) =>
  bars && {
    rows: bars.rows,
    runs: bars.runs,
    columns: [...bars.columns].map(([name, { buffer, validity }]) => {
      const width = BLOCK_COLUMNS.find((one) => one.name === name)?.width as number;
      const present = Array.from({ length: bars.rows }, (_, row) =>
        validity === undefined ? 1 : ((validity[row >> 3] as number) >> (row & 7)) & 1,
      );
      return [name, Buffer.from(buffer, 0, bars.rows * width).toString("hex"), present.join("")];
    }),
  };

test("bars are the same with a thread and without, also where it ends, and damage is found", async () => {
  const { cache, snapshot, root } = await twoYears();
  await using thread = new BlockThread();
  for (const demand of [demandOf(0, 1000), demandOf(100, 150), demandOf(-10, 60), demandOf(1000, 10)]) {
    const expected = factsOf(await readBars(cache, snapshot, demand));
    expect(expected).toBeDefined();
    expect(factsOf(await readBars(cache, snapshot, demand, thread))).toEqual(expected);
    const ended = new BlockThread();
    const reading = readBars(cache, snapshot, demand, ended);
    await ended[Symbol.asyncDispose]();
    expect(factsOf(await reading)).toEqual(expected);
    expect(factsOf(await readBars(cache, snapshot, demand, ended))).toEqual(expected);
    expect(factsOf(await readBars(cache, snapshot, demand, refused()))).toEqual(expected);
  }
  const files = await readdir(root, { recursive: true, withFileTypes: true });
  const [path = ""] = files.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  const bytes = await readFile(path);
  bytes[5000] = (bytes[5000] as number) ^ 4;
  await writeFile(path, bytes);
  const found = await readBars(cache, snapshot, demandOf(0, 1000), thread);
  expect(found).toMatchObject({ isPartial: true, missing: [expect.anything()] });
});
