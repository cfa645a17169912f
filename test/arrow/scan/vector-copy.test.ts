import duckdb from "@duckdb/node-bindings";
import { describe, expect, test } from "vitest";
import { copyValidity, copyValues, VECTOR_ROWS } from "../../../src/arrow/scan/vector-copy.js";

/** A vector of a chunk with one column of doubles. */
function doubleVector(): { chunk: duckdb.DataChunk; vector: duckdb.Vector } {
  const chunk = duckdb.create_data_chunk([duckdb.create_logical_type(duckdb.Type.DOUBLE)]);
  return { chunk, vector: duckdb.data_chunk_get_vector(chunk, 0) };
}

function doublesIn(vector: duckdb.Vector, rows: number): number[] {
  const bytes = duckdb.vector_get_data(vector, rows * 8);
  return [...new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + rows * 8))];
}

describe("values", () => {
  test("are copied from their place, in a view too", () => {
    const { vector } = doubleVector();
    const all = Float64Array.from({ length: 3000 }, (_, i) => i / 3);
    copyValues(vector, all, 900, VECTOR_ROWS);
    expect(doublesIn(vector, VECTOR_ROWS)).toEqual([...all.subarray(900, 900 + VECTOR_ROWS)]);
    copyValues(vector, all.subarray(10, 20), 3, 7);
    expect(doublesIn(vector, 8)).toEqual([...all.subarray(13, 20), all[907]]);
  });

  test("go to the row that is given", () => {
    const { vector } = doubleVector();
    copyValues(vector, Float64Array.of(1, 2, 3, 4), 0, 4);
    copyValues(vector, Float64Array.of(7, 8, 9), 1, 2, 1);
    expect(doublesIn(vector, 4)).toEqual([1, 8, 9, 4]);
  });

  test.each([
    ["more rows than a vector holds", 3000, 0, VECTOR_ROWS + 1],
    ["rows after the last", 10, 8, 3],
    ["a start after the last", 10, 11, 0],
    ["a start before the first", 10, -1, 2],
    ["fewer rows than none", 10, 5, -1],
    ["half a row", 10, 0, 0.5],
    ["a start between rows", 10, 0.5, 1],
    ["no number of rows", 10, 0, Number.NaN],
    ["a start that is endless", 10, Number.POSITIVE_INFINITY, 1],
    ["a row after the vector's last", 10, 0, 2, VECTOR_ROWS - 1],
    ["a row before its first", 10, 0, 2, -1],
    ["a row between rows", 10, 0, 2, 0.5],
  ] as const)("%s: RangeError, and nothing is written", (_, length, from, rows, at = 0) => {
    const { vector } = doubleVector();
    copyValues(vector, Float64Array.of(1, 2, 3), 0, 3);
    expect(() => copyValues(vector, new Float64Array(length), from, rows, at)).toThrow(RangeError);
    expect(doublesIn(vector, 3)).toEqual([1, 2, 3]);
  });
});

describe("nulls", () => {
  test("are those of the bitmap from the given bit on", () => {
    const { vector } = doubleVector();
    const bitmap = Uint8Array.of(0b1010_1010, 0b0000_1111);
    copyValidity(vector, bitmap, 3, 10);
    const valid = Array.from({ length: 11 }, (_, row) =>
      duckdb.validity_row_is_valid(duckdb.vector_get_validity(vector, 2048), row),
    );
    expect(valid).toEqual([true, false, true, false, true, true, true, true, true, false, true]);
  });

  test.each([
    ["bits after the last", 2, 15, 2],
    ["more rows than a vector holds", 1000, 0, VECTOR_ROWS + 1],
    ["a start before the first", 2, -1, 1],
    ["a start between bits", 2, 0.5, 1],
  ])("%s: RangeError", (_, bytes, from, rows) => {
    expect(() => copyValidity(doubleVector().vector, new Uint8Array(bytes), from, rows)).toThrow(RangeError);
  });
});
