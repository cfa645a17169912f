import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allStatements, onOneLine, splitStatements, sqlTokens } from "../../../src/db/sql-tokens.js";
import { cases } from "../../sweep.js";
import { unicodeText } from "../../unicode-text.js";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(() => connection.closeSync());

/** Values in which a semicolon, a quote or a comment's beginning ends nothing. */
const anyValue = fc.constantFrom(
  "1",
  "'a;b'",
  "'it''s; -- not'",
  "'/*'",
  "E'a\\';b'",
  "E'\\\\'",
  "$$a;b'$$",
  "$tag$ $$ ; $tag$",
  '1 AS "x;y"',
  '1 AS "say ""; --"',
  "/* ; ' */ 2",
  "/* a /* ; */ ' */ 3",
  "4 -- ; it's\n",
  "'é;券'",
  "[1, 2][1]",
  "1e5",
  "'\n;\n'",
);
const anyStatement = fc
  .array(anyValue, { minLength: 1, maxLength: 3 })
  .map((values) => `SELECT ${values.join("\n, ")}\n`);
const anyBetween = fc.constantFrom(";", " ; ", ";\n-- between; \n", ";/* ; */", "; ; ", ";\n\n");

const anyScript = fc
  .array(fc.tuple(anyStatement, anyBetween), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.flat().join(""));

describe("statements", () => {
  test("are those that DuckDB finds, and give what they give there", async () => {
    await fc.assert(
      fc.asyncProperty(anyScript, async (script) => {
        const extracted = await connection.extractStatements(script);
        const { statements, rest } = splitStatements(script);
        expect(statements).toHaveLength(extracted.count);
        expect(rest).toBeUndefined();
        for (const [index, { sql }] of statements.entries()) {
          const theirs = await (await extracted.prepare(index)).runAndReadAll();
          expect((await connection.runAndReadAll(sql)).getRowsJson()).toEqual(theirs.getRowsJson());
        }
      }),
      { numRuns: cases({ few: 20, all: 600 }) },
    );
  });

  test("of any text are as many as DuckDB finds, or more", async () => {
    const pieces = fc.constantFrom<string>(
      ..."' '' e' \\ \\' -- /* */ $$ $a$ $1 $ a 1 1e . _ x' U& N' \" é || :: SELECT".split(" "),
      "\n",
      "\r",
      " ",
      "\t",
      ";SELECT 2 ",
    );
    const anyText = fc.tuple(
      fc.array(pieces, { maxLength: 9 }),
      fc.constantFrom<string>("", " -- '", "'", '"', "$$", "*/"),
    );
    await fc.assert(
      fc.asyncProperty(anyText, async ([text, end]) => {
        const sql = `SELECT ${text.join("")}${end}`;
        const extracted = await connection.extractStatements(sql).catch(() => undefined);
        // What DuckDB cannot parse, it does not run.
        expect(allStatements(sql).length, sql).toBeGreaterThanOrEqual(extracted?.count ?? 0);
      }),
      {
        numRuns: cases({ few: 200, all: 100_000 }),
        // A string in two pieces; names after a number, and after a parameter.
        examples: [
          [[["e'a'", "\n", "'\\' ' ", ";SELECT 2 "], " -- '"]],
          [[["1a$$", ";SELECT 2 "], " -- '"]],
          [[["$1a$a$", ";SELECT 2 "], " -- '"]],
        ],
      },
    );
  });

  test("have between them the blanks that DuckDB takes for such", async () => {
    const blanks = [0x9, 0xa, 0xc, 0xd, 0x20, 0xa0, 0x202f, 0x205f, 0x2060, 0x3000, 0xfeff];
    for (let code = 0x2000; code <= 0x200b; code++) blanks.push(code);
    for (const code of [...blanks, 0x85, 0x1680, 0x180e, 0x200c, 0x200d, 0x200e, 0x2028, 0x2029]) {
      const sql = `SELECT${String.fromCodePoint(code)}a`;
      const isBlank = await connection.extractStatements(sql).then(
        () => true,
        () => false,
      );
      expect(isBlank, code.toString(16)).toBe(blanks.includes(code));
      expect(sqlTokens(sql).length, code.toString(16)).toBe(isBlank ? 3 : 1);
    }
  });

  test("are the same on one line, unless a line ends in a string", async () => {
    await fc.assert(
      fc.asyncProperty(anyStatement, async (sql) => {
        const line = onOneLine(sql);
        if (line === undefined) {
          expect(sql).toContain("\n;\n");
          return;
        }
        expect(line).not.toContain("\n");
        const [ours, theirs] = [await connection.runAndReadAll(line), await connection.runAndReadAll(sql)];
        expect(ours.getRowsJson()).toEqual(theirs.getRowsJson());
      }),
      { numRuns: cases({ few: 20, all: 600 }) },
    );
  });

  test("of any text, tokens are all of it", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          unicodeText(),
          anyScript.map((s) => s.slice(3, -4)),
        ),
        (sql) => {
          const tokens = sqlTokens(sql);
          expect(tokens.map(({ text }) => text).join("")).toBe(sql);
          let at = 0;
          for (const { start, text } of tokens) {
            expect(start).toBe(at);
            at += text.length;
          }
        },
      ),
    );
  });

  test.each([
    ["a string", "SELECT 'a;"],
    ["a quoted name", 'SELECT 1 AS "a;'],
    ["a comment", "SELECT 1 /* ;"],
    ["a comment within one", "SELECT 1 /* /* */ ;"],
    ["a dollar quote", "SELECT $a$ $$ ;"],
    ["an escape", "SELECT E'a\\';"],
    ["nothing else", "/* ;"],
  ])("go on in %s that is not closed", (_, sql) => {
    expect(splitStatements(sql)).toEqual({ statements: [], rest: { sql, line: 1 } });
  });

  test("know their lines, and the last needs no semicolon", () => {
    const sql = "-- first\nSELECT 1;\n\n  SELECT\n 2; SELECT 3\n-- end";
    expect(allStatements(sql)).toEqual([
      { sql: "SELECT 1", line: 2 },
      { sql: "SELECT\n 2", line: 4 },
      { sql: "SELECT 3\n-- end", line: 5 },
    ]);
  });

  test("of blanks and comments alone are none", () => {
    expect(allStatements(" ;;\n-- a\n;/* b */ ")).toEqual([]);
  });
});
