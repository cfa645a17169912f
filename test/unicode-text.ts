import fc from "fast-check";

/**
 * Any character of Unicode, of one to four bytes in UTF-8. The unit "binary" of fast-check is nearly always of four, and
 * lists all 1.1 million characters first, which takes 2 seconds in each process.
 */
const anyCharacter = fc.oneof(
  charactersOf(0, 0x7f),
  charactersOf(0x80, 0x7ff),
  charactersOf(0x800, 0xd7ff),
  charactersOf(0xe000, 0xffff),
  charactersOf(0x1_0000, 0x10_ffff),
);

/** Texts of any characters. */
export function unicodeText(constraints: Pick<fc.StringConstraints, "maxLength"> = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: anyCharacter });
}

/** The inverse lets fast-check put texts into a string that are often a danger, as `__proto__`. */
function charactersOf(min: number, max: number): fc.Arbitrary<string> {
  return fc.integer({ min, max }).map((code) => String.fromCodePoint(code), codeOf);
}

function codeOf(text: unknown): number {
  const code = String(text).codePointAt(0) ?? -1;
  if (text !== String.fromCodePoint(code)) throw new Error("more than a character");
  return code;
}
