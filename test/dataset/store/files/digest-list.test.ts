import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { digestIn, digestsIn, hasDigest } from "../../../../src/dataset/store/dataset-files.js";

const sha256 = createHash("sha256").update("text").digest("hex");
/** The check value of CRC-32 is that of these digits. */
const DIGITS = "123456789";
const CRC = "# crc32 cbf43926 9";

test("a list gives the digest of each path, of either kind", () => {
  const digests: [string, string][] = [
    ["append-state.bin", sha256],
    ["features/sh600519/close.day.bin", CRC],
    ["manifest", sha256],
  ];
  const text = digests.map(([path, digest]) => `${digest}  ${path}\n`).join("");
  expect([...digestsIn(text)]).toEqual(digests);
  for (const [path, digest] of digests) expect(digestIn(text, path)).toBe(digest);
  expect(digestIn(text, "close.day.bin")).toBeUndefined();
  expect(digestsIn("")).toEqual(new Map());
});

test.each([
  ["text", sha256, true, true],
  ["texts", sha256, false, false],
  [DIGITS, CRC, true, true],
  ["123456780", CRC, false, false],
  ["12345678", CRC, false, false],
  // What an append that was stopped has left after the bytes of the list.
  [`${DIGITS}0`, CRC, false, true],
])("%s has the digest %s: %s, and where more may follow %s", async (text, digest, isSame, isBegin) => {
  for (const size of [1, 4, 100]) {
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
    };
    expect(await hasDigest(pieces(), digest, { mayGoOn: false })).toBe(isSame);
    expect(await hasDigest(pieces(), digest, { mayGoOn: true })).toBe(isBegin);
  }
});
