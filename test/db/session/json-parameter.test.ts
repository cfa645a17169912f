import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonParameter } from "../../../src/db/session/named-values.js";
import { Session } from "../../../src/db/session/session.js";

/** Texts of UTF-16 units, also of surrogates that are in no pair, and of what looks like an escape of them. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom("a", "\\", "\\ud800", '"', "\n", "\ud83d", "\ude00", "\udfff", "\ud800"),
      fc.string(),
    ),
  )
  .map((parts) => parts.join(""));

test("DuckDB parses any text; surrogates without a pair become U+FFFD", async () => {
  using session = await Session.open({ threads: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(anyText, { maxLength: 4 }), async (texts) => {
      const wellFormed = texts.map((text) => text.replace(/\p{Surrogate}/gu, "\ufffd"));
      const sql = `SELECT unnest(from_json($1, '["VARCHAR"]')) AS text`;
      const rows = await session.json<{ text: string }>(sql, [jsonParameter(texts)]);
      expect(rows.map(({ text }) => text)).toEqual(wellFormed);
    }),
    { numRuns: 200 },
  );
});

test("only the named members are written", () => {
  expect(jsonParameter({ a: "\ud800", b: 1 }, ["a"])).toBe('{"a":"\ufffd"}');
});
