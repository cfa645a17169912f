import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { EARLIER_FAULT, FileThread } from "../../../../src/dataset/store/dataset-files.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";

function open(): { readonly folder: string; readonly thread: FileThread } {
  const folder = temporaryFolder();
  const thread = new FileThread(folder);
  onTestFinished(() => thread.close());
  return { folder, thread };
}

/** Cells in memory that threads share. */
function shared<T extends Float32Array | Float64Array | Uint8Array>(cells: T): T {
  const copy = cells.constructor as new (bytes: SharedArrayBuffer) => T;
  const made = new copy(new SharedArrayBuffer(cells.byteLength));
  made.set(cells);
  return made;
}

const digestOf = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");
const floats = (...numbers: number[]): Buffer => Buffer.from(Float32Array.from(numbers).buffer);
/** What a thread reports of files, in the order in which they are written. */
const reportOf = (files: readonly (readonly [path: string, bytes: Buffer])[]) => ({
  bytes: files.reduce((sum, [, bytes]) => sum + bytes.length, 0),
  lines: files.map(([path, bytes]) => `${digestOf(bytes)}  ${path}\n`).join(""),
});

test("a thread writes texts, and gives the size and the digest of each file", async () => {
  const { folder, thread } = open();
  const files = [
    { path: "a/b/text.csv", content: "Ä,1\n" },
    { path: "none.csv", content: "" },
  ];
  const written = await thread.write(files);
  expect(written).toEqual(reportOf(files.map(({ path, content }) => [path, Buffer.from(content)])));
  for (const { path, content } of files) expect(readFileSync(join(folder, path), "utf8")).toBe(content);
});

test("a thread writes a number and cells as 32-bit floats, and leaves the cells as they are", async () => {
  const { folder, thread } = open();
  const singles = [1.5, Number.NaN, -3, 1e30, 7, 0.1].map(Math.fround);
  // A part of the memory of cells, as that of blocks which are read together.
  const values = shared(Float32Array.from([0, ...singles])).subarray(1);
  const doubles = shared(Float64Array.from(singles));
  const marks = shared(Uint8Array.of(0, 1, 1, 0, 1, 0));
  // A NaN of other bits, before the first cell of a file.
  const words = new Uint32Array(values.buffer, values.byteOffset);
  words[4] = 0x7f800001;
  const before = words.slice();
  const written = await thread.write({
    folders: ["a/first", "a/inner", "none", "last"],
    heads: Float64Array.of(17, 2, 4, 5),
    starts: Float64Array.of(0, 1, 2, 5),
    ends: Float64Array.of(3, 4, 2, 6),
    columns: [
      { name: "value.bin", cells: values },
      { name: "double.bin", cells: doubles },
      { name: "mark.bin", cells: marks },
    ],
  });
  const of = (name: string, numbers: readonly number[]): [string, Buffer][] => [
    [`a/first/${name}`, floats(17, ...numbers.slice(0, 3))],
    [`a/inner/${name}`, floats(2, ...numbers.slice(1, 4))],
    [`none/${name}`, floats(4)],
    [`last/${name}`, floats(5, ...numbers.slice(5))],
  ];
  const columns = [of("value.bin", singles), of("double.bin", singles), of("mark.bin", [...marks])];
  const expected = [0, 1, 2, 3].flatMap((s) => columns.map((files) => files[s] as [string, Buffer]));
  expect(written).toEqual(reportOf(expected));
  for (const [path, bytes] of expected) expect(readFileSync(join(folder, path)), path).toEqual(bytes);
  expect(words).toEqual(before);
});

test("cells are as they were where a file of them cannot be written", async () => {
  const { folder, thread } = open();
  mkdirSync(join(folder, "a", "x.bin"), { recursive: true });
  const cells = shared(Float32Array.of(1, 2, 3));
  const [heads, starts, ends] = [Float64Array.of(9), Float64Array.of(1), Float64Array.of(3)];
  const files = { folders: ["a"], heads, starts, ends, columns: [{ name: "x.bin", cells }] };
  await expect(thread.write(files)).rejects.toMatchObject({ code: "EISDIR" });
  expect([...cells]).toEqual([1, 2, 3]);
});

test("an earlier file is continued, or gets a second name, where it has its digest", async () => {
  const earlier = temporaryFolder();
  const before = floats(3, 1.5, 2.5);
  // As large as the thread's memory for a file at first, but for one number; and larger than what follows it.
  const filling = floats(...Array.from({ length: 2 ** 15 - 1 }, (_, n) => n));
  const large = Buffer.concat(Array.from({ length: 5 }, () => filling));
  for (const path of ["same", "more", "changed", "unknown"]) {
    mkdirSync(join(earlier, path));
    writeFileSync(join(earlier, path, "x.bin"), before);
  }
  writeFileSync(join(earlier, "more", "y.bin"), large);
  writeFileSync(join(earlier, "same", "y.bin"), large);
  mkdirSync(join(earlier, "filling"));
  writeFileSync(join(earlier, "filling", "x.bin"), filling);
  const list = [
    ...["same", "more", "gone"].map((path) => `${digestOf(before)}  ${path}/x.bin\n`),
    ...["same", "more"].map((path) => `${digestOf(large)}  ${path}/y.bin\n`),
    `${digestOf(filling)}  filling/x.bin\n`,
    `${digestOf("else")}  changed/x.bin\n`,
  ].join("");
  const folder = temporaryFolder();
  const thread = new FileThread(folder, { folder: earlier, list });
  onTestFinished(() => thread.close());
  const cells = shared(Float32Array.of(9, 8, 7));
  const columns = [
    { name: "x.bin", cells },
    { name: "y.bin", cells },
  ];
  const filled = await thread.write({
    folders: ["filling"],
    heads: Float64Array.of(Number.NaN),
    starts: Float64Array.of(0),
    ends: Float64Array.of(3),
    columns: columns.slice(0, 1),
  });
  const afterFilling = Buffer.concat([filling, floats(9, 8, 7)]);
  expect(filled).toEqual(reportOf([["filling/x.bin", afterFilling]]));
  expect(readFileSync(join(folder, "filling", "x.bin"))).toEqual(afterFilling);
  const written = await thread.write({
    folders: ["same", "more", "new"],
    heads: Float64Array.of(Number.NaN, Number.NaN, 4),
    starts: Float64Array.of(2, 1, 0),
    ends: Float64Array.of(2, 3, 1),
    columns,
  });
  const files: [string, Buffer][] = [
    ["same/x.bin", before],
    ["same/y.bin", large],
    ["more/x.bin", Buffer.concat([before, floats(8, 7)])],
    ["more/y.bin", Buffer.concat([large, floats(8, 7)])],
    ["new/x.bin", floats(4, 9)],
    ["new/y.bin", floats(4, 9)],
  ];
  expect(written).toEqual(reportOf(files));
  for (const [path, bytes] of files) expect(readFileSync(join(folder, path)), path).toEqual(bytes);
  const inode = (path: string): number => statSync(path).ino;
  expect(inode(join(folder, "same/x.bin"))).toBe(inode(join(earlier, "same/x.bin")));
  expect(inode(join(folder, "more/x.bin"))).not.toBe(inode(join(earlier, "more/x.bin")));
  for (const path of ["changed", "unknown", "gone"])
    for (const end of [0, 3])
      await expect(
        thread.write({
          folders: [path],
          heads: Float64Array.of(Number.NaN),
          starts: Float64Array.of(0),
          ends: Float64Array.of(end),
          columns: columns.slice(0, 1),
        }),
      ).rejects.toMatchObject({ code: EARLIER_FAULT });
});

test("a file of an earlier dataset gets a second name where it has its digest", async () => {
  const { folder, thread } = open();
  const source = join(temporaryFolder(), "earlier.bin");
  writeFileSync(source, "bytes");
  const sha256 = digestOf("bytes");
  const written = await thread.write([{ path: "kept/one.bin", content: { source, sha256 } }]);
  expect(written).toEqual(reportOf([["kept/one.bin", Buffer.from("bytes")]]));
  expect(statSync(join(folder, "kept/one.bin")).ino).toBe(statSync(source).ino);
  for (const content of [
    { source, sha256: "0".repeat(64) },
    { source: `${source}.gone`, sha256 },
  ])
    await expect(thread.write([{ path: "other.bin", content }])).rejects.toMatchObject({
      code: EARLIER_FAULT,
    });
});

test("what the system reports of a file that cannot be written keeps its code, and the thread goes on", async () => {
  const { folder, thread } = open();
  writeFileSync(join(folder, "file"), "");
  mkdirSync(join(folder, "folder"));
  await expect(thread.write([{ path: "folder", content: "x" }])).rejects.toMatchObject({ code: "EISDIR" });
  await expect(thread.write([{ path: "file/below", content: "x" }])).rejects.toMatchObject({
    code: "EEXIST",
  });
  expect((await thread.write([{ path: "next", content: "xyz" }])).bytes).toBe(3);
});

test("files that are waited for when the thread ends are not reported as written", async () => {
  const { thread } = open();
  const many = Array.from({ length: 200 }, (_, n) => ({ path: `many/${n}`, content: "x".repeat(10_000) }));
  const written = thread.write(many);
  const failed = expect(written).rejects.toThrow(/abort/i);
  await thread.close();
  await failed;
  await expect(thread.write([{ path: "later", content: "x" }])).rejects.toThrow(/abort/i);
});
