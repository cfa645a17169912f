import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
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
const crcOf = (bytes: Uint8Array): string =>
  `# crc32 ${crc32(bytes).toString(16).padStart(8, "0")} ${bytes.length}`;
const floats = (...numbers: number[]): Buffer => Buffer.from(Float32Array.from(numbers).buffer);
/** What a thread reports of files, in the order in which they are written. */
const reportOf = (
  files: readonly (readonly [path: string, bytes: Buffer])[],
  of: (bytes: Uint8Array) => string = digestOf,
) => ({
  bytes: files.reduce((sum, [, bytes]) => sum + bytes.length, 0),
  lines: files.map(([path, bytes]) => `${of(bytes)}  ${path}\n`).join(""),
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
  expect(written).toEqual(reportOf(expected, crcOf));
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

test("cells are written after those that the list says a file has; new files go to the thread's folder", async () => {
  const earlier = temporaryFolder();
  const before = floats(3, 1.5, 2.5);
  const put = (path: string, bytes: Uint8Array): void => {
    mkdirSync(join(earlier, path, ".."), { recursive: true });
    writeFileSync(join(earlier, path), bytes);
  };
  for (const path of ["same/x.bin", "more/x.bin", "left/x.bin", "longer/x.bin", "damaged/x.bin"])
    put(path, before);
  // What an append that was stopped has left, in part, or with more days than this one.
  appendFileSync(join(earlier, "left/x.bin"), floats(6).subarray(0, 3));
  appendFileSync(join(earlier, "longer/x.bin"), floats(6, 6, 6));
  appendFileSync(join(earlier, "same/x.bin"), floats(6));
  put("short/x.bin", before.subarray(0, 11));
  put("damaged/x.bin", floats(3, 1.5, 99));
  // The lines of a thread need not follow each other.
  const paths = ["same", "longer", "more", "left", "damaged", "short", "gone"];
  const list = [
    `${digestOf("else")}  hashed/x.bin\n`,
    ...paths.map((path) => `${crcOf(before)}  ${path}/x.bin\n`),
  ].join("");
  const folder = temporaryFolder();
  const thread = new FileThread(folder, { folder: earlier, list });
  onTestFinished(() => thread.close());
  const columns = [{ name: "x.bin", cells: shared(Float32Array.of(9, 8, 7)) }];
  const folders = ["more", "left", "same", "longer", "new", "damaged"];
  const [none, heads] = [Number.NaN, new Float64Array(6)];
  heads.set([none, none, none, none, 4, none]);
  const written = await thread.write({
    folders,
    heads,
    starts: Float64Array.of(1, 1, 2, 1, 0, 1),
    ends: Float64Array.of(3, 3, 2, 3, 1, 3),
    columns,
  });
  const grown = Buffer.concat([before, floats(8, 7)]);
  // The digest is of what was written, also of a file that is no longer so.
  const expected = [grown, grown, before, grown, floats(4, 9), grown].map(
    (bytes, n) => [`${folders[n]}/x.bin`, bytes] as const,
  );
  expect(written).toEqual(reportOf(expected, crcOf));
  for (const [path, bytes] of expected.slice(0, 4))
    expect(readFileSync(join(earlier, path)), path).toEqual(bytes);
  expect(readFileSync(join(folder, "new/x.bin"))).toEqual(floats(4, 9));
  expect(existsSync(join(folder, "more"))).toBe(false);
  for (const path of ["short", "gone", "unknown", "hashed"])
    await expect(
      thread.write({
        folders: [path],
        heads: Float64Array.of(none),
        starts: Float64Array.of(0),
        ends: Float64Array.of(3),
        columns,
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
