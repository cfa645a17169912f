import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { digestIn, digestLine, digestsIn } from "../../../../src/dataset/store/dataset-files.js";

test("a list has the lines of sha256sum, and gives the digest of each path", () => {
  const digests = ["append-state.bin", "features/sh600519/close.day.bin"].map(
    (path) => [path, createHash("sha256").update(path).digest("hex")] as const,
  );
  const text = digests.map(([path, sha256]) => digestLine(path, sha256)).join("");
  expect(text).toBe(digests.map(([path, sha256]) => `${sha256}  ${path}\n`).join(""));
  expect([...digestsIn(text)]).toEqual(digests);
  for (const [path, sha256] of digests) expect(digestIn(text, path)).toBe(sha256);
  expect(digestIn(text, "close.day.bin")).toBeUndefined();
  expect(digestsIn("")).toEqual(new Map());
});
