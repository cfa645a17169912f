import fc from "fast-check";
import { expect, test } from "vitest";
import { pathPart, textOfPart } from "../../../../src/ui/browser/address.js";

test("any text is one part of a path, as browsers read it, and comes back", () => {
  const dots = fc.stringMatching(/^~{0,3}\.{0,3}$/).filter((text) => text !== "");
  const anyText = fc.oneof(dots, fc.string({ unit: "grapheme", minLength: 1 }));
  fc.assert(
    fc.property(anyText, (text) => {
      const { pathname } = new URL(`/quality/rule/${pathPart(text)}`, "http://127.0.0.1");
      const parts = pathname.split("/");
      expect(parts.slice(0, 3)).toEqual(["", "quality", "rule"]);
      expect(parts).toHaveLength(4);
      expect(textOfPart(parts[3] ?? "")).toBe(text);
    }),
    { examples: [["."], [".."], ["~.."], ["~~.."], ["..."], ["%2e%2e"], ["a/../b"], ["<img>"]] },
  );
});

test("a part that cannot be decoded is taken unchanged", () => {
  expect(textOfPart("%E0%A4%A")).toBe("%E0%A4%A");
});
