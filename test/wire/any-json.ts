import fc from "fast-check";
import { unicodeText } from "../unicode-text.js";

/** Documents with much of what is awkward: odd numbers, escapes, all sorts of whitespace. */
export const anyNumberText = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constant("0"), fc.bigInt({ min: 1n, max: 10n ** 22n }).map(String)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^\.[0-9]{1,24}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?[0-9]{1,3}$/)),
  )
  .map((parts) => parts.join(""));
export const anyStringText = fc.oneof(
  unicodeText().map((text) => JSON.stringify(text)),
  fc
    .array(
      fc.constantFrom(
        "a",
        "é",
        "😀",
        "\\n",
        '\\"',
        "\\\\",
        "\\/",
        "\\u0041",
        "\\uD83D\\uDE00",
        "\\ud800",
        "\\u0000",
      ),
    )
    .map((parts) => `"${parts.join("")}"`),
);
export const anySpace = fc.constantFrom("", "", "", " ", "\n", "\t\r ");
export const { anyText } = fc.letrec<{ anyText: string; anyArray: string; anyObject: string }>((tie) => ({
  anyText: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(anyNumberText, anyStringText, fc.constantFrom("true", "false", "null")),
    tie("anyArray"),
    tie("anyObject"),
    fc.array(anyNumberText, { maxLength: 40 }).map((numbers) => `[${numbers.join(",")}]`),
    fc.array(fc.integer().map(String)).map((numbers) => `[${numbers.join(", ")}]`),
  ),
  anyArray: fc
    .array(fc.tuple(anySpace, tie("anyText"), anySpace))
    .map((items) => `[${items.map((item) => item.join("")).join(",")}]`),
  anyObject: fc
    .uniqueArray(fc.tuple(anySpace, anyStringText, anySpace, tie("anyText")), {
      selector: ([, key]) => JSON.parse(key) as string,
    })
    .map(
      (members) =>
        `{${members.map(([space, key, gap, value]) => `${space}${key}${gap}:${space}${value}`).join(",")}}`,
    ),
}));

/** Documents that end at once, and such that end long after their value: the fast way through numbers keeps off the end. */
export const anyDocument = fc
  .tuple(anyText, fc.constantFrom("", " ".repeat(64)))
  .map((parts) => parts.join(""));

/** A change of one byte: at a place (modulo the length), to a value; `digit` changes the next digit to another one. */
export type Change = readonly [place: number, byte: number, how: "replace" | "insert" | "delete" | "digit"];

/** Changes of a few bytes, often to one that means something in JSON. */
export const anyChanges: fc.Arbitrary<Change[]> = fc.array(
  fc.tuple(
    fc.nat(),
    fc.oneof(fc.nat(255), fc.constantFrom(...new TextEncoder().encode('{}[]",:\\-+.0123eEnu '))),
    fc.constantFrom("replace", "insert", "delete", "digit", "digit", "digit"),
  ),
  { minLength: 1, maxLength: 3 },
);

/** Applies changes, one after the other. */
export function changed(bytes: Uint8Array, changes: readonly Change[]): Uint8Array {
  const copy = [...bytes];
  for (const [place, byte, how] of changes) {
    const at = place % (copy.length + 1);
    if (how === "insert") copy.splice(at, 0, byte);
    else if (how === "delete") copy.splice(at, 1);
    else if (how === "replace") copy.splice(at, 1, byte);
    else {
      const digit = copy.findIndex((value, index) => index >= at && isDigit(value));
      if (digit >= 0) copy[digit] = 0x30 + (byte % 10);
    }
  }
  return Uint8Array.from(copy);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
