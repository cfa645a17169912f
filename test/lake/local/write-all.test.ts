import { readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { writeAll } from "../../../src/lake/local/local-files.js";
import { temporaryFolder } from "../temporary-lake.js";

test("all pieces are written, also where the system writes a part of them", async () => {
  const path = join(temporaryFolder(), "file");
  const anyPieces = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(anyPieces, fc.integer({ min: 1, max: 9 }), async (pieces, most) => {
      const file = await open(path, "w");
      const slow = {
        async writev(given: Uint8Array[]) {
          const bytes = Buffer.concat(given).subarray(0, most);
          return file.write(bytes, 0, bytes.length);
        },
      } as unknown as FileHandle;
      await writeAll(slow, pieces);
      await file.close();
      expect(readFileSync(path)).toEqual(Buffer.concat(pieces));
    }),
    { numRuns: 50 },
  );
});

test("a system that writes nothing and reports no error is an error, and no endless loop", async () => {
  const full = { writev: async () => ({ bytesWritten: 0 }) } as unknown as FileHandle;
  await expect(writeAll(full, [Uint8Array.of(1)])).rejects.toThrow("0 bytes");
});
