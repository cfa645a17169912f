import fc from "fast-check";
import { expect, test } from "vitest";
import { copyBits, countZeros, isAllNull, isPresent, isSet, putBit, setBit } from "../../src/core/bits.js";

const bit = (bitmap: Uint8Array, at: number): number => ((bitmap[at >> 3] as number) >> (at & 7)) & 1;
const bitsOf = (bitmap: Uint8Array): number[] =>
  Array.from({ length: bitmap.length * 8 }, (_, i) => bit(bitmap, i));
const anyBitmap = fc.uint8Array({ minLength: 8, maxLength: 8 });

test("any bits are copied to any place, and those next to it do not change", () => {
  fc.assert(
    fc.property(
      fc.option(anyBitmap, { nil: undefined }),
      anyBitmap,
      fc.nat(64),
      fc.nat(64),
      fc.nat(64),
      (from, into, start, at, most) => {
        const count = Math.min(most, 64 - start, 64 - at);
        const target = into.slice();
        copyBits(from, start, count, target, at);
        const expected = bitsOf(into);
        for (let i = at; i < at + count; i++)
          expected[i] = from === undefined ? 1 : bit(from, start + i - at);
        expect(bitsOf(target)).toEqual(expected);
      },
    ),
  );
});

test("a bitmap is all null if each of its rows is; bits behind them do not count", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 2, maxLength: 2 }), fc.nat(16), (bitmap, rows) => {
      const present = Array.from({ length: rows }, (_, row) => bit(bitmap, row)).includes(1);
      expect(isAllNull(bitmap, rows)).toBe(!present);
    }),
  );
  expect(isAllNull(Uint8Array.of(0, 0b1111_1000), 11)).toBe(true);
});

test("a bit is read and written, and those next to it do not change", () => {
  fc.assert(
    fc.property(anyBitmap, fc.nat(63), fc.boolean(), (bitmap, at, isOne) => {
      const [put, set] = [bitmap.slice(), bitmap.slice()];
      putBit(put, at, isOne);
      setBit(set, at);
      const bits = bitsOf(bitmap);
      expect(bits.map((_, i) => Number(isSet(bitmap, i)))).toEqual(bits);
      expect(bits.map((_, i) => Number(isPresent(bitmap, i)))).toEqual(bits);
      expect(bitsOf(put)).toEqual(bits.with(at, Number(isOne)));
      expect(bitsOf(set)).toEqual(bits.with(at, 1));
      expect(isPresent(undefined, at)).toBe(true);
    }),
  );
});

test("zeros are counted between any two bits", () => {
  fc.assert(
    fc.property(anyBitmap, fc.nat(64), fc.nat(64), (bitmap, a, b) => {
      const [start, end] = [Math.min(a, b), Math.max(a, b)];
      const bits = Array.from({ length: end - start }, (_, k) => bit(bitmap, start + k));
      expect(countZeros(bitmap, start, end)).toBe(bits.filter((one) => one === 0).length);
    }),
  );
  expect(countZeros(Uint8Array.of(0xff, 0, 0, 0xff), 3, 27)).toBe(16);
});
