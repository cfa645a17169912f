import { createHash, timingSafeEqual } from "node:crypto";

/** Says which key a header's text is: its index in the list of keys, or undefined where it is none of them. */
export type KeyCheck = (text: string) => number | undefined;

const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();

/**
 * Makes the check of API keys. Only their digests are kept and compared, each in constant time and always all of
 * them: how long a check takes tells nothing about a key.
 */
export function keyCheck(keys: readonly string[]): KeyCheck {
  const digests = keys.filter((key) => key !== "").map(digest);
  return (text) => {
    const given = digest(text);
    let found: number | undefined;
    for (const [index, known] of digests.entries()) if (timingSafeEqual(known, given)) found ??= index;
    return found;
  };
}
