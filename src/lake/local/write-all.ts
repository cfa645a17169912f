import type { FileHandle } from "node:fs/promises";

/**
 * Writes pieces one after the other, at the position of a file. On a disk that is nearly full, the system writes a part
 * and reports no error; only the next write fails.
 *
 * @throws {Error} where the system writes nothing and reports no error.
 */
export async function writeAll(file: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  let rest = pieces.filter(({ length }) => length > 0);
  while (rest.length > 0) {
    let { bytesWritten } = await file.writev(rest);
    if (bytesWritten === 0) throw new Error("the system wrote 0 bytes of a file");
    while (rest[0] !== undefined && bytesWritten >= rest[0].length) {
      bytesWritten -= rest[0].length;
      rest = rest.slice(1);
    }
    if (rest[0] !== undefined) rest = [rest[0].subarray(bytesWritten), ...rest.slice(1)];
  }
}
