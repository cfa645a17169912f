import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeQuotes } from "../../../src/wire/encode/encode-quotes.js";
import { jsonText } from "../../../src/wire/encode/json-text.js";
import type { Quote } from "../../../src/wire/resources.js";

const INTEGERS: ReadonlySet<string> = new Set(["timestamp", "volume"]);
const double = fc.oneof(
  fc.double(),
  fc.integer({ min: -1000, max: 100_000 }).map((cents) => cents / 100),
);
const integer = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(2 ** 63, 1e21, Number.NaN));
const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("平安银行", 'a "b" \\ c', ""));
const optional = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(values, { nil: undefined });

const quote: fc.Arbitrary<Quote> = fc
  .record({
    symbol: fc.oneof(fc.constantFrom("600000.SH", "BRK.B.US"), text),
    region: fc.constantFrom("CN", "HK", "US"),
    session: fc.constantFrom("regular", "halted", "closed" as const),
    last_price: double,
    open: double,
    high: double,
    low: double,
    prev_close: double,
    volume: integer,
    amount: double,
    timestamp: fc.maxSafeInteger(),
    ext: fc.record({
      type: text,
      name: optional(text),
      change_amount: optional(double),
      change_pct: optional(double),
      amplitude: optional(double),
      turnover_rate: optional(double),
    }),
  })
  .map((one) => one as Quote);

test("each text is that of the quote as a plain value, whose numbers but two are doubles", () => {
  fc.assert(
    fc.property(fc.array(quote, { maxLength: 30 }), (quotes) => {
      expect(encodeQuotes(quotes)).toEqual(
        quotes.map((one) => jsonText(one, (member) => !INTEGERS.has(member))),
      );
    }),
  );
});
