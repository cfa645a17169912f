import fc from "fast-check";
import { expect, test } from "vitest";
import { fieldNames } from "../../../../src/jobs/import/plan/field-names.js";
import { findHeader, parseCsv } from "../../../../src/jobs/import/text/csv-dialect.js";
import { cases } from "../../../sweep.js";

const KNOWN = new Set(
  Object.values(fieldNames("bars_1d"))
    .flat()
    .filter((name) => name !== ""),
);
const ROW = "2024-01-02,10,11,9,10.5,1000\n";
const HEADER = "date,open,high,low,close,volume\n";

test.each([
  ["no lines before it", `${HEADER}${ROW}`, ",", 2, 0],
  ["a line of text", `a report\n${HEADER}${ROW}`, ",", 3, 1],
  ["blank lines and text with commas", `\nAAPL, daily\n\nAs of date,2024\n${HEADER}${ROW}`, ",", 6, 2],
  ["comments", `# one\n# two\n${HEADER}${ROW}`, ",", 4, 2],
  ["a quoted cell of two lines", `"a\nb",c\n${HEADER}${ROW}`, ",", 4, 1],
  ["CRLF", `x\r\n${HEADER.trim()}\r\n${ROW.trim()}\r\n`, ",", 3, 1],
  ["CR", `x\r${HEADER.trim()}\r${ROW.trim()}\r`, ",", 3, 1],
  ["tabs", `${HEADER}${ROW}`.replaceAll(",", "\t"), "\t", 2, 0],
  [
    "semicolons and decimal commas",
    "date;open;high;low;close;volume\n2024-01-02;10,5;11;9;10,5;1\n",
    ";",
    2,
    0,
  ],
  ["bars", `${HEADER}${ROW}`.replaceAll(",", "|"), "|", 2, 0],
  ["no rows", HEADER, ",", 2, 0],
] as const)("a header is found with %s", (_, text, delimiter, firstLine, before) => {
  const header = findHeader(text, KNOWN);
  expect(header).toMatchObject({
    dialect: { delimiter, firstLine },
    names: ["date", "open", "high", "low", "close", "volume"],
  });
  expect(header?.preamble).toHaveLength(before);
});

test("lines of values are no header; a number of lines before it makes any line one", () => {
  expect(findHeader(ROW + ROW, KNOWN)).toBeUndefined();
  expect(findHeader("", KNOWN)).toBeUndefined();
  expect(findHeader("a;b;c\n1;2;3\n", KNOWN)).toBeUndefined();
  expect(findHeader("x\na;b;c\n1;2;3\n", KNOWN, 1)).toMatchObject({
    names: ["a", "b", "c"],
    dialect: { firstLine: 3 },
  });
});

test("a last column without a name is one only where the rows have it", () => {
  expect(findHeader("date,close,\n2024-01-02,1\n", KNOWN)?.names).toEqual(["date", "close"]);
  expect(findHeader("date,close,\n2024-01-02,1,\n", KNOWN)?.names).toEqual(["date", "close", ""]);
});

test.each([
  ["fields first", "Price,Close,Close,Open,Open\nTicker,AAPL,MSFT,AAPL,MSFT\nDate,,,,\n", 4],
  ["tickers first", "Ticker,AAPL,MSFT,AAPL,MSFT\nPrice,Close,Close,Open,Open\nDate,,,,\n", 4],
  ["two lines", ",Close,Close,Open,Open\n,AAPL,MSFT,AAPL,MSFT\n", 3],
])("a header of two levels, %s", (_, head, firstLine) => {
  const header = findHeader(`${head}2024-01-02,1,2,3,4\n2024-01-03,1,2,3,4\n`, KNOWN);
  expect(header?.names).toEqual(["Date", "Close", "Open"]);
  expect(header?.dialect.firstLine).toBe(firstLine);
  expect(header?.wide).toEqual([
    { index: 1, field: "Close", ticker: "AAPL" },
    { index: 2, field: "Close", ticker: "MSFT" },
    { index: 3, field: "Open", ticker: "AAPL" },
    { index: 4, field: "Open", ticker: "MSFT" },
  ]);
});

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
