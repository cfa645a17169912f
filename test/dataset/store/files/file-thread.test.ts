import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FileThread } from "../../../../src/dataset/store/files/file-thread.js";
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
