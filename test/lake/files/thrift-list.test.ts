import { describe, expect, test } from "vitest";
import { listElements } from "../../../src/lake/files/thrift-list.js";

/** A field of every type there is, and one with a long header: a list of structs. */
const STRUCT = Uint8Array.from(
  [
    [0x1c, 0x15, 0x82, 0x01, 0x00], // 1: a struct with an i32 of two bytes
    [0x11, 0x12], // 2, 3: booleans, in the headers
    [0x13, 0xff], // 4: i8
    [0x17, 1, 2, 3, 4, 5, 6, 7, 8], // 5: double
    [0x18, 3, 0x61, 0x62, 0x63], // 6: text
    [0x19, 0x21, 1, 0], // 7: list of two booleans
    [0x1a, 0x36, 0x80, 0x01, 0x02, 0x03], // 8: set of three i64
    [0x1b, 2, 0x85, 1, 0x61, 2, 1, 0x62, 4], // 9: map of texts to i32
    [0x1b, 0], // 10: empty map
    [0x09, 0x50, 0x2c, 0x15, 2, 0x00, 0x15, 4, 0x00], // 40, by a long header: list of two structs
    [0x00],
  ].flat(),
);
const LIST_AT = STRUCT.length - 7;

describe("the elements of a list", () => {
  test("are found behind fields of every type", () => {
    expect(listElements(STRUCT, 40)).toEqual([
      { start: LIST_AT, end: LIST_AT + 3 },
      { start: LIST_AT + 3, end: LIST_AT + 6 },
    ]);
  });

  test("may be more than fourteen", () => {
    const bytes = Uint8Array.of(0x19, 0xf3, 20, ...Array.from({ length: 20 }, (_, i) => i), 0);
    expect(listElements(bytes, 1)).toHaveLength(20);
  });

  test.each([
    ["a field that is not there", STRUCT, 41, /has no field 41/],
    ["a field that is no list", STRUCT, 6, /field 6: is of type 8/],
    ["a struct that ends early", STRUCT.subarray(0, 20), 40, /ends early/],
    ["a list that ends early", STRUCT.subarray(0, -3), 40, /ends early/],
    ["an unknown type", Uint8Array.of(0x1d, 0), 2, /type 13 is unknown/],
  ])("%s: RangeError", (_, bytes, field, message) => {
    expect(() => listElements(bytes, field)).toThrow(RangeError);
    expect(() => listElements(bytes, field)).toThrow(message);
  });
});
