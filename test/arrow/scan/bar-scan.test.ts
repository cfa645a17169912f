import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { barScan } from "../../../src/arrow/scan/bar-scan.js";
import { Session } from "../../../src/db/session/session.js";
import type { BarSegment } from "../../../src/wire/bar-segment.js";
import { DOUBLE_COLUMNS, type KlineColumns } from "../../../src/wire/kline-columns.js";

let session: Session;
beforeAll(async () => {
  session = await Session.open({ threads: 2 });
});
afterAll(() => session.close());

function columnsOf(times: readonly bigint[]): KlineColumns {
  const rows = times.length;
  const values = Float64Array.from(times, (_, row) => row / 8);
  return {
    rows,
    symbols: ["600000.SH"],
    symbolIndex: new Int32Array(rows),
    timestamp: BigInt64Array.from(times),
    volume: BigInt64Array.from(times, (_, row) => BigInt(row)),
    doubles: Object.fromEntries(
      DOUBLE_COLUMNS.map((name) => [name, { values, validity: undefined }]),
    ) as KlineColumns["doubles"],
  };
}

function segment(columns: KlineColumns, start: number, end: number): BarSegment {
  return { columns, source: "test", symbol: "600000.SH", region: "CN", start, end, isFinal: true };
}

async function read<Row>(segments: readonly BarSegment[], select: string): Promise<Row[]> {
  const scan = session.scan(barScan(segments, 2048));
  try {
    return await session.rows<Row>(`SELECT ${select} FROM ${scan.sql}`);
  } finally {
    scan.release();
  }
}

test("milliseconds become microseconds exactly, before 1970 and far from it", async () => {
  const instant = fc.bigInt({ min: -9_000_000_000_000_000n, max: 9_000_000_000_000_000n });
  await fc.assert(
    fc.asyncProperty(fc.array(instant, { minLength: 1, maxLength: 50 }), async (times) => {
      const columns = columnsOf(times);
      const rows = await read<{ us: bigint }>(
        [segment(columns, 0, times.length)],
        'epoch_us("timestamp") AS us',
      );
      expect(rows.map(({ us }) => us)).toEqual(times.map((ms) => ms * 1000n));
    }),
    { numRuns: 50, examples: [[[0n, -1n, 1n, 4_294_967_295n, 4_294_967_296n, -4_294_967_296n]]] },
  );
});

test("the bits of doubles are integers, null where the doubles are", async () => {
  const numbers = [0, -0, 1453.61, -3.5, 1e308, Number.MIN_VALUE, Number.POSITIVE_INFINITY, 7];
  const columns = columnsOf(numbers.map((_, row) => BigInt(row)));
  const close = { values: Float64Array.from(numbers), validity: Uint8Array.of(0b0111_1111) };
  const given = { ...columns, doubles: { ...columns.doubles, close } };
  const rows = await read<{ bits: bigint | null; c: number | null }>(
    [segment(given, 2, 8), segment(given, 0, 2)],
    `"bits of close" AS bits, "close" AS c`,
  );
  const bits = [...new BigInt64Array(close.values.buffer)].map((word, row) => (row === 7 ? null : word));
  expect(rows.map((row) => row.bits)).toEqual([...bits.slice(2), ...bits.slice(0, 2)]);
  expect(rows.map((row) => row.c)).toEqual([...numbers.slice(2, 7), null, 0, -0]);
});

test("segments of any length follow one another, over the vectors' ends", async () => {
  const times = Array.from({ length: 5000 }, (_, row) => BigInt(row) * 60_000n);
  const columns = columnsOf(times);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(4999), fc.integer({ min: 1, max: 3000 })), { minLength: 1, maxLength: 6 }),
      async (parts) => {
        const segments = parts.map(([start, rows]) => segment(columns, start, Math.min(5000, start + rows)));
        const expected = segments.flatMap(({ start, end }) =>
          Array.from({ length: end - start }, (_, k) => start + k),
        );
        const rows = await read<{ v: bigint; c: number; m: bigint }>(
          segments,
          'volume AS v, "close" AS c, epoch_ms("timestamp") // 60000 AS m',
        );
        expect(rows.map(({ v }) => Number(v))).toEqual(expected);
        expect(rows.map(({ c }) => c * 8)).toEqual(expected);
        expect(rows.map(({ m }) => Number(m))).toEqual(expected);
      },
    ),
    { numRuns: 20 },
  );
});
