import { describe, expect, test } from "vitest";
import {
  decodeStruct,
  encodeStruct,
  i32,
  i64,
  integerAt,
  list,
  structAt,
  structsAt,
  withFields,
} from "../../../../src/lake/files/parquet/thrift.js";

/** A field of every type that Parquet has, and one with a long header: a list of structs. */
const STRUCT = Uint8Array.from(
  [
    [0x1c, 0x15, 0x82, 0x01, 0x00], // 1: a struct with an i32 of two bytes
    [0x11, 0x12], // 2, 3: booleans, in the headers
    [0x13, 0xff], // 4: i8
    [0x17, 1, 2, 3, 4, 5, 6, 7, 8], // 5: double
    [0x18, 3, 0x61, 0x62, 0x63], // 6: text
    [0x19, 0x21, 1, 2], // 7: list of two booleans
    [0x1a, 0x36, 0x80, 0x01, 0x02, 0x03], // 8: set of three i64
    [0x14, 0x03], // 9: i16
    [0x09, 0x50, 0x2c, 0x15, 2, 0x00, 0x15, 4, 0x00], // 40, by a long header: list of two structs
    [0x00],
  ].flat(),
);

describe("a struct of Thrift's compact protocol", () => {
  test("is decoded and encoded to the same bytes, with fields of every type", () => {
    const fields = decodeStruct(STRUCT);
    expect([...fields.keys()]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 40]);
    expect(integerAt(structAt(fields, 1), 1)).toBe(65);
    expect([integerAt(fields, 4), integerAt(fields, 9)]).toEqual([-1, -2]);
    expect(structsAt(fields, 40).map((one) => integerAt(one, 1))).toEqual([1, 2]);
    expect(encodeStruct(fields)).toEqual(Buffer.from(STRUCT));
  });

  test.each([0, 1, -1, 63, -64, 64, 2 ** 31 - 1, -(2 ** 31), 2 ** 53 - 1, -(2 ** 53 - 1)])(
    "has the integer %d",
    (value) => {
      const fields = new Map([[1, i64(value)]]);
      expect(integerAt(decodeStruct(encodeStruct(fields)), 1)).toBe(value);
    },
  );

  test("may have lists of more than fourteen items", () => {
    const fields = new Map([[1, list(Array.from({ length: 20 }, (_, i) => i32(i)))]]);
    const encoded = encodeStruct(fields);
    expect([...encoded.subarray(0, 3)]).toEqual([0x19, 0xf5, 20]);
    expect(decodeStruct(encoded)).toEqual(fields);
  });

  test("with fields replaced and removed, has the others as they were", () => {
    const changed = withFields(decodeStruct(STRUCT), { 1: undefined, 4: i32(7), 12: i64(8) });
    expect([...changed.keys()]).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 12, 40]);
    expect(encodeStruct(decodeStruct(encodeStruct(changed)))).toEqual(encodeStruct(changed));
    expect(integerAt(decodeStruct(encodeStruct(changed)), 12)).toBe(8);
  });

  test.each([
    ["a field that is no integer", 6, integerAt, /field 6: no integer/],
    ["a field that is no list", 6, structsAt, /field 6: no list/],
    ["a list of other values", 7, structsAt, /field 7: a list of type 1, not of structs/],
    ["a field that is not there", 41, structAt, /field 41: no struct/],
  ])("%s: RangeError", (_, field, read, message) => {
    expect(() => read(decodeStruct(STRUCT), field)).toThrow(RangeError);
    expect(() => read(decodeStruct(STRUCT), field)).toThrow(message);
  });

  test.each([
    ["a struct that ends early", STRUCT.subarray(0, 20), /ends early/],
    ["a list that ends early", STRUCT.subarray(0, -3), /ends early/],
    ["an unknown type", Uint8Array.of(0x1d, 0), /type 13 is unknown/],
    ["an integer that no double holds", Uint8Array.of(0x16, ...Buffer.alloc(9, 0xff), 1, 0), /too large/],
  ])("%s: RangeError", (_, encoded, message) => {
    expect(() => decodeStruct(encoded)).toThrow(RangeError);
    expect(() => decodeStruct(encoded)).toThrow(message);
  });
});
