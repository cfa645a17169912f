import fc from "fast-check";
import { expect, test } from "vitest";
import { parseNotebook, sourceCells } from "../../../src/notebook/parse/parse-notebook.js";

const LINES = [
  "-- %%",
  "-- %% table rows=3",
  "--%% param a = 1",
  "-- prose",
  "SELECT 1;",
  "",
  "  -- %% within",
];

test("the pieces of a notebook are its text, byte for byte, and each begins a cell of the parser", () => {
  const line = fc.constantFrom(...LINES);
  const text = fc
    .tuple(fc.constantFrom("", "\uFEFF"), fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n"))))
    .map(([mark, lines]) => mark + lines.map((parts) => parts.join("")).join(""));
  fc.assert(
    fc.property(text, (whole) => {
      const pieces = sourceCells(whole);
      expect(pieces.join("")).toBe(whole);
      for (const piece of pieces.slice(1)) expect(piece).toMatch(/^--\s*%%/);
      expect(pieces.slice(1).some((piece) => /^--\s*%%\s*param/.test(piece))).toBe(false);
    }),
  );
});

test("a cell of the parser lies within one piece", () => {
  const text = "-- # Title\n-- %% param a = 1\n-- %% param b = 2\n-- %%\nSELECT 1;\n-- %% table\nSELECT 2;\n";
  expect(sourceCells(text)).toEqual([
    "-- # Title\n-- %% param a = 1\n-- %% param b = 2\n",
    "-- %%\nSELECT 1;\n",
    "-- %% table\nSELECT 2;\n",
  ]);
  expect(parseNotebook(text, "a.sql").cells.map(({ line }) => line)).toEqual([1, 4, 6]);
  expect(sourceCells("")).toEqual([""]);
});
