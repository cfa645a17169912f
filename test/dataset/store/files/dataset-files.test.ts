import { hash } from "node:crypto";
import { getEventListeners } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import {
  DatasetFiles,
  PIECE_BYTES,
  sha256Of,
  sha256OfFile,
} from "../../../../src/dataset/store/dataset-files.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";

/** The digest of a file of floats in a list. */
function crcOf(bytes: Uint8Array): string {
  return `# crc32 ${crc32(bytes).toString(16).padStart(8, "0")} ${bytes.length}`;
}

/** A signal that is seen to abort when it is looked at for the second time. */
function abortedLater(reason: Error): AbortSignal {
  let looks = 0;
  const throwIfAborted = (): void => {
    looks += 1;
    if (looks > 1) throw reason;
  };
  return { throwIfAborted } as unknown as AbortSignal;
}

test("a large file is not read to its end for its digest once the signal has aborted", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "large"), new Uint8Array(3 * PIECE_BYTES));
  const reason = new Error("stopped by hand");
  await expect(
    sha256OfFile(join(folder, "large"), new Uint8Array(PIECE_BYTES), abortedLater(reason)),
  ).rejects.toBe(reason);
  await expect(new DatasetFiles(folder, abortedLater(reason)).adopt("large")).rejects.toBe(reason);
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    yield* [new Uint8Array(1), new Uint8Array(1), new Uint8Array(1)];
  };
  await expect(sha256Of(pieces(), abortedLater(reason))).rejects.toBe(reason);
});

test("nothing of the files remains at a signal that outlives them", async () => {
  const { signal } = new AbortController();
  const files = new DatasetFiles(temporaryFolder(), signal);
  await files.putAll([{ path: "a", content: "text" }]);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  await files.settle();
  await files.close();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("the list has the files of all calls, sorted by path, each with its digest", async () => {
  const folder = temporaryFolder();
  const files = new DatasetFiles(folder);
  onTestFinished(() => files.close());
  files.put("b.txt", "own");
  const cells = new Float32Array(new SharedArrayBuffer(8)).fill(1);
  const [folders, heads] = [["f/b", "f/a"], Float64Array.of(0, 1)];
  const columns = [
    { name: "y.bin", cells },
    { name: "x.bin", cells },
  ];
  await files.putAll({ folders, heads, starts: Float64Array.of(0, 1), ends: Float64Array.of(1, 2), columns });
  await files.putAll([{ path: "f/a.b", content: "text" }]);
  files.put("b.txt", "again");
  await files.settle();
  const paths = ["b.txt", "f/a.b", "f/a/x.bin", "f/a/y.bin", "f/b/x.bin", "f/b/y.bin"];
  const bytes = paths.map((path) => readFileSync(join(folder, path)));
  const lines = paths.map((path, n) => {
    const own = bytes[n] as Buffer;
    return `${path.endsWith(".bin") ? crcOf(own) : hash("sha256", own, "hex")}  ${path}\n`;
  });
  expect(files.list()).toEqual({
    files: 6,
    bytes: bytes.reduce((sum, { length }) => sum + length, 0),
    text: lines.join(""),
  });
  expect(["b.txt", "f/a.b", "other"].map((path) => files.has(path))).toEqual([true, true, false]);
});

test.each([1, 2, 3])("files of %d columns are all continued in their place", async (count) => {
  const earlier = temporaryFolder();
  const names = Array.from({ length: count }, (_, n) => `${n}.bin`);
  const before = Buffer.from(Float32Array.of(7, 8).buffer);
  const list = names.map((name) => `${crcOf(before)}  s/${name}\n`).join("");
  mkdirSync(join(earlier, "s"));
  for (const name of names) writeFileSync(join(earlier, "s", name), before);
  const files = new DatasetFiles(temporaryFolder(), undefined, { folder: earlier, list });
  onTestFinished(() => files.close());
  const cells = new Float32Array(new SharedArrayBuffer(8)).fill(1);
  const columns = names.map((name) => ({ name, cells }));
  const heads = Float64Array.of(Number.NaN);
  await files.putAll({
    folders: ["s"],
    heads,
    starts: Float64Array.of(1),
    ends: Float64Array.of(2),
    columns,
  });
  await files.settle();
  const expected = Buffer.concat([before, Buffer.from(Float32Array.of(1).buffer)]);
  const text = names.map((name) => `${crcOf(expected)}  s/${name}\n`).join("");
  expect(files.list()).toEqual({ files: count, bytes: count * 12, text });
  for (const name of names) expect(readFileSync(join(earlier, "s", name))).toEqual(expected);
});

test("an error of one thread is thrown once the other one uses the cells no longer", async () => {
  const [earlier, folder] = [temporaryFolder(), temporaryFolder()];
  const files = new DatasetFiles(folder, undefined, { folder: earlier, list: "" });
  onTestFinished(() => files.close());
  // One thread fails with its first file, the other one writes one file again and again.
  mkdirSync(join(folder, "s", "x.bin"), { recursive: true });
  const heads = Float64Array.from({ length: 10_000 }, (_, n) => n);
  const column = (name: string) => ({ name, cells: new Float32Array(new SharedArrayBuffer(4)) });
  await files.putAll({
    folders: Array.from(heads, () => "s"),
    heads,
    starts: new Float64Array(heads.length),
    ends: new Float64Array(heads.length),
    columns: [column("x.bin"), column("y.bin")],
  });
  await expect(files.settle()).rejects.toMatchObject({ code: "EISDIR" });
  expect(readFileSync(join(folder, "s", "y.bin"))).toEqual(Buffer.from(Float32Array.of(9999).buffer));
});
