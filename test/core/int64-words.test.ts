import fc from "fast-check";
import { expect, test } from "vitest";
import { int64At, int64Words, setInt64 } from "../../src/core/bits.js";

test("integers that a double holds are those of the column, also where it begins within its memory", () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeInteger(), { minLength: 2, maxLength: 8 }), (numbers) => {
      const values = BigInt64Array.from([99n, ...numbers.map(BigInt)]).subarray(1);
      const words = int64Words(values);
      expect(numbers.map((_, row) => int64At(words, row))).toEqual(numbers.map((number) => number + 0));
      const written = new BigInt64Array(numbers.length);
      for (const [row, number] of numbers.entries()) setInt64(int64Words(written), row, number);
      expect(written).toEqual(values.slice());
    }),
  );
});
