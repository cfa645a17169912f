import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifyOnce } from "../../../src/lake/files/verify-content.js";
import type { DataFile } from "../../../src/lake/log/snapshot.js";
import { BLOCK_COLUMNS, columnOffsets } from "../../../src/lake/segments/block.js";
import { buildSegment, identityOf } from "../../../src/lake/segments/build-segment.js";
import {
  DamagedSegment,
  ForeignSegment,
  magicOf,
  SegmentFile,
} from "../../../src/lake/segments/segment-file.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../temporary-lake.js";

const NEVER = new AbortController().signal;

/** The segment of a small data file: its path, and the identity of the file. */
async function smallSegment(): Promise<{ readonly path: string; readonly identity: string }> {
  const session = await openSession();
  const lake = temporaryLake();
  const days = [1, 2, 3].map((day) => ({ at: `2026-03-0${day}T16:00:00Z`, close: 10 + day / 4 }));
  await land(session, lake, BARS_1D, [...days, { symbol: "000001.SZ", at: "2026-03-02T16:00:00Z" }]);
  const snapshot = await lake.snapshot(BARS_1D);
  const [file] = [...snapshot.files.values()];
  if (file === undefined) throw new Error("no file was landed");
  const path = join(temporaryFolder(), "one.bars");
  await buildSegment(session, lake, snapshot, file, path, NEVER);
  return { path, identity: identityOf(snapshot, file) };
}

/** Everything that a segment gives. */
function contentOf(path: string, identity: string): unknown {
  using segment = SegmentFile.open(path, identity);
  return segment?.index.symbols.map((symbol, entry) => {
    const entries = segment.entriesOf(symbol);
    return [symbol, entries, segment.index.rows[entry], Buffer.from(segment.read(entry)).toString("hex")];
  });
}

test("has a block for each symbol, and knows no other", async () => {
  const { path, identity } = await smallSegment();
  using segment = SegmentFile.open(path, identity);
  expect(segment?.index.symbols).toEqual(["000001.SZ", "600519.SH"]);
  expect([...(segment?.index.rows ?? [])]).toEqual([1, 3]);
  expect(segment?.entriesOf("600519.SH")).toEqual({ first: 1, end: 2 });
  expect(segment?.entriesOf("600518.SH")).toEqual({ first: 1, end: 1 });
  const block = segment?.read(1) as Uint8Array;
  expect(columnOffsets(block, 3).at(-1)).toBe(block.length);
  expect(SegmentFile.open(`${path}.none`, identity)).toBeUndefined();
});

test("has the minutes of a file's last day in blocks of their own", async () => {
  const session = await openSession();
  const lake = temporaryLake();
  await land(session, lake, BARS_1M, [
    ...["01T01:31", "01T01:32", "02T01:31"].map((time) => ({ at: `2026-03-${time}:00Z` })),
    { symbol: "000001.SZ", at: "2026-03-01T01:31:00Z" },
    { symbol: "600000.SH", at: "2026-03-02T01:31:00Z" },
  ]);
  const snapshot = await lake.snapshot(BARS_1M);
  const file = [...snapshot.files.values()][0] as DataFile;
  const path = join(temporaryFolder(), "minutes.bars");
  await buildSegment(session, lake, snapshot, file, path, NEVER);
  using segment = SegmentFile.open(path, identityOf(snapshot, file)) as SegmentFile;
  expect(segment.index.symbols).toEqual(["000001.SZ", "600000.SH", "600519.SH", "600519.SH"]);
  expect([...segment.index.rows]).toEqual([1, 1, 2, 1]);
  expect(segment.entriesOf("600519.SH")).toEqual({ first: 2, end: 4 });
  const [first, second] = [...segment.index.firstDays].slice(2);
  expect((second as number) - (first as number)).toBe(1);
});

test("no changed bit, and no missing end, is ever taken for content", async () => {
  const { path, identity } = await smallSegment();
  const whole = readFileSync(path);
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole);
    changed[at] = (whole[at] as number) ^ (1 << (at % 8));
    writeFileSync(path, changed);
    expect(() => contentOf(path, identity), `byte ${at}`).toThrow(DamagedSegment);
    if (at % 5 > 0) continue;
    writeFileSync(path, whole.subarray(0, at));
    expect(() => contentOf(path, identity), `${at} bytes`).toThrow(DamagedSegment);
  }
});

test("is not taken for that of another data file", async () => {
  const [one, other] = [await smallSegment(), await smallSegment()];
  expect(one.identity).not.toBe(other.identity);
  expect(() => contentOf(one.path, other.identity)).toThrow(DamagedSegment);
});

test("is not built of a file that was damaged after a read of this process had verified it", async () => {
  const session = await openSession();
  const [lake, other] = [temporaryLake(), temporaryLake()];
  const fileOf = async (of: typeof lake, close: number) => {
    await land(session, of, BARS_1D, [{ at: "2026-03-01T16:00:00Z", close }]);
    const snapshot = await of.snapshot(BARS_1D);
    const [file] = [...snapshot.files.values()];
    if (file === undefined) throw new Error("no file was landed");
    return { snapshot, file, path: join(of.location, BARS_1D.name, file.path) };
  };
  const [{ snapshot, file, path }, another] = [await fileOf(lake, 10.5), await fileOf(other, 11.5)];
  await verifyOnce(lake, snapshot, [file]);
  copyFileSync(another.path, path);
  const target = join(temporaryFolder(), "one.bars");
  await expect(buildSegment(session, lake, snapshot, file, target, NEVER)).rejects.toThrow(
    "is not what was written",
  );
  expect(existsSync(target)).toBe(false);
});

test("is not one of blocks with other columns: each change of their list has another number", () => {
  const [first, second, ...rest] = BLOCK_COLUMNS;
  if (first === undefined || second === undefined) throw new Error("there are no columns");
  const lists = [
    BLOCK_COLUMNS,
    [second, first, ...rest],
    [second, ...rest],
    [...BLOCK_COLUMNS, { ...first, name: "other" }],
    [{ ...first, name: `${first.name}_` }, second, ...rest],
    [{ ...first, type: "string" as const }, second, ...rest],
    [{ ...first, width: first.width === 8 ? (4 as const) : (8 as const) }, second, ...rest],
  ];
  expect(new Set(lists.map(magicOf)).size).toBe(lists.length);
});

test("is written for its user only, and not read where other users may write it", async () => {
  const { path, identity } = await smallSegment();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  for (const mode of [0o620, 0o602, 0o666]) {
    chmodSync(path, mode);
    expect(() => contentOf(path, identity), mode.toString(8)).toThrow(DamagedSegment);
  }
  chmodSync(path, 0o644);
  expect(contentOf(path, identity)).toHaveLength(2);
});

// Only root can give a file to another user.
test.runIf(process.getuid?.() === 0)("is not read where it belongs to another user", async () => {
  const { path, identity } = await smallSegment();
  chownSync(path, 12_345, 12_345);
  expect(() => contentOf(path, identity)).toThrow(ForeignSegment);
});
