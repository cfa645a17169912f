import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CHART_KINDS, NotebookError } from "../../../src/notebook/notebook.js";
import { parseNotebook } from "../../../src/notebook/parse/parse-notebook.js";

const TEXT = `-- # Title
-- Some *prose*.
--
-- More of it.
-- %% param symbol = '600519.SH'
-- %% param days = 250

-- %%
-- About the table.
SELECT 1 AS a -- a comment
-- another, within SQL
FROM range(3);
-- %% chart line x=a y=b,c title="The ""A"" over time" percent=b height=200
SELECT 1 AS a, 2 AS b, 3 AS c
-- %% chart candlestick x=d
-- %%
-- Only words.
`;

test("cells, prose, parameters and charts of a file, with their lines", () => {
  const { title, parameters, cells, isPlain } = parseNotebook(TEXT, "some/file.sql");
  expect({ title, isPlain }).toEqual({ title: "Title", isPlain: false });
  expect(parameters).toEqual([
    { name: "symbol", expression: "'600519.SH'", line: 5 },
    { name: "days", expression: "250", line: 6 },
  ]);
  expect(cells.map(({ line, prose, sqlLine, view }) => ({ line, prose, sqlLine, kind: view.kind }))).toEqual([
    { line: 1, prose: "# Title\nSome *prose*.\n\nMore of it.", sqlLine: 5, kind: "table" },
    { line: 8, prose: "About the table.", sqlLine: 10, kind: "table" },
    { line: 13, prose: "", sqlLine: 14, kind: "line" },
    { line: 16, prose: "Only words.", sqlLine: 19, kind: "table" },
  ]);
  expect(cells[1]?.sql).toBe("SELECT 1 AS a -- a comment\n-- another, within SQL\nFROM range(3);");
  expect(cells[2]?.view).toMatchObject({
    columns: { x: ["a"], y: ["b", "c"] },
    title: 'The "A" over time',
    percent: ["b"],
    height: 200,
  });
});

test("a file without directives is plain SQL, whose comments are comments", () => {
  const { cells, isPlain, title } = parseNotebook("-- a report\nSELECT 1;\nSELECT 2", "x/report.sql");
  expect({ isPlain, title }).toEqual({ isPlain: true, title: "report" });
  expect(cells).toMatchObject([{ sql: "-- a report\nSELECT 1;\nSELECT 2", prose: "", sqlLine: 1 }]);
  expect(parseNotebook("-- nothing\n", "x.sql").cells).toEqual([]);
});

test("line ends of Windows, and a byte order mark, are read over", () => {
  const unix = parseNotebook(TEXT, "a.sql");
  expect(parseNotebook(`\uFEFF${TEXT.replaceAll("\n", "\r\n")}`, "a.sql")).toEqual(unix);
});

describe("a wrong directive says its line, and what is allowed", () => {
  const cases: readonly (readonly [directive: string, message: string, hint: string])[] = [
    ["graph line", '"graph" is no directive', "chart KIND, table, figures"],
    ["chart", "chart: the kind is missing", CHART_KINDS.join(", ")],
    ["chart pie x=a", 'chart: "pie" is no kind', "candlestick"],
    ["chart line y=b", "chart line: x is missing", "x=COLUMN"],
    ["chart line x=a y=b colour=c", 'chart line: "colour" is no option', "color="],
    ["chart line x=a y=b stray", 'chart line: "stray" is no option', "x= y= color="],
    ["chart line x=a x=b y=c", "chart line: x is given twice", "once"],
    ["chart line x=a,b y=c", "chart line: x=a,b names several columns", "one"],
    ["chart line x=a y=b low=c", "chart line: a band has two edges", "low=COLUMN high=COLUMN"],
    ["chart line x=a y=b height=9", "chart line: height=9", "80 to 2000"],
    ["chart line x=a y=b log=z", "chart line: log=z", "x, y, or x,y"],
    ["chart line x=a y=b rule=z", "chart line: rule=z", "numbers"],
    ["chart bar x=a y=b stack=1", "chart bar: stack=1", "yes or no"],
    ["chart candlestick x=a rising=blue", "chart candlestick: rising=blue", "green or red"],
    ["chart line x=a y=b rising=red", '"rising" is no option', "rule="],
    ["chart scatter x=a y=b bins=3", 'chart scatter: "bins" is no option', "size="],
    ["table rows=many", "table: rows=many", "a whole number from 1"],
    ["figures rows=3", 'figures: "rows" is no option', "title="],
    ["param 1x = 3", 'param: "1x = 3" declares nothing', "param NAME = VALUE"],
    ["param days = 3", "param: days is declared already", "another name"],
  ];
  test.each(cases)("%s", (directive, message, hint) => {
    const parse = (): unknown =>
      parseNotebook(`-- %% param days = 1\n\n-- %% ${directive}\nSELECT 1`, "dir/n.sql");
    expect(parse).toThrow(NotebookError);
    try {
      parse();
    } catch (error) {
      expect(error).toMatchObject({
        message: expect.stringMatching(/^notebook dir\/n\.sql:3: /),
        hint: expect.stringContaining(hint),
        line: 3,
      });
      expect((error as Error).message).toContain(message);
    }
  });
});

const word = fc.stringMatching(/^[a-z][a-z ]{0,12}[a-z]$/);
const written = fc.record({
  prose: fc.array(word, { maxLength: 3 }),
  statements: fc.array(fc.constantFrom("SELECT 1", "SELECT ';'\n-- x\n, 2", "FROM t -- %% no"), {
    minLength: 1,
    maxLength: 3,
  }),
  title: fc.option(
    fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !/[\r\n]/.test(text)),
    { nil: undefined },
  ),
});

test("what is written as cells is read back as they are", () => {
  fc.assert(
    fc.property(fc.array(written, { minLength: 1, maxLength: 5 }), (expected) => {
      const text = expected.map(({ prose, statements, title }) => {
        const option = title === undefined ? "" : ` title="${title.replaceAll('"', '""')}"`;
        return [
          `-- %% table${option}`,
          ...prose.map((line) => `-- ${line}`),
          `${statements.join(";\n")};`,
        ].join("\n");
      });
      const { cells } = parseNotebook(text.join("\n"), "any.sql");
      expect(cells.map(({ prose, sql, view }) => ({ prose, sql, title: view.title }))).toEqual(
        expected.map(({ prose, statements, title }) => ({
          prose: prose.join("\n"),
          sql: `${statements.join(";\n")};`,
          title,
        })),
      );
      const lines = text.join("\n").split("\n");
      for (const cell of cells) {
        expect(lines[cell.line - 1]).toMatch(/^-- %%/);
        expect(lines[cell.sqlLine - 1]).toBe(cell.sql.split("\n")[0]);
      }
    }),
  );
});

test("any text is read, or its wrong line is named", () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.constantFrom(
      "-- %%",
      "-- %% chart ",
      "line ",
      "x=",
      "y=a ",
      "param ",
      "= ",
      "'",
      '"',
      "\n",
      "\r\n",
      "-- ",
      "table ",
    ),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const text = pieces.join("");
      try {
        const { cells } = parseNotebook(text, "any.sql");
        for (const { prose, sql } of cells) expect(prose + sql).not.toBe("");
      } catch (error) {
        expect(error).toBeInstanceOf(NotebookError);
        const { line, hint } = error as NotebookError;
        expect(text.split(/\r?\n/)[line - 1]?.replace("\uFEFF", "")).toMatch(/^--\s*%%/);
        expect(hint).toMatch(/^allowed: ./);
      }
    }),
    { numRuns: 500 },
  );
});
