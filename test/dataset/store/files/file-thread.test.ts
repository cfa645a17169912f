import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { EARLIER_FAULT, FileThread } from "../../../../src/dataset/store/files/file-thread.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";

function open(): { readonly folder: string; readonly thread: FileThread } {
  const folder = temporaryFolder();
  const thread = new FileThread(folder);
  onTestFinished(() => thread.close());
  return { folder, thread };
}

/** Cells in memory that threads share. */
function shared<T extends Float32Array | Uint8Array>(cells: T): T {
  const copy = cells.constructor as new (bytes: SharedArrayBuffer) => T;
  const made = new copy(new SharedArrayBuffer(cells.byteLength));
  made.set(cells);
  return made;
}

test("a thread writes texts, and numbers as 32-bit floats, and gives the size and the digest of each file", async () => {
  const { folder, thread } = open();
  const values = shared(Float32Array.of(1.5, Number.NaN, -3, 1e30, 7));
  const marks = shared(Uint8Array.of(0, 1, 1));
  const files = [
    { path: "a/b/text.csv", content: "Ä,1\n" },
    { path: "a/long.bin", content: { head: 17, cells: values, start: 0, end: 5 } },
    { path: "a/part.bin", content: { head: 2, cells: values, start: 1, end: 3 } },
    { path: "marks.bin", content: { head: 0, cells: marks, start: 0, end: 3 } },
    { path: "none.bin", content: { head: 4, cells: values, start: 2, end: 2 } },
  ];
  const { bytes, sha256 } = await thread.write(files);
  const floats = (...numbers: number[]) => Buffer.from(Float32Array.from(numbers).buffer);
  const expected = [
    Buffer.from("Ä,1\n"),
    floats(17, 1.5, Number.NaN, -3, 1e30, 7),
    floats(2, Number.NaN, -3),
    floats(0, 0, 1, 1),
    floats(4),
  ];
  expect(files.map(({ path }) => readFileSync(join(folder, path)))).toEqual(expected);
  expect(bytes).toEqual(expected.map((file) => file.length));
  expect(sha256).toEqual(expected.map((file) => createHash("sha256").update(file).digest("hex")));
});

test("an earlier file is continued, or gets a second name, where it has its digest", async () => {
  const { folder, thread } = open();
  const source = join(temporaryFolder(), "earlier.bin");
  const before = Buffer.from(Float32Array.of(3, 1.5, 2.5).buffer);
  writeFileSync(source, before);
  const sha256 = createHash("sha256").update(before).digest("hex");
  const head = { source, sha256 };
  const cells = shared(Float32Array.of(9, 8, 7));
  const written = await thread.write([
    { path: "same/one.bin", content: head },
    { path: "same/two.bin", content: { head, cells, start: 2, end: 2 } },
    { path: "more.bin", content: { head, cells, start: 1, end: 3 } },
  ]);
  const more = Buffer.concat([before, Buffer.from(Float32Array.of(8, 7).buffer)]);
  expect(written).toEqual({
    bytes: [12, 12, 20],
    sha256: [sha256, sha256, createHash("sha256").update(more).digest("hex")],
  });
  expect(readFileSync(join(folder, "more.bin"))).toEqual(more);
  for (const path of ["same/one.bin", "same/two.bin"])
    expect(statSync(join(folder, path)).ino).toBe(statSync(source).ino);
  for (const content of [
    { source, sha256: "0".repeat(64) },
    { source: `${source}.gone`, sha256 },
  ])
    for (const one of [content, { head: content, cells, start: 0, end: 3 }])
      await expect(thread.write([{ path: "other.bin", content: one }])).rejects.toMatchObject({
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
  expect((await thread.write([{ path: "next", content: "xyz" }])).bytes).toEqual([3]);
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
