import { createHash, randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf, UsageError } from "../../core/errors.js";
import type { WorkFolder } from "../../lake/local/work-folder.js";
import type { StorePlace } from "../../object-store/store-place.js";
import type { FileSource, FoundFile } from "./file-source.js";

/**
 * The objects under a prefix of a bucket. The credentials are found as the AWS tools find them, and are in no message. To
 * read an object, it is copied into the work folder.
 */
export function storeSource(
  place: StorePlace,
  isMeant: (name: string) => boolean,
  work: WorkFolder,
): FileSource {
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
