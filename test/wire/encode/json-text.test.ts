import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonText } from "../../../src/wire/encode/json-text.js";

test("without doubles, the text of a plain value is that of JSON.stringify", () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.object({
      values: [fc.double(), fc.string(), fc.boolean(), fc.constant(null)],
      withNullPrototype: true,
    }),
  );
  fc.assert(
    fc.property(value, (one) => {
      expect(jsonText(one, () => false)).toBe(JSON.stringify(one));
    }),
  );
});

test("doubles have a fraction or an exponent, wherever they are in a member, and read back to the same numbers", () => {
  const numbers = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }));
  fc.assert(
    fc.property(numbers, fc.maxSafeInteger(), (doubles, count) => {
      const record = { name: "数", doubles, ext: { doubles }, count, absent: undefined };
      const text = jsonText(record, (member) => member === "doubles");
      const { absent: _, ...present } = record;
      expect(JSON.parse(text)).toEqual(present);
      const [, list = ""] = /"doubles":\[([^\]]*)\]/.exec(text) ?? [];
      for (const number of list.split(",").filter(Boolean)) expect(number).toMatch(/[.e]/);
      expect(text).toContain(`"count":${count}`);
    }),
  );
});

test("more names of members than are cached", () => {
  const record = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`${n}.SH`, n]));
  expect(jsonText(record, () => false)).toBe(JSON.stringify(record));
});
