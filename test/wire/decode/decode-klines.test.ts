import { describe, expect, test, vi } from "vitest";
import { BarlakeError, ServiceError, WireError } from "../../../src/core/errors.js";
import type { Issue } from "../../../src/core/issue.js";
import { type DecodedKlines, decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { DEFAULT_JSON_LIMITS } from "../../../src/wire/decode/json/json-sink.js";
import type { KlineExpectation } from "../../../src/wire/decode/kline-sink.js";
import { numberKernel } from "../../../src/wire/kernel/number-kernel.js";
import { barsOf } from "../any-kline-columns.js";
import { cutEvery, utf8 } from "../chunks.js";

type Columns = Record<string, unknown>;

/** Two good bars as Compact K-line data, with columns replaced, or (undefined) left out. */
function kline(changes: Columns = {}): Columns {
  const good = {
    timestamp: [1000, 2000],
    open: [1, 2],
    high: [3, 4],
    low: [0.5, 1.5],
    close: [1.25, 2.25],
    volume: [100, 200],
    amount: [10.5, 20.5],
  };
  return Object.fromEntries(
    Object.entries({ ...good, ...changes }).filter(([, column]) => column !== undefined),
  );
}

const document = (data: unknown): string => JSON.stringify({ data });

async function decode(text: string, expectation: Partial<KlineExpectation> = {}): Promise<DecodedKlines> {
  return decodeKlines([utf8(text)], { shape: "map", ...expectation });
}

async function caught(text: string, expectation: Partial<KlineExpectation> = {}): Promise<BarlakeError> {
  const error: unknown = await decode(text, expectation).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BarlakeError);
  return error as BarlakeError;
}

const times = (response: DecodedKlines, symbol: string): number[] | undefined =>
  barsOf(response.columns)[symbol]?.map((bar) => bar.timestamp);
const opens = (response: DecodedKlines, symbol: string): unknown[] | undefined =>
  barsOf(response.columns)[symbol]?.map((bar) => bar.open);

/** What is in the document at the place that an issue names. */
const textAt = (text: string, issue: Issue | undefined, length: number): string =>
  text.slice(issue?.byteOffset, (issue?.byteOffset ?? 0) + length);

describe("good responses", () => {
  test("its size is counted, and integers are exact", async () => {
    const text =
      '{"data":{"A.US":' +
      JSON.stringify(kline({ volume: undefined })).replace(
        /\}$/,
        ',"volume":[-9223372036854775808,9007199254740993]}}}',
      );
    const response = await decode(text);
    expect(response.bytes).toBe(text.length);
    expect([...response.columns.volume]).toEqual([-(2n ** 63n), 9007199254740993n]);
  });

  test.each([
    ["whose bars are in another order", kline({ timestamp: [2000, 1000] }), {}],
    ["outside of the window", kline(), { window: { first: 1000, last: 1999 } }],
    ["that were not requested", kline(), { symbols: ["600000.SH"] }],
  ])("symbols %s are not read by the kernel again before each", async (_, bars, expectation) => {
    const names = Array.from({ length: 50 }, (_name, n) => `${600_000 + n}.SH`);
    const scans = vi.spyOn(numberKernel, "scanMembers");
    await decode(document(Object.fromEntries(names.map((name) => [name, bars]))), expectation);
    expect(scans.mock.calls.length).toBeLessThan(3);
    scans.mockRestore();
  });

  test("columns that grow past their first buffers have every value and every null", async () => {
    const n = 10_000;
    const row = Array.from({ length: n }, (_, i) => i);
    const big = kline({
      ...Object.fromEntries(Object.keys(kline()).map((name) => [name, row])),
      prev_close: row.map((i) => (i % 3 === 0 ? null : i / 4)),
    });
    const response = await decodeKlines(cutEvery(utf8(document({ "A.US": kline(), "B.US": big })), 65_536), {
      shape: "map",
    });
    expect(response.issues.total).toBe(0);
    expect(barsOf(response.columns)["B.US"]?.map((bar) => bar.prev_close ?? null)).toEqual(big.prev_close);
    expect(opens(response, "B.US")).toEqual(row);
  });
});

describe("a bad bar is set aside, and its neighbours land", () => {
  test("no window is so wide that microseconds pass for milliseconds", async () => {
    const window = { first: Number.MIN_SAFE_INTEGER, last: Number.MAX_SAFE_INTEGER };
    const response = await decode(document({ "A.US": kline({ timestamp: [1000, 1.7e15] }) }), { window });
    expect(times(response, "A.US")).toEqual([1000]);
    expect(response.issues.stored).toMatchObject([{ rule: "out_of_range", index: 1 }]);
  });
});

describe("a bad symbol is set aside whole, and the others land", () => {
  test("a key of any length is cut in the issue", async () => {
    const response = await decode(document({ ["x".repeat(5000)]: kline() }));
    expect(response.issues.stored[0]?.symbol).toHaveLength(64);
    expect(response.issues.stored[0]?.message.length).toBeLessThan(200);
  });
});

describe("responses that are none", () => {
  test("the error body", async () => {
    const error = await caught(
      '{"code":"INVALID_PERIOD","message":"period \\"2m\\" is unknown","details":{"data":{}}}',
    );
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ code: "INVALID_PERIOD", status: 200 });
    expect(error.message).toContain('period "2m" is unknown');
  });

  test.each([
    ["HTML", "<!DOCTYPE html><html></html>", "not_json"],
    ["nothing", "", "truncated"],
    ["an array", "[]", "wrong_shape"],
    ["a number", "5", "wrong_shape"],
    ["null", "null", "wrong_shape"],
    ["an object without data", '{"ok":true}', "wrong_shape"],
    ["data that is null", '{"data":null}', "wrong_shape"],
    ["data that is an array", '{"data":[]}', "wrong_shape"],
    ["a second response after the first", '{"data":{}}{"data":{}}', "not_json"],
    ["data twice", '{"data":{},"data":{}}', "malformed"],
    ["a symbol twice", '{"data":{"A.US":{},"A.US":{}}}', "malformed"],
    ["a column twice", '{"data":{"A.US":{"open":[1],"open":[1]}}}', "malformed"],
  ])("%s", async (_, text, kind) => {
    const error = await caught(text);
    expect(error).toBeInstanceOf(WireError);
    expect(error).toMatchObject({ kind });
  });

  test("a response cut after any byte is truncated", async () => {
    const text = document({
      "A.US": kline({ open: [-1.5e-7, 2], prev_close: [null, 1] }),
      "\u00e9\n": [true, false, "\u4e2d"],
    });
    const bytes = utf8(text);
    for (let length = 0; length < bytes.length; length++) {
      const part = bytes.subarray(0, length);
      await expect(decodeKlines([part], { shape: "map" })).rejects.toMatchObject({ kind: "truncated" });
    }
    expect((await decodeKlines([bytes], { shape: "map" })).columns.rows).toBe(2);
  });

  test("a body that breaks off throws what broke it", async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(utf8('{"data":'));
      throw new Error("connection reset");
    }
    await expect(decodeKlines(broken(), { shape: "map" })).rejects.toThrow("connection reset");
  });
});

describe("limits", () => {
  test.each<[string, unknown[]]>([
    ["numbers", [1, 2, 3]],
    ["nulls", [null, null, null]],
    ["strings", ["a", "b", "c"]],
    ["numbers that are not short", [1e-30, 1e-30, 1e-30]],
  ])("a symbol with more bars than permitted is set aside, and the others land: %s", async (_, column) => {
    const text = document({ "A.US": kline(), "BAD.US": { ...kline(), prev_close: column }, "Z.US": kline() });
    const response = await decode(text, { maxBarsPerSymbol: 2, symbols: ["A.US", "BAD.US", "Z.US"] });
    expect(response.columns.symbols).toEqual(["A.US", "Z.US"]);
    expect(response.columns.rows).toBe(4);
    expect(response.unusable).toEqual(["BAD.US"]);
    expect(response.received.get("BAD.US")).toBe(3);
    const issues = response.issues.stored.filter(({ rule }) => rule === "too_many_bars");
    expect(issues).toMatchObject([
      { symbol: "BAD.US", column: "prev_close", index: 2, rejected: 0 },
      { symbol: "BAD.US", message: "BAD.US: 3 bars set aside", rejected: 3 },
    ]);
    const third = JSON.stringify(column[2]);
    expect(textAt(text, issues[0], third.length)).toBe(third);
  });

  test("the times of rejected bars are known, unless one of them has no time", async () => {
    const { timestamp } = kline();
    const [first, second] = timestamp as number[];
    const response = await decode(
      document({
        "A.US": { ...kline(), close: [null, 1] },
        "B.US": { ...kline(), close: [null, 1], timestamp: [first, "x"] },
        "C.US": { ...kline(), close: [1, null], timestamp: [1e16, second] },
        "D.US": { ...kline(), close: [1] },
        "E.US": kline(),
      }),
    );
    expect([...response.setAsideAt]).toEqual([["A.US", [first]]]);
  });

  test("of a symbol with many more bars than permitted all are counted, and its next columns are read on", async () => {
    const long = Array.from({ length: 10_000 }, (_, k) => k);
    const columns = Object.fromEntries(Object.keys(kline()).map((name) => [name, long]));
    const response = await decode(document({ "A.US": columns, "B.US": kline() }), { maxBarsPerSymbol: 3000 });
    expect(response.columns.symbols).toEqual(["B.US"]);
    expect(response.received.get("A.US")).toBe(10_000);
    expect(response.issues.rejected).toBe(10_000);
    expect(response.issues.total).toBe(8);
  });

  test("as many bars as permitted", async () => {
    const response = await decode(document({ "A.US": kline() }), { maxBarsPerSymbol: 2 });
    expect(response.columns.rows).toBe(2);
  });

  test("symbols of a response", async () => {
    const two = { "A.US": kline(), "B.US": kline() };
    expect((await decode(document(two), { maxSymbols: 2 })).columns.rows).toBe(4);
    expect(await caught(document({ ...two, "C.US": {} }), { maxSymbols: 2 })).toMatchObject({
      kind: "limit",
    });
    expect((await decode('{"a":1,"b":2,"c":3,"data":{}}', { maxSymbols: 1 })).columns.rows).toBe(0);
  });

  test("members of the response", async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`m${i}`, i]));
    expect(await caught(JSON.stringify(many))).toMatchObject({ kind: "limit" });
  });

  test("bytes of a response", async () => {
    const limits = { ...DEFAULT_JSON_LIMITS, maxBytes: 20 };
    expect(await caught(document({ "A.US": kline() }), { limits })).toMatchObject({ kind: "limit" });
  });
});
