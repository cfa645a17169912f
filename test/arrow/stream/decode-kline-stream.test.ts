import { type Table, TimestampMillisecond, tableFromArrays, tableToIPC, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeKlineStream } from "../../../src/arrow/stream/decode-kline-stream.js";
import { klineStream } from "../../../src/arrow/stream/kline-stream.js";
import { setBit } from "../../../src/core/bits.js";
import { WireError } from "../../../src/core/errors.js";
import { type DecodedKlines, decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import type { KlineExpectation } from "../../../src/wire/decode/kline-expectation.js";
import { encodeRuns } from "../../../src/wire/encode/encode-klines.js";
import {
  DOUBLE_COLUMNS,
  type KlineRun,
  type KlineValues,
  OPTIONAL_COLUMNS,
} from "../../../src/wire/kline-columns.js";

const START = Date.UTC(2024, 0, 2);

/** A run whose optional columns have nulls every so many rows; 0: only nulls. @param first of its values. */
function runOf(symbol: string, times: readonly number[], nulls: number | undefined, first = 0): KlineRun {
  const length = times.length;
  const doubles = DOUBLE_COLUMNS.map((name, salt) => {
    const values = Float64Array.from({ length }, (_, row) => first + salt + row / 8);
    if (!OPTIONAL_COLUMNS.has(name) || nulls === undefined) return [name, { values, validity: undefined }];
    const validity = new Uint8Array(Math.ceil(length / 8));
    for (let row = 0; row < length; row++) if (nulls > 0 && row % nulls !== 0) setBit(validity, row);
    return [name, { values: nulls === 0 ? new Float64Array(0) : values, validity }];
  });
  const values = {
    timestamp: BigInt64Array.from(times, (minute) => BigInt(START + minute * 60_000)),
    volume: BigInt64Array.from({ length }, (_, row) => 2n ** 60n + BigInt(row)),
    doubles: Object.fromEntries(doubles),
  } as KlineValues;
  return { symbol, values, start: 0, end: length };
}

function bytesOf(runs: readonly KlineRun[]): Buffer {
  const facts = { symbols: runs.map(({ symbol }) => symbol), metadata: new Map([["period", "1m"]]) };
  return Buffer.concat([...klineStream(runs, facts).pieces()]);
}

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const decode = (bytes: Uint8Array, expectation: KlineExpectation = { shape: "map" }, size = 1 << 16) =>
  decodeKlineStream(cut(bytes, size), expectation);

/** What a response shows, by symbol: the order of symbols without bars does not matter. */
function shown({ columns, issues, absent, unusable, received }: DecodedKlines): unknown {
  const rows = Array.from({ length: columns.rows }, (_, row) => [
    columns.symbols[columns.symbolIndex[row] as number],
    columns.timestamp[row],
    columns.volume[row],
    ...DOUBLE_COLUMNS.map((name) => {
      const { values, validity } = columns.doubles[name];
      return validity === undefined || (validity[row >> 3] as number) & (1 << (row & 7)) ? values[row] : null;
    }),
  ]);
  const found = issues.stored.map(({ rule, symbol, column, index, rejected }) => [
    rule,
    symbol,
    column,
    index,
    rejected,
  ]);
  return { rows, symbols: [...columns.symbols].sort(), found, absent, unusable, received: new Map(received) };
}

const anyTimes = fc.oneof(
  fc.nat(12).map((length) => Array.from({ length }, (_, k) => k * 3)),
  fc.array(fc.nat(40), { maxLength: 12 }),
);

test("a stream shows what the same bars show as JSON, however it is cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyTimes, fc.constantFrom(undefined, 0, 2, 3)), { maxLength: 5 }),
      fc.integer({ min: 1, max: 400 }),
      async (drawn, size) => {
        const names = ["600000.SH", "600001.SH", "600002.SH", "not a symbol", "600009.SH"];
        const runs = drawn.map(([times, nulls], k) => runOf(names[k] as string, times, nulls));
        const expectation: KlineExpectation = {
          shape: "map",
          symbols: ["600000.SH", "600001.SH", "600002.SH", "600007.SH"],
          window: { first: START, last: START + 30 * 60_000 },
          maxBarsPerSymbol: 10,
        };
        const json = await decodeKlines([encodeRuns(runs, "map")], expectation);
        const arrow = await decode(bytesOf(runs), expectation, size);
        const order = ({ found, ...rest }: { found: unknown[] }) => ({
          ...rest,
          found: found.map((one) => JSON.stringify(one)).sort(),
        });
        expect(order(shown(arrow) as never)).toEqual(order(shown(json) as never));
      },
    ),
    { numRuns: 60 },
  );
});

test("each symbol has its own values, in one batch or in several, while the memory of batches is used again", async () => {
  const anyLength = fc.oneof(fc.nat(40), fc.constantFrom(16_383, 16_384, 16_385, 40_000), fc.nat(30_000));
  await fc.assert(
    fc.asyncProperty(fc.array(anyLength, { minLength: 3, maxLength: 9 }), async (lengths) => {
      const runs = lengths.map((length, k) => {
        const times = Array.from({ length }, (_, row) => row);
        return runOf(`${600_000 + k}.SH`, times, k % 3 === 0 ? 5 : undefined, 100_000 * k);
      });
      const { columns } = await decode(bytesOf(runs));
      let row = 0;
      for (const [k, length] of lengths.entries())
        for (const name of ["open", "close", "prev_close"] as const) {
          const { values } = columns.doubles[name];
          const salt = DOUBLE_COLUMNS.indexOf(name);
          const isOwn = (at: number): boolean =>
            (k % 3 === 0 && OPTIONAL_COLUMNS.has(name)) || values[row + at] === 100_000 * k + salt + at / 8;
          expect([name, k, Array.from({ length }, (_, at) => at).find((at) => !isOwn(at))]).toEqual([
            name,
            k,
            undefined,
          ]);
          if (name === "prev_close") row += length;
        }
      expect(columns.rows).toBe(row);
    }),
    { numRuns: 8 },
  );
});

test("a symbol that goes on in the next batch is one symbol", async () => {
  const times = Array.from({ length: 33_000 }, (_, k) => k);
  const runs = [runOf("600000.SH", times, 3), runOf("600001.SH", [1, 2], 0)];
  const { columns } = await decode(bytesOf(runs));
  const json = await decodeKlines([encodeRuns(runs, "map")], { shape: "map" });
  expect([columns.rows, columns.symbols]).toEqual([33_002, ["600000.SH", "600001.SH"]]);
  const bytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
    Buffer.from(buffer, byteOffset, byteLength);
  for (const name of ["timestamp", "volume", "symbolIndex"] as const)
    expect(bytes(columns[name]).equals(bytes(json.columns[name])), name).toBe(true);
  for (const name of DOUBLE_COLUMNS) {
    const [arrow, other] = [columns.doubles[name], json.columns.doubles[name]];
    expect(bytes(arrow.values).equals(bytes(other.values)), name).toBe(true);
    expect(arrow.validity).toEqual(other.validity);
  }
});

test("nulls and values that are no numbers are defects of their bars", async () => {
  const run = runOf("600000.SH", [1, 2, 3, 4], undefined);
  run.values.doubles.close.values.set([Number.NaN, 1, Number.POSITIVE_INFINITY], 0);
  const { columns, issues } = await decode(bytesOf([run]));
  expect(columns.rows).toBe(2);
  expect(issues.stored.map(({ rule, index }) => [rule, index])).toEqual([
    ["out_of_range", 0],
    ["out_of_range", 2],
  ]);
});

test("a stream that is cut, or goes on behind its end, is refused", async () => {
  const bytes = bytesOf([runOf("600000.SH", [1, 2, 3], 2), runOf("600001.SH", [1], 0)]);
  for (let end = 0; end < bytes.length; end += 7)
    await expect(decode(bytes.subarray(0, end))).rejects.toMatchObject({ kind: "truncated" });
  await expect(decode(bytes.subarray(0, bytes.length - 8))).rejects.toMatchObject({ kind: "truncated" });
  await expect(decode(Buffer.concat([bytes, Buffer.of(0)]))).rejects.toThrow("goes on behind its end");
});

test("bytes of any kind are bars or an error of the wire", async () => {
  const good = bytesOf([runOf("600000.SH", [1, 2, 3], 2), runOf("600001.SH", [1], 0)]);
  const anyDamage = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 });
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.uint8Array({ maxLength: 200 }).map((tail) => Buffer.concat([good.subarray(0, 8), tail])),
    anyDamage.map((damage) => {
      const bytes = Buffer.from(good);
      for (const [at, byte] of damage) bytes[at] = byte;
      return bytes;
    }),
  );
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(anyBytes, async (bytes) => {
      const result = await decode(bytes).catch((error: unknown) => error);
      if (result instanceof WireError) refused += 1;
      else expect(result).toHaveProperty("columns");
    }),
    { numRuns: 400 },
  );
  expect(refused).toBeGreaterThan(100);
});

test.each([
  ["metadata", Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 127)],
  ["a message", Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)],
])("an absurd length of %s takes no memory", async (_, bytes) => {
  await expect(decode(bytes)).rejects.toThrow(/has metadata of 2147483647 bytes|has no message/);
});

describe("another schema is refused", () => {
  const bars = (columns: object, without?: string) => {
    const names = ["open", "high", "low", "close", "amount"];
    const all = {
      symbol: vectorFromArray(["600000.SH"]),
      timestamp: vectorFromArray([START], new TimestampMillisecond("UTC")),
      volume: BigInt64Array.of(1n),
      ...Object.fromEntries(names.map((name) => [name, Float64Array.of(1)])),
      ...columns,
    };
    const kept = Object.entries(all).filter(([name]) => name !== without);
    return tableToIPC(tableFromArrays(Object.fromEntries(kept) as Record<string, never>) as Table, "stream");
  };

  test("these are bars, and a column of another name is skipped", async () => {
    const { columns } = await decode(bars({ note: vectorFromArray(["a text"]), close: Float64Array.of(7) }));
    expect([columns.symbols, columns.doubles.close.values[0]]).toEqual([["600000.SH"], 7]);
  });

  test.each([
    [
      "column timestamp has another type than milliseconds with a zone",
      bars({ timestamp: BigInt64Array.of(1n) }),
    ],
    ["column volume has another type than int64", bars({ volume: Float64Array.of(1) })],
    ["column open has another type than double", bars({ open: Float32Array.of(1) })],
    ["column symbol is not a dictionary of text", bars({ symbol: Float64Array.of(1) })],
    ["column timestamp is missing", bars({}, "timestamp")],
    ["column symbol is missing", bars({}, "symbol")],
  ])("%s", async (message, bytes) => {
    const refused = await decode(bytes).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "wrong_shape" });
    expect(String(refused)).toContain(message);
  });
});
