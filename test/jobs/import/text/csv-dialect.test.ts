import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCsv } from "../../../../src/jobs/import/text/csv-dialect.js";
import { cases } from "../../../sweep.js";

const delimiters = fc.constantFrom(",", "\t", ";", "|");
const ends = fc.constantFrom("\n", "\r\n", "\r");
const cell = fc.oneof(
  fc.stringMatching(/^[a-z0-9 .-]{0,6}$/),
  fc.stringMatching(/^[a-z,;|\t"\n ]{1,8}$/),
  fc.string({ unit: "grapheme", maxLength: 6 }).filter((text) => !text.includes("\r")),
);

test("cells that were written read back, with the line at which each row begins", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 6 }),
      delimiters,
      ends,
      fc.boolean(),
      (rows, delimiter, end, hasLastEnd) => {
        const written = rows.map((row) =>
          row
            .map((text) =>
              /["\n\t,;|\r]/.test(text) || text.trim() === "" ? `"${text.replaceAll('"', '""')}"` : text,
            )
            .join(delimiter),
        );
        const text = written.map((line, i) => line + (i < rows.length - 1 || hasLastEnd ? end : "")).join("");
        let line = 1;
        const expected = rows.map((cells, before) => {
          const own = line;
          line += 1 + cells.join("").split("\n").length - 1;
          return { cells, line: own, before };
        });
        expect(parseCsv(text, delimiter)).toEqual(expected);
      },
    ),
    { numRuns: cases({ few: 300, all: 20_000 }) },
  );
});
