import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { isPresent } from "../../../src/core/bits.js";
import { BarlakeError, ServiceError, WireError } from "../../../src/core/errors.js";
import type { Issue } from "../../../src/core/issue.js";
import { type DecodedKlines, decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { DEFAULT_JSON_LIMITS } from "../../../src/wire/decode/json/json-sink.js";
import type { KlineExpectation } from "../../../src/wire/decode/kline-expectation.js";
import { numberKernel } from "../../../src/wire/kernel/number-kernel.js";
import { OPTIONAL_COLUMNS, WIRE_COLUMNS } from "../../../src/wire/kline-columns.js";
import { barsOf } from "../any-kline-columns.js";
import { anyCuts, cutAt, cutEvery, utf8 } from "../chunks.js";

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

/** Decodes a good symbol on either side of a bad one: the good ones land, and the issues are given back. */
async function between(
  bad: unknown,
  expectation: Partial<KlineExpectation> = {},
): Promise<DecodedKlines & { text: string }> {
  const text = document({ "A.US": kline(), "BAD.US": bad, "Z.US": kline() });
  const response = await decode(text, expectation);
  const bars = barsOf(response.columns);
  const good = { open: 1, high: 3, low: 0.5, close: 1.25, volume: 100n, amount: 10.5 };
  for (const symbol of ["A.US", "Z.US"])
    expect(bars[symbol]).toMatchObject([good, { open: 2, volume: 200n }]);
  return { ...response, text };
}

const times = (response: DecodedKlines, symbol: string): number[] | undefined =>
  barsOf(response.columns)[symbol]?.map((bar) => bar.timestamp);
const opens = (response: DecodedKlines, symbol: string): unknown[] | undefined =>
  barsOf(response.columns)[symbol]?.map((bar) => bar.open);

/** What is in the document at the place that an issue names. */
const textAt = (text: string, issue: Issue | undefined, length: number): string =>
  text.slice(issue?.byteOffset, (issue?.byteOffset ?? 0) + length);

describe("good responses", () => {
  test("a map of symbols", async () => {
    const response = await decode(document({ "A.US": kline(), "B.US": kline({ prev_close: [1.5, null] }) }), {
      symbols: ["A.US", "B.US", "C.US"],
    });
    expect(response.issues.total).toBe(0);
    expect(response.absent).toEqual(["C.US"]);
    expect([...response.received]).toEqual([
      ["A.US", 2],
      ["B.US", 2],
    ]);
    expect(barsOf(response.columns)["B.US"]?.map((bar) => bar.prev_close)).toEqual([1.5, undefined]);
    expect(barsOf(response.columns)["A.US"]?.map((bar) => bar.prev_close)).toEqual([undefined, undefined]);
  });

  test("a single symbol", async () => {
    const response = await decode(document(kline()), { shape: "single", symbols: ["A.US"] });
    expect(times(response, "A.US")).toEqual([1000, 2000]);
    expect(response.absent).toEqual([]);
  });

  test("no symbol, or a symbol without bars, is absent and no issue", async () => {
    const empty = kline(Object.fromEntries(Object.keys(kline()).map((name) => [name, []])));
    const response = await decode(document({ "A.US": empty }), { symbols: ["A.US", "B.US"] });
    expect([response.columns.rows, response.issues.total, response.absent]).toEqual([0, 0, ["A.US", "B.US"]]);
    expect((await decode(document({}))).columns.rows).toBe(0);
  });

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

  test("an integer may be written with a fraction of zeros or an exponent", async () => {
    const text = document({ "A.US": kline({ volume: "V" }) }).replace('"V"', "[100.0,2.5e2]");
    expect([...(await decode(text)).columns.volume]).toEqual([100n, 250n]);
  });

  test("members in any order, unknown members of any kind, cut anywhere: the same bars", async () => {
    const anyOther = fc.dictionary(
      fc.string().filter((key) => !WIRE_COLUMNS.includes(key)),
      fc.jsonValue(),
      { maxKeys: 3 },
    );
    const anyOrder = fc.shuffledSubarray(Object.keys(kline()), { minLength: 7 });
    const expected = barsOf((await decode(document({ "A.US": kline(), "B.US": kline() }))).columns);
    await fc.assert(
      fc.asyncProperty(anyOther, anyOther, anyOrder, anyCuts, async (outer, inner, order, cuts) => {
        const shuffled = Object.fromEntries(order.map((name) => [name, kline()[name]]));
        const { data: _, ...around } = outer;
        const data = { "A.US": { ...inner, ...shuffled }, "B.US": { ...shuffled, ...inner } };
        const text = JSON.stringify({ ...around, data, "": around });
        const response = await decodeKlines(cutAt(utf8(text), cuts), { shape: "map" });
        expect(response.issues.stored).toEqual([]);
        expect(barsOf(response.columns)).toEqual(expected);
      }),
    );
  });

  test("optional columns that are null, missing or empty of values are nulls", async () => {
    const response = await decode(
      document({ "A.US": kline({ prev_close: null, open_interest: [null, null] }) }),
    );
    expect(response.issues.total).toBe(0);
    for (const name of OPTIONAL_COLUMNS) {
      expect(barsOf(response.columns)["A.US"]?.map((bar) => bar[name as "prev_close"])).toEqual([
        undefined,
        undefined,
      ]);
    }
  });

  test("symbols with the same columns, and columns that come and go among them", async () => {
    const one = (time: number, more: Columns = {}): Columns => ({
      ...Object.fromEntries(Object.keys(kline()).map((name) => [name, [time]])),
      ...more,
    });
    const names = Array.from({ length: 300 }, (_, n) => `${600_000 + n}.SH`);
    const of = (n: number): Columns => one(1000 + n, n % 100 > 50 ? { prev_close: [n] } : {});
    const text = document(Object.fromEntries(names.map((name, n) => [name, of(n)])));
    const response = await decode(text, { symbols: names });
    expect(response.issues.total).toBe(0);
    expect(response.columns.symbols).toEqual(names);
    const bars = barsOf(response.columns);
    expect(names.map((name) => bars[name]?.map(({ close, prev_close }) => [close, prev_close]))).toEqual(
      names.map((_, n) => [[1000 + n, n % 100 > 50 ? n : undefined]]),
    );
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

  test.each([
    ["a time outside the window", { timestamp: [9999] }],
    ["a symbol that was not requested", {}, "OTHER.US"],
    ["a bar too many", Object.fromEntries(Object.keys(kline()).map((name) => [name, [1000, 1001]]))],
    ["a column of another length", { open: [1, 2] }],
    ["a column less", { open: undefined }],
    ["a null", { open: [null] }],
    ["a fraction of a volume", { volume: [1.5] }],
    ["an unknown member", { other: [1] }],
  ])(
    "among such symbols one with %s is set aside or ignored, and the others land",
    async (_, changes, name = "C.US") => {
      const good = Object.fromEntries(Object.keys(kline()).map((key) => [key, [1000]]));
      const odd = Object.fromEntries(
        Object.entries({ ...good, ...changes }).filter(([, v]) => v !== undefined),
      );
      const symbols = ["A.US", "B.US", "C.US", "D.US", "E.US"];
      const data = { "A.US": good, "B.US": good, [name]: odd, "D.US": good, "E.US": good };
      const expectation = { symbols, window: { first: 0, last: 2000 }, maxBarsPerSymbol: 1 };
      const response = await decode(document(data), expectation);
      const isTaken = "other" in changes;
      expect(response.columns.symbols.filter((one) => one !== name)).toEqual([
        "A.US",
        "B.US",
        "D.US",
        "E.US",
      ]);
      expect(times(response, name) ?? []).toEqual(isTaken ? [1000] : []);
      expect(response.issues.total > 0).toBe(!isTaken);
    },
  );

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
  test.each<[string, Columns, Partial<Issue>, string]>([
    [
      "null in a required column",
      { open: [null, 2] },
      { rule: "null_in_required", column: "open", index: 0 },
      "null",
    ],
    [
      "null as a timestamp",
      { timestamp: [null, 2000] },
      { rule: "null_in_required", column: "timestamp", index: 0 },
      "null",
    ],
    ["a string", { high: ["3", 4] }, { rule: "wrong_type", column: "high", index: 0 }, '"3"'],
    ["a boolean", { low: [true, 1] }, { rule: "wrong_type", column: "low", index: 0 }, "true"],
    [
      "an object",
      { close: [{ open: [1], x: {} }, 2.25] },
      { rule: "wrong_type", column: "close", index: 0 },
      '{"open"',
    ],
    ["an array", { amount: [[1, [2]], 20.5] }, { rule: "wrong_type", column: "amount", index: 0 }, "[1,[2]]"],
    [
      "a string in an optional column",
      { prev_close: ["x", 1] },
      { rule: "wrong_type", column: "prev_close", index: 0 },
      '"x"',
    ],
    [
      "a fraction of shares",
      { volume: [0.5, 200] },
      { rule: "fraction_in_integer", column: "volume", index: 0 },
      "0.5",
    ],
    [
      "a small fraction of shares",
      { volume: [1e-30, 200] },
      { rule: "fraction_in_integer", column: "volume", index: 0 },
      "1e-30",
    ],
    [
      "a volume beyond 64 bits",
      { volume: [1e30, 200] },
      { rule: "out_of_range", column: "volume", index: 0 },
      "1e+30",
    ],
    [
      "seconds for milliseconds, before 1900",
      { timestamp: [-1e14, 2000] },
      { rule: "out_of_range", column: "timestamp", index: 0 },
      '"timestamp"',
    ],
    [
      "microseconds for milliseconds",
      { timestamp: [1.7e15, 2000] },
      { rule: "out_of_range", column: "timestamp", index: 0 },
      '"timestamp"',
    ],
  ])("%s", async (_, changes, expected, found) => {
    const response = await between(kline(changes));
    expect(opens(response, "BAD.US")).toEqual([2]);
    expect(response.issues.stored).toMatchObject([{ symbol: "BAD.US", rejected: 1, ...expected }]);
    expect(textAt(response.text, response.issues.stored[0], found.length)).toBe(found);
    expect(response.issues.stored[0]?.message).toMatch(/^BAD\.US: \w+\[0\] is /);
    expect(response.received.get("BAD.US")).toBe(2);
  });

  test("a double that overflows", async () => {
    const text = document({ "A.US": kline({ open: "V" }) }).replace('"V"', "[1e999,2]");
    const response = await decode(text);
    expect(opens(response, "A.US")).toEqual([2]);
    expect(response.issues.stored).toMatchObject([
      { rule: "out_of_range", column: "open", index: 0, byteOffset: text.indexOf("1e999") },
    ]);
  });

  test("a double that overflows in an optional column, which becomes null: the bar remains", async () => {
    const text = document({ "A.US": kline({ prev_close: "V" }) }).replace('"V"', "[1e999,2]");
    const response = await decode(text);
    expect(opens(response, "A.US")).toHaveLength(2);
    const { values, validity } = response.columns.doubles.prev_close;
    expect([0, 1].map((row) => (isPresent(validity, row) ? values[row] : null))).toEqual([null, 2]);
    expect(response.issues.stored).toMatchObject([
      {
        rule: "out_of_range",
        column: "prev_close",
        index: 0,
        rejected: 0,
        byteOffset: text.indexOf("1e999"),
      },
    ]);
  });

  test("a bar with two defects is reported twice and counted once", async () => {
    const response = await between(kline({ open: [null, 2], close: ["x", 2] }));
    expect(response.issues.stored.map((issue) => issue.rejected)).toEqual([1, 0]);
    expect(response.issues.rejected).toBe(1);
  });

  test("bars outside the window, whose ends are inclusive", async () => {
    const five = (from: number): number[] => [0, 1, 2, 3, 4].map((i) => from + i);
    const bars = kline({
      ...Object.fromEntries(Object.keys(kline()).map((name) => [name, five(1)])),
      timestamp: five(998),
    });
    const response = await decode(document({ "A.US": bars }), { window: { first: 999, last: 1001 } });
    expect(times(response, "A.US")).toEqual([999, 1000, 1001]);
    expect(opens(response, "A.US")).toEqual([2, 3, 4]);
    expect(response.issues.stored).toMatchObject([
      { rule: "outside_window", column: "timestamp", index: 0, rejected: 1 },
      { rule: "outside_window", column: "timestamp", index: 4, rejected: 1 },
    ]);
  });

  test("no window is so wide that microseconds pass for milliseconds", async () => {
    const window = { first: Number.MIN_SAFE_INTEGER, last: Number.MAX_SAFE_INTEGER };
    const response = await decode(document({ "A.US": kline({ timestamp: [1000, 1.7e15] }) }), { window });
    expect(times(response, "A.US")).toEqual([1000]);
    expect(response.issues.stored).toMatchObject([{ rule: "out_of_range", index: 1 }]);
  });
});

describe("the order of time", () => {
  test("bars that are not sorted are sorted, with a remark", async () => {
    const response = await between(kline({ timestamp: [2000, 1000], prev_close: [null, 7] }));
    expect(times(response, "BAD.US")).toEqual([1000, 2000]);
    expect(opens(response, "BAD.US")).toEqual([2, 1]);
    expect(barsOf(response.columns)["BAD.US"]?.map((bar) => bar.prev_close)).toEqual([7, undefined]);
    expect(response.issues.stored).toMatchObject([
      { rule: "unsorted", symbol: "BAD.US", column: "timestamp", rejected: 0 },
    ]);
  });

  test("of equal timestamps the last delivered is used, with its values and nulls", async () => {
    const response = await between(kline({ timestamp: [1000, 1000], settlement_price: [9, null] }));
    expect(times(response, "BAD.US")).toEqual([1000]);
    expect(barsOf(response.columns)["BAD.US"]).toMatchObject([
      { open: 2, volume: 200n, settlement_price: undefined },
    ]);
    expect(response.issues.stored).toMatchObject([{ rule: "duplicate_key", rejected: 1 }]);
  });

  test("any order and any repeats: what a map of the deliveries holds (the slow way)", async () => {
    const anyDelivery = fc.array(fc.tuple(fc.nat(30), fc.option(fc.nat(99), { nil: null })), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(anyDelivery, async (delivered) => {
        const row = delivered.map((_, i) => i);
        const columns = kline({
          ...Object.fromEntries(Object.keys(kline()).map((name) => [name, row])),
          timestamp: delivered.map(([time]) => time),
          open_interest: delivered.map(([, value]) => value),
        });
        const response = await decode(document({ "A.US": columns, "B.US": kline() }));
        const newest = new Map(delivered.map(([time, value], i) => [time, [i, value ?? undefined]]));
        const expected = [...newest].sort(([a], [b]) => a - b).map(([time, [open, oi]]) => [time, open, oi]);
        const found = barsOf(response.columns)["A.US"]?.map((bar) => [
          bar.timestamp,
          bar.open,
          bar.open_interest,
        ]);
        expect(found).toEqual(expected);
        expect(response.issues.rejected).toBe(delivered.length - newest.size);
        expect(times(response, "B.US")).toEqual([1000, 2000]);
      }),
    );
  });
});

describe("a bad symbol is set aside whole, and the others land", () => {
  test.each<[string, unknown, Partial<Issue>, string]>([
    ["a column too short", kline({ close: [1] }), { rule: "unequal_lengths", column: "close" }, '"close"'],
    [
      "a column too long",
      kline({ prev_close: [1, 2, 3] }),
      { rule: "unequal_lengths", column: "prev_close" },
      '"prev_close"',
    ],
    [
      "a required column missing",
      kline({ volume: undefined }),
      { rule: "missing_column", column: "volume" },
      '{"timestamp"',
    ],
    ["a number for a column", kline({ open: 5 }), { rule: "wrong_type", column: "open" }, "5"],
    ["a string for a column", kline({ open: "5" }), { rule: "wrong_type", column: "open" }, '"5"'],
    ["an object for a column", kline({ open: { 0: 1 } }), { rule: "wrong_type", column: "open" }, '{"0":1}'],
    ["null for a required column", kline({ open: null }), { rule: "wrong_type", column: "open" }, "null"],
    [
      "a boolean for an optional column",
      kline({ prev_close: false }),
      { rule: "wrong_type", column: "prev_close" },
      "false",
    ],
  ])("%s", async (_, bad, expected, found) => {
    const response = await between(bad);
    expect(response.columns.symbols).toEqual(["A.US", "Z.US"]);
    const [issue, total] = response.issues.stored;
    expect(issue).toMatchObject({ symbol: "BAD.US", rejected: 0, ...expected });
    expect(textAt(response.text, issue, found.length)).toBe(found);
    expect(total).toMatchObject({ symbol: "BAD.US", rule: expected.rule });
    expect(response.issues.rejected).toBeGreaterThanOrEqual(2);
  });

  test("without timestamps nothing can be placed, yet the bars count as received: they are not absent", async () => {
    const response = await between(kline({ timestamp: undefined }), { symbols: ["A.US", "BAD.US", "Z.US"] });
    expect(response.columns.symbols).toEqual(["A.US", "Z.US"]);
    expect(response.issues.stored[0]).toMatchObject({ rule: "missing_column", column: "timestamp" });
    expect([response.received.get("BAD.US"), response.issues.rejected, response.absent]).toEqual([2, 2, []]);
  });

  test.each<[string, unknown, string]>([
    ["null", null, "null"],
    ["a number", 5, "5"],
    ["a string", "x", '"x"'],
    ["an array", [kline()], "[{"],
  ])("%s for its data", async (kind, bad, found) => {
    const response = await between(bad);
    expect(response.issues.stored).toMatchObject([{ rule: "wrong_type", symbol: "BAD.US" }]);
    expect(response.issues.stored[0]?.message).toContain(`is ${kind}, not Compact K-line data`);
    expect(textAt(response.text, response.issues.stored[0], found.length)).toBe(found);
  });

  test("an entry that was not requested, or whose key is no symbol", async () => {
    const text = document({ "A.US": kline(), "B.US": kline(), "../etc": kline(), "Z.US": kline() });
    const response = await decode(text, { symbols: ["A.US", "Z.US"] });
    expect(response.columns.symbols).toEqual(["A.US", "Z.US"]);
    expect(response.issues.stored).toMatchObject([
      { rule: "not_requested", symbol: "B.US", byteOffset: text.indexOf('"B.US"') },
      { rule: "bad_symbol", symbol: "../etc", byteOffset: text.indexOf('"../etc"') },
    ]);
  });

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
