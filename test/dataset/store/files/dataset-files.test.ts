import { getEventListeners } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DatasetFiles, sha256Of, sha256OfFile } from "../../../../src/dataset/store/files/dataset-files.js";
import { PIECE_BYTES } from "../../../../src/dataset/store/files/file-thread.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";

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
