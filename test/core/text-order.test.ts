import fc from "fast-check";
import { expect, test } from "vitest";
import { compareText } from "../../src/core/text-order.js";

test("texts are compared as their UTF-8 bytes are", () => {
  const anyText = fc.string({
    unit: fc.constantFrom("a", "é", "Z", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "😀", "\u{10ffff}"),
  });
  fc.assert(
    fc.property(anyText, anyText, (a, b) => {
      const expected = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect(Math.sign(compareText(a, b))).toBe(expected);
    }),
    { numRuns: 1000 },
  );
});
