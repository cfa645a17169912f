import { createHash } from "node:crypto";
import { open } from "node:fs/promises";

/** Bytes after the footer of a Parquet file: the footer's length, and four letters. */
export const TRAILER_BYTES = 8;

/** The name of the digest among a file's tags in the log. */
export const FOOTER_TAG = "barlake.footer";

/** The length of a Parquet file's footer with its trailer, and the first 64 bits of its SHA-256: `1234-0123456789abcdef`. */
export async function footerDigest(path: string): Promise<string> {
  const trailer = await lastBytes(path, TRAILER_BYTES);
  return digestOf(await lastBytes(path, trailer.readUInt32LE(0) + TRAILER_BYTES));
}

/** Whether a file ends with the footer of a digest. @throws where it cannot be read. */
export async function hasFooter(path: string, digest: string): Promise<boolean> {
  const length = Number.parseInt(digest, 10);
  return digestOf(await lastBytes(path, length)) === digest;
}

function digestOf(footer: Buffer): string {
  return `${footer.length}-${createHash("sha256").update(footer).digest("hex").slice(0, 16)}`;
}

/** The last bytes of a file; fewer where it is shorter. */
async function lastBytes(path: string, length: number): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(length, size));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, size - buffer.length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
