import { createHash } from "node:crypto";

/** The hash of a file's content, and its size. */
export interface ContentHash {
  /** The first 64 bits of the SHA-256, as 16 hexadecimal digits: part of the file's name. */
  readonly hash: string;
  /** The whole SHA-256, as 64 hexadecimal digits. */
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Reads a file to its end, and returns the hash and size of its content.
 *
 * @param signal ends it at the next piece. @throws what reading throws; the signal's reason.
 */
export async function contentHash(
  pieces: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<ContentHash> {
  const hasher = new ContentHasher();
  for await (const piece of pieces) {
    signal?.throwIfAborted();
    hasher.update(piece);
  }
  return hasher.digest();
}

export class ContentHasher {
  readonly #hash = createHash("sha256");
  #bytes = 0;

  update(piece: Uint8Array): void {
    this.#hash.update(piece);
    this.#bytes += piece.length;
  }

  /** The hash of all pieces; no piece can be added afterwards. */
  digest(): ContentHash {
    const sha256 = this.#hash.digest("hex");
    return { hash: sha256.slice(0, 16), sha256, bytes: this.#bytes };
  }
}
