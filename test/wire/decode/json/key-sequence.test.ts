import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeySequence } from "../../../../src/wire/decode/json/json-scanner.js";
import { utf8 } from "../../chunks.js";

/** Reads keys as the scanner does. @returns the texts, and how many of them were recognized by their bytes. */
function read(keys: readonly string[]): { readonly texts: readonly string[]; readonly recognized: number } {
  const sequence = new KeySequence();
  let recognized = 0;
  const texts = keys.map((key) => {
    const bytes = utf8(`${JSON.stringify(key)}:`);
    const known = sequence.match(bytes, 0, bytes.length);
    if (known === undefined) sequence.add(key, bytes, 0, bytes.length - 1);
    else {
      recognized += 1;
      expect(sequence.length).toBe(bytes.length - 1);
    }
    return known ?? key;
  });
  return { texts, recognized };
}

describe("keys of a level", () => {
  test("are recognized from the second object on", () => {
    const names = ["timestamp", "open", "close"];
    const { texts, recognized } = read([...names, ...names, ...names]);
    expect(texts).toEqual([...names, ...names, ...names]);
    // The first key of the second object follows the last one of the first for the first time.
    expect(recognized).toBe(5);
  });

  test("are never taken for another, in any order", () => {
    const anyKey = fc.constantFrom("a", "ab", "abc", "b", 'a"', "é", "", "a\\", "x".repeat(80));
    fc.assert(
      fc.property(fc.array(anyKey, { maxLength: 60 }), (keys) => {
        expect(read(keys).texts).toEqual(keys);
      }),
    );
  });

  test("are remembered up to a number: names of symbols do not fill the memory", () => {
    const symbols = Array.from({ length: 5000 }, (_, k) => `${600_000 + k}.SH`);
    const { texts, recognized } = read([...symbols, ...symbols]);
    expect(texts).toEqual([...symbols, ...symbols]);
    expect(recognized).toBeLessThan(32);
  });

  test("that are cut off are not recognized", () => {
    const sequence = new KeySequence();
    const bytes = utf8('"open""open"');
    sequence.add("open", bytes, 0, 6);
    sequence.add("open", bytes, 0, 6);
    expect(sequence.match(bytes, 6, 11)).toBeUndefined();
    expect(sequence.match(bytes, 6, 12)).toBe("open");
  });
});
