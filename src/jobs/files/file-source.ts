import { createHash, randomUUID } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf, UsageError } from "../../core/errors.js";
import type { Lake } from "../../lake/lake.js";
import type { WorkFolder } from "../../lake/local/work-folder.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import type { StorePlace } from "../../object-store/store-place.js";

/** A file in the place that a pipeline reads. */
export interface FoundFile {
  /** Relative to the place, with `/` between its parts. */
  readonly name: string;
  readonly size: number;
  /** Differs after a change of the file: its times and its number on the disk, or the tag of its content in a store. */
  readonly stamp: string;
  /** When it was changed last, in epoch milliseconds by the clock of its place. */
  readonly changedAt: number;
}

export interface ReadContent {
  /** In hexadecimal. */
  readonly sha256: string;
  /** The file of this machine that has it; its name without folders is that of the file. */
  readonly path: string;
  release(): Promise<void>;
}

/** A place with files: a folder of this machine, or a prefix of a bucket. */
export interface FileSource extends AsyncDisposable {
  /**
   * Whether the stamp of a file follows from its content, as a tag of a store does. Those of a disk have times, which
   * programs can set and which may be as old as the change before.
   */
  readonly hasTags: boolean;
  /** The place, as reports name it. */
  readonly location: string;
  /** The folder of this machine under which the content of files is read, by their names. */
  readonly root: string;
  /** All files, in any order. @throws {UsageError} where the place cannot be listed. */
  list(): Promise<readonly FoundFile[]>;
  /** The file as it is now; undefined where it is gone. */
  find(name: string): Promise<FoundFile | undefined>;
  /** Reads a file. @returns undefined where it is gone. @throws {Error} where it cannot be read. */
  read(name: string, signal: AbortSignal): Promise<ReadContent | undefined>;
}

/** Bytes of a file that are hashed at once. */
const PIECE_BYTES = 1 << 20;

/** The files in a folder of this machine. Links to files are followed, links to folders are not. */
function folderSource(folder: string, isMeant: (name: string) => boolean): FileSource {
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

/**
 * The objects under a prefix of a bucket. The credentials are found as the AWS tools find them, and are in no message. To
 * read an object, it is copied into the work folder.
 */
function storeSource(place: StorePlace, isMeant: (name: string) => boolean, work: WorkFolder): FileSource {
  const { store } = place;
  const prefix = place.keyOf("");
  const root = join(work.staging, randomUUID());
  const listed = async (): Promise<FoundFile[]> => {
    const found: FoundFile[] = [];
    for await (const { objects } of store.list({ prefix }))
      for (const { key, size, modifiedAt, etag } of objects) {
        const name = key.slice(prefix.length);
        if (isMeant(name))
          found.push({ name, size, stamp: stampOf(etag, modifiedAt), changedAt: modifiedAt });
      }
    return found;
  };
  return {
    hasTags: true,
    location: place.url,
    root,
    list: () =>
      listed().catch((cause: unknown) => {
        throw new UsageError(`${place.url}: cannot be listed: ${messageOf(cause)}`, {
          hint: (cause as { hint?: string }).hint,
          cause,
        });
      }),
    async find(name) {
      const facts = await store.head(place.keyOf(name));
      if (facts === undefined) return undefined;
      const { size, etag, modifiedAt } = facts;
      return { name, size, stamp: stampOf(etag, modifiedAt), changedAt: modifiedAt };
    },
    async read(name, signal) {
      const pieces = await store.getStream(place.keyOf(name));
      if (pieces === undefined) return undefined;
      const hash = createHash("sha256");
      const path = join(root, name);
      await mkdir(dirname(path), { recursive: true });
      const hashed = async function* (): AsyncGenerator<Uint8Array> {
        for await (const piece of pieces) {
          signal.throwIfAborted();
          hash.update(piece);
          yield piece;
        }
      };
      const release = (): Promise<void> => work.discard(path);
      try {
        await work.write(path, hashed());
      } catch (error) {
        await release();
        throw error;
      }
      return { sha256: hash.digest("hex"), path, release };
    },
    async [Symbol.asyncDispose]() {
      await rm(root, { recursive: true, force: true });
      await store.close();
    },
  };
}

/** Stores give a tag to each content. Where one is missing, the stamp is of the time of the write. */
function stampOf(etag: string | undefined, modifiedAt: number): string {
  return `${(etag ?? "").replaceAll('"', "")} ${modifiedAt}`;
}

/**
 * Opens the place of a pipeline's files. No request is sent yet.
 *
 * @param location a folder's path, or `s3://bucket/prefix`.
 * @throws {UsageError} for an address, or settings of a store, that are not valid.
 */
export async function openFileSource(
  location: string,
  isMeant: (name: string) => boolean,
  lake: Lake,
): Promise<FileSource> {
  if (!isObjectUrl(location)) return folderSource(location, isMeant);
  return storeSource(await lake.storePlace(location), isMeant, lake.work);
}
