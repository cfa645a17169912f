import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rowLines } from "../../../../src/jobs/import/rows/distinct-texts.js";
import { parseCsv } from "../../../../src/jobs/import/text/csv-dialect.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { cases } from "../../../sweep.js";

test("blank lines, malformed ones and those within quotes are no rows", async () => {
  const path = join(temporaryFolder(), "a.csv");
  writeFileSync(path, 'a,b\n1,2\n\n"x\ny",3\nbad,bad,bad\n\n4,5');
  expect([...(await rowLines(path, 2, new Set([6]), [0, 1, 2]))]).toEqual([
    [0, 2],
    [1, 4],
    [2, 8],
  ]);
});

test("only the asked rows have a line, and rows that are not there have none", async () => {
  const path = join(temporaryFolder(), "a.csv.gz");
  writeFileSync(path, gzipSync("h\n1\n2\n3\n"));
  expect([...(await rowLines(path, 2, new Set(), [1, 7]))]).toEqual([[1, 3]]);
});

test("rows have the lines at which a parser of the whole text finds them", async () => {
  const folder = temporaryFolder();
  const cell = fc.oneof(fc.stringMatching(/^[a-z0-9]{1,3}$/), fc.stringMatching(/^"([a-z,\n]|""){0,5}"$/));
  const line = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(cell, cell).map((cells) => cells.join(",")) },
    { weight: 1, arbitrary: fc.constant("") },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 12 }),
      fc.constantFrom("\n", "\r\n"),
      fc.boolean(),
      fc.boolean(),
      async (lines, end, hasLastEnd, isPacked) => {
        const text = `a,b${end}${lines.join(end)}${hasLastEnd ? end : ""}`;
        const path = join(folder, isPacked ? "a.csv.gz" : "a.csv");
        writeFileSync(path, isPacked ? gzipSync(text) : text);
        const expected = parseCsv(text, ",").slice(1);
        const found = await rowLines(
          path,
          2,
          new Set(),
          expected.map((_, row) => row),
        );
        expect([...found.values()]).toEqual(expected.map((one) => one.line));
      },
    ),
    { numRuns: cases({ few: 100, all: 3000 }) },
  );
});
