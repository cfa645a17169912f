import { createHash } from "node:crypto";
import { LakeError } from "../../../core/errors.js";
import { hashInName } from "../../files/data-file.js";
import type { LakePlaces } from "../../local/work-folder.js";

/** A file that is copied. Its path, relative to the lake, is the same in the source and in the destination. */
export interface CopiedFile {
  readonly path: string;
  readonly size: number;
}

/** Whether a file was copied; `gone`: the source no longer has it. */
export type CopyOutcome = "copied" | "gone";

/**
 * Copies a file, and verifies it while it is copied: its size, and its content where the name has a hash. The
 * destination shows only a complete file. A file that it already has at the path has another size, and is replaced.
 *
 * @throws {LakeError} where the content of the source's file does not match its name, or has another size.
 */
export async function copyFile(
  from: LakePlaces,
  to: LakePlaces,
  { path, size }: CopiedFile,
  signal: AbortSignal | undefined,
): Promise<CopyOutcome> {
  const pieces = await from.storage.read(path);
  if (pieces === undefined) return "gone";
  const staged = await to.work.newFile("copy");
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    await to.work.write(
      staged,
      (async function* () {
        for await (const piece of pieces) {
          signal?.throwIfAborted();
          hash.update(piece);
          bytes += piece.length;
          yield piece;
        }
      })(),
    );
    const expected = hashInName(path);
    const sha256 = hash.digest("hex");
    const found = sha256.slice(0, 16);
    if (bytes !== size) throw damaged(from, path, `has ${bytes} bytes, and should have ${size}`);
    if (expected !== undefined && found !== expected)
      throw damaged(
        from,
        path,
        `is not what was written: its hash is ${found}, and its name says ${expected}`,
      );
    if (await to.storage.putFileIfAbsent(staged, path, sha256)) return "copied";
    await to.storage.delete(path);
    if (await to.storage.putFileIfAbsent(staged, path, sha256)) return "copied";
    throw new LakeError(`${to.storage.location}/${path}: another program writes it, too`, {
      hint: "end the other copy, then run this one again",
    });
  } finally {
    await to.work.discard(staged);
  }
}

function damaged({ storage }: LakePlaces, path: string, what: string): LakeError {
  return new LakeError(`${storage.location}/${path} ${what}: it was not copied`, {
    hint: "repair the lake that is copied (barlake repair), then run the copy again: it continues",
  });
}
