import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WireError } from "../../../../src/core/errors.js";
import { DEFAULT_JSON_LIMITS } from "../../../../src/wire/decode/json/json-sink.js";
import { anyText } from "../../any-json.js";
import { anyCuts, cutAt, cutEvery, utf8 } from "../../chunks.js";
import { readJson } from "./read-json.js";

/** Runs a reader; a WireError is a verdict, any other exception is passed on. */
function verdict(read: () => unknown): { value: unknown } | "refused" {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof WireError) return "refused";
    throw error;
  }
}

function reference(bytes: Uint8Array): { value: unknown } | "refused" {
  try {
    return {
      value: JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)) as unknown,
    };
  } catch {
    return "refused";
  }
}

function caught(read: () => unknown): WireError {
  try {
    read();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("against JSON.parse", () => {
  test("any text that JSON.stringify writes is the same value", () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: "binary" }), anyCuts, (text, cuts) => {
        expect(readJson(cutAt(utf8(text), cuts))).toStrictEqual(JSON.parse(text));
      }),
    );
  });

  test("the suite's documents, whole and byte by byte", () => {
    const folder = new URL("../../json-suite/", import.meta.url);
    const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
    expect(files.filter((name) => name.startsWith("accept_")).length).toBeGreaterThan(15);
    expect(files.filter((name) => name.startsWith("reject_")).length).toBeGreaterThan(30);
    expect(files.filter((name) => name.startsWith("either_")).length).toBeGreaterThan(3);
    for (const name of files) {
      const bytes = new Uint8Array(readFileSync(new URL(name, folder)));
      const expected = reference(bytes);
      expect(expected === "refused", name).toBe(name.startsWith("reject_"));
      for (const chunks of [[bytes], cutEvery(bytes, bytes.length > 1000 ? 997 : 1), cutEvery(bytes, 3)]) {
        if (name.startsWith("either_")) {
          expect(caught(() => readJson(chunks)).kind, name).toBe("limit");
          continue;
        }
        expect(
          verdict(() => readJson(chunks)),
          name,
        ).toStrictEqual(expected);
      }
    }
  });
});

describe("errors are reported", () => {
  test.each([
    ["<html><body>502</body></html>", "not_json", 0],
    ['{"a":tru}', "not_json", 8],
    ["[1,]", "not_json", 3],
    ["[01]", "not_json", 1],
    ["[1 2]", "not_json", 3],
    ["[1.,2]", "not_json", 1],
    ['{"a":1,}', "not_json", 7],
    ['["a\\x"]', "not_json", 4],
    ['["a\nb"]', "not_json", 3],
    ["1 2", "not_json", 2],
    ["", "truncated", 0],
    ["[", "truncated", 1],
    ["[1", "truncated", 2],
    ["[-", "truncated", 2],
    ["[1.", "truncated", 3],
    ["[1e", "truncated", 3],
    ["[tru", "truncated", 4],
    ['["a', "truncated", 3],
    ['["a\\', "truncated", 4],
    ['["a\\u00', "truncated", 7],
    ['{"a"', "truncated", 4],
    ['{"a":1', "truncated", 6],
  ])("%j is %s at byte %i", (text, kind, byteOffset) => {
    for (const size of [1, 2, 100]) {
      expect(caught(() => readJson(cutEvery(utf8(text), size)))).toMatchObject({ kind, byteOffset });
    }
  });

  test("every beginning of a document that is no document itself is truncated", () => {
    fc.assert(
      fc.property(anyText, fc.nat(), anyCuts, (text, place, cuts) => {
        const whole = utf8(`[${text}]`);
        const part = whole.subarray(0, place % whole.length);
        expect(caught(() => readJson(cutAt(part, cuts))).kind).toBe("truncated");
      }),
    );
  });

  test("a string that is not UTF-8 is refused", () => {
    const bytes = Uint8Array.from([0x5b, 0x22, 0xff, 0x22, 0x5d]);
    expect(caught(() => readJson([bytes]))).toMatchObject({ kind: "not_json", byteOffset: 1 });
  });
});

describe("limits hold, however the document is cut", () => {
  const limits = { ...DEFAULT_JSON_LIMITS, maxDepth: 3, maxTokenBytes: 64, maxBytes: 90 };
  test.each([
    ["[[[1]]]", "[[[[1]]]]"],
    ['{"a":{"b":{}}}', '{"a":{"b":{"c":[]}}}'],
    [`["${"a".repeat(62)}"]`, `["${"a".repeat(63)}"]`],
    [`{"${"a".repeat(62)}":1}`, `{"${"a".repeat(63)}":1}`],
    [`[${"1,".repeat(43)}1 ]`, `[${"1,".repeat(43)}1  ]`],
  ])("%s is read, %s is not", (inside, outside) => {
    for (const size of [1, 3, 7, 100]) {
      expect(readJson(cutEvery(utf8(inside), size), limits)).toEqual(JSON.parse(inside));
      expect(caught(() => readJson(cutEvery(utf8(outside), size), limits)).kind).toBe("limit");
    }
  });

  test("digits of a number", () => {
    for (const size of [1, 100, 5000]) {
      const read = (count: number): unknown => readJson(cutEvery(utf8(`[${"1".repeat(count)},2]`), size));
      expect(read(4096)).toEqual([Infinity, 2]);
      expect(caught(() => read(4097)).kind).toBe("limit");
    }
  });

  test.each([0, 131_073])("maxTokenBytes of %d is refused", (maxTokenBytes) => {
    expect(() => readJson([utf8("[1]")], { ...limits, maxTokenBytes })).toThrow(RangeError);
  });

  test("a token as long as permitted, in pieces longer than the scanner's own buffer", () => {
    const text = JSON.stringify({
      a: "x".repeat(131_070),
      b: Array.from({ length: 90_000 }, (_, k) => k / 8),
    });
    const most = { ...DEFAULT_JSON_LIMITS, maxTokenBytes: 131_072 };
    for (const size of [100_000, 262_144, 1_000_000]) {
      expect(readJson(cutEvery(utf8(text), size), most)).toEqual(JSON.parse(text));
    }
  });
});
