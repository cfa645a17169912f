import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, UsageError } from "../../core/errors.js";
import type { FileSource, FoundFile } from "./file-source.js";

/** Bytes of a file that are hashed at once. */
const PIECE_BYTES = 1 << 20;

/** The files in a folder of this machine. Links to files are followed, links to folders are not. */
export function folderSource(folder: string, isMeant: (name: string) => boolean): FileSource {
  const pathOf = (name: string): string => join(folder, name);
  const find = async (name: string): Promise<FoundFile | undefined> => {
    try {
      const facts = await stat(pathOf(name), { bigint: true });
      return facts.isFile() ? foundFile(name, facts) : undefined;
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  };
  return {
    hasTags: false,
    location: folder,
    root: folder,
    find,
    async list() {
      const names: string[] = [];
      await addNames(folder, "", names).catch((cause: unknown) => {
        throw new UsageError(`folder ${folder}: cannot be listed: ${messageOf(cause)}`, {
          hint: "see that it exists, and that this user may read it; the path is relative to the working directory",
          cause,
        });
      });
      const found: FoundFile[] = [];
      for (const name of names) {
        if (!isMeant(name)) continue;
        const file = await find(name);
        if (file !== undefined) found.push(file);
      }
      return found;
    },
    async read(name, signal) {
      try {
        const path = pathOf(name);
        return { sha256: await hashOf(path, signal), path, release: async () => {} };
      } catch (error) {
        if (isGone(error)) return undefined;
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {},
  };
}

/**
 * A program can set a file's time of change, but not the time at which this was done, which is in the stamp, too. A file
 * that is written anew in place of another one has another number.
 */
function foundFile(name: string, { size, dev, ino, mtimeNs, ctimeNs }: BigIntStats): FoundFile {
  return {
    name,
    size: Number(size),
    stamp: `${dev} ${ino} ${mtimeNs} ${ctimeNs}`,
    changedAt: Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n),
  };
}

async function addNames(folder: string, under: string, names: string[]): Promise<void> {
  for (const entry of await readdir(join(folder, under), { withFileTypes: true })) {
    const name = `${under}${entry.name}`;
    if (entry.isDirectory()) await addNames(folder, `${name}/`, names).catch(unlessGone);
    else if (entry.isFile() || entry.isSymbolicLink()) names.push(name);
  }
}

async function hashOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const piece = Buffer.allocUnsafe(Math.max(1, Math.min(size, PIECE_BYTES)));
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(piece, 0, piece.length);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function unlessGone(error: unknown): void {
  if (!isGone(error)) throw error;
}
