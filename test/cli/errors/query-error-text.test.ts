import { expect, test } from "vitest";
import { queryErrorText, symbolAdvice } from "../../../src/cli/error-text.js";
import type { QueryError } from "../../../src/core/errors.js";
import { openSession } from "../../lake/temporary-lake.js";

async function errorOf(sql: string, firstLine?: number) {
  const session = await openSession();
  await session.run("CREATE TABLE bars (symbol VARCHAR, close DOUBLE, low DOUBLE)");
  const error = await session.run(sql).then(
    () => undefined,
    (thrown: unknown) => thrown as QueryError,
  );
  if (error === undefined) throw new Error("the query is right");
  return queryErrorText(error, firstLine);
}

test.each<[string, { message?: RegExp; place?: string; hint?: RegExp }]>([
  ["selec 1", { message: /^Parser Error: syntax error at or near "selec"$/, place: "selec 1\n^" }],
  [
    "SELECT clos FROM bars",
    {
      message: /^[^\n]*"clos" not found[^\n]*$/,
      place: "SELECT clos FROM bars\n       ^",
      hint: /^did you mean close.*\?$/,
    },
  ],
  [
    `SELECT close FROM bars WHERE symbol = "600330.SH"`,
    { hint: /^text goes in single quotes: '600330\.SH'; double quotes are for names of columns$/ },
  ],
  ['SELECT "clos" FROM bars', { hint: /^did you mean close.*\?$/ }],
  ["SELECT\n  '券', clos\nFROM bars", { place: "line 2:   '券', clos\n                ^" }],
  ["SELECT\n\tclos\nFROM bars", { place: "line 2:  clos\n         ^" }],
  ["FROM barss", { place: "FROM barss\n     ^", hint: /^did you mean bars\?$/ }],
  ["SELECT sume(close) FROM bars", { hint: /^did you mean sum\?$/ }],
  [
    "SELECT close FROM bars WHERE",
    { message: /end of input/, place: `SELECT close FROM bars WHERE\n${" ".repeat(28)}^` },
  ],
  ["SELECT symbol + 1 FROM bars", { message: /^(?![\s\S]*TINYINT\))[\s\S]*type casts\.$/, hint: /::/ }],
  [
    `SELECT ${"close, ".repeat(30)}clos FROM bars`,
    { place: `SELECT ${"close, ".repeat(30)}clos FROM bars\n${" ".repeat(7 + 30 * 7)}^` },
  ],
])("%s", async (sql, expected) => {
  const { message, place, hint } = await errorOf(sql);
  expect(message).toMatch(expected.message ?? /^\w+ Error: /);
  expect(place).toBe(expected.place ?? place);
  expect(hint ?? "").toMatch(expected.hint ?? /.*/);
});

test("lines are those of the file that contains the statement", async () => {
  expect((await errorOf("SELECT clos FROM bars", 12)).place).toBe(
    "line 12: SELECT clos FROM bars\n                ^",
  );
});

test("an error without a place has none", async () => {
  expect(await errorOf("SELECT error('broken')")).toMatchObject({ place: undefined });
});

test.each([
  ["FROM bars WHERE symbol = '600330'", true],
  ["FROM bars b WHERE b.symbol='600330.sh' AND close > 1", true],
  ["FROM bars WHERE symbol = '600330.SH'", false],
  ["FROM bars WHERE symbol = $1", false],
  ["FROM bars WHERE name = '600330'", false],
  ["FROM bars WHERE symbol <> '600330'", false],
])("without rows, %s: is the form of the symbol the reason? %s", (sql, isReason) => {
  expect(symbolAdvice(sql)?.includes("as 600330.SH") ?? false).toBe(isReason);
});
