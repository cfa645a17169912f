import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ident, literal, literalList } from "../../src/db/quote.js";
import { Session } from "../../src/db/session/session.js";

let session: Session;
beforeAll(async () => {
  session = await Session.open({ threads: 1 });
});
afterAll(() => session.close());

/** Texts with all that ends a quotation, but for NUL, which DuckDB's parser does not take. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom("'", '"', "''", '""', "\\", "--", "/*", ";", "$1", "\n", "%", "\u4e2d"),
      fc.string({ unit: "grapheme" }),
    ),
  )
  .map((parts) => parts.join("").replaceAll("\0", ""));

test("any text is one literal, and DuckDB reads the same text", async () => {
  await fc.assert(
    fc.asyncProperty(anyText, fc.array(anyText), async (text, list) => {
      const [row] = await session.json(
        `SELECT ${literal(text)} AS text, ${literalList(list)}::VARCHAR[] AS list`,
      );
      expect(row).toEqual({ text, list });
    }),
  );
});

test("any name is one identifier, and DuckDB has the same name", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyText.filter((name) => name.trim() !== ""),
      async (name) => {
        const [row] = await session.json(`SELECT ${ident(name)} FROM (SELECT 5 AS ${ident(name)})`);
        expect(Object.keys(row ?? {})).toEqual([name]);
      },
    ),
  );
});
