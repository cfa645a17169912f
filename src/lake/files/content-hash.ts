import { createHash } from "node:crypto";
import type { ByteRange } from "../storage/storage.js";

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

/** Bytes after the footer of a Parquet file: the footer's length (4 bytes), and the letters `PAR1`. */
export const TRAILER_BYTES = 8;

/** The name of the digest among a file's tags in the log. */
export const FOOTER_TAG = "barlake.footer";

type ReadRange<T> = (range: ByteRange) => Promise<T>;

/**
 * A digest of a Parquet file's footer: its length in bytes with the trailer, and the first 64 bits of its SHA-256, as
 * in `1234-0123456789abcdef`.
 */
export async function footerDigest(read: ReadRange<Buffer>): Promise<string> {
  return digestOf(await readFooter(read));
}

export async function readFooter(read: ReadRange<Buffer>): Promise<Buffer> {
  const trailer = await read({ last: TRAILER_BYTES });
  return read({ last: trailer.readUInt32LE(0) + TRAILER_BYTES });
}

/**
 * Whether a file's footer matches a digest; undefined where the file does not exist. @throws where it cannot be read.
 */
export async function hasFooter(
  read: ReadRange<Buffer | undefined>,
  digest: string,
): Promise<boolean | undefined> {
  const footer = await read({ last: Number.parseInt(digest, 10) });
  return footer && digestOf(footer) === digest;
}

function digestOf(footer: Buffer): string {
  return `${footer.length}-${createHash("sha256").update(footer).digest("hex").slice(0, 16)}`;
}
