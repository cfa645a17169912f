import { expect, test } from "vitest";
import { adjustmentSteps } from "../../../src/market/adjustment-steps.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import type { Klines } from "../reference-klines.js";
import { type LandedBar, landRows, serveForTest } from "../served-lake.js";

const DAY = 86_400_000;
const FIRST = Date.parse("2023-12-31T16:00:00Z");

/** A bar of 600000.SH whose four prices are one. */
const flat = (n: number, close: number, prev: number | null = null): LandedBar => ({
  symbol: "600000.SH",
  timestamp: FIRST + n * DAY,
  open: close,
  high: close,
  low: close,
  close,
  volume: 10,
  amount: 5,
  prev_close: prev,
});

type Batch = { data: Readonly<Record<string, Klines>> };

test("cuts time at the ex-dates", () => {
  const events = [
    { day: 10, factor: 2, amount: 5 },
    { day: 20, factor: 4, amount: 3 },
  ];
  const [first, last] = [-10_000_000, 10_000_000];
  expect(adjustmentSteps(events, "none")).toEqual([]);
  expect(adjustmentSteps([], "forward")).toEqual([]);
  expect(adjustmentSteps(events, "forward")).toEqual([
    { start: first, end: 10, value: 8 },
    { start: 10, end: 20, value: 4 },
  ]);
  expect(adjustmentSteps(events, "backward")).toEqual([
    { start: 10, end: 20, value: 2 },
    { start: 20, end: last, value: 8 },
  ]);
  expect(adjustmentSteps(events, "forward_additive")).toEqual([
    { start: first, end: 10, value: -8 },
    { start: 10, end: 20, value: -3 },
  ]);
  expect(adjustmentSteps(events, "backward_additive")).toEqual([
    { start: 10, end: 20, value: 5 },
    { start: 20, end: last, value: 8 },
  ]);
});

test("adjusts prices and the previous close, and neither volume nor amount", async () => {
  const { ask } = await serveForTest((lake) =>
    landRows(lake, BARS_1D, [flat(0, 10), flat(1, 8, 10), flat(2, 4, 4), flat(3, 6, 4), flat(4, 5, 3)]),
  );
  const closes = async (adjust: string): Promise<Klines> => {
    const { body } = await ask<Batch>(`/v1/klines/batch?symbols=600000.SH${adjust}`);
    return body.data["600000.SH"] as Klines;
  };
  // Events: day 2 (8 -> 4, factor 2), day 4 (6 -> 3, factor 2).
  expect((await closes("&adjust=none")).close).toEqual([10, 8, 4, 6, 5]);
  const forward = await closes("&adjust=forward");
  expect(forward.close).toEqual([2.5, 2, 2, 3, 5]);
  expect(forward.prev_close).toEqual([null, 2.5, 2, 2, 3]);
  expect(forward.volume).toEqual([10, 10, 10, 10, 10]);
  expect(forward.amount).toEqual([5, 5, 5, 5, 5]);
  expect(await closes("")).toEqual(forward);
  expect((await closes("&adjust=backward")).close).toEqual([10, 8, 8, 12, 20]);
  expect((await closes("&adjust=forward_additive")).close).toEqual([3, 1, 1, 3, 5]);
  expect((await closes("&adjust=backward_additive")).close).toEqual([10, 8, 8, 10, 12]);
  // A window changes what is answered, not what it is adjusted by.
  expect((await closes(`&adjust=forward&end_time=${FIRST + DAY}&count=1`)).close).toEqual([2]);
  expect((await closes(`&adjust=backward&start_time=${FIRST + 4 * DAY}`)).close).toEqual([20]);
});

test("takes no event from a close, or a previous close, of 0 or from binary noise", async () => {
  const { ask } = await serveForTest((lake) =>
    landRows(lake, BARS_1D, [
      flat(0, 10),
      flat(1, 0, 10),
      flat(2, 9, 5),
      flat(3, 8, 0),
      flat(4, 7, 8 * (1 + 5e-10)),
    ]),
  );
  for (const adjust of ["forward", "backward", "forward_additive", "backward_additive"]) {
    const { body } = await ask<Batch>(`/v1/klines/batch?symbols=600000.SH&adjust=${adjust}`);
    expect(body.data["600000.SH"]?.close).toEqual([10, 0, 9, 8, 7]);
  }
});

test("adjusts minutes by their trading date, before they are aggregated", async () => {
  const minute = (n: number, clock: string, price: number): LandedBar => ({
    ...flat(n, price),
    timestamp: Date.parse(`${new Date(FIRST + (n + 1) * DAY).toISOString().slice(0, 10)}T${clock}:00+08:00`),
  });
  const { ask } = await serveForTest(async (lake) => {
    await landRows(lake, BARS_1D, [flat(0, 10), flat(1, 6, 5), flat(2, 7, 6)]);
    await landRows(lake, BARS_1M, [
      minute(0, "15:00", 10),
      minute(1, "09:30", 5.5),
      minute(1, "09:31", 5),
      minute(1, "15:00", 6),
    ]);
  });
  const of = async (query: string): Promise<Klines> =>
    (await ask<Batch>(`/v1/klines/batch?symbols=600000.SH&${query}`)).body.data["600000.SH"] as Klines;
  expect((await of("period=1m")).close).toEqual([5, 5.5, 5, 6]);
  expect((await of("period=1m&adjust=backward")).close).toEqual([10, 11, 10, 12]);
  const hours = await of("period=60m");
  expect(hours.close).toEqual([5, 5, 6]);
  expect(hours.open).toEqual([5, 5.5, 6]);
});

test("sees a new event as soon as its bar is landed", async () => {
  const { ask, lake: own } = await serveForTest((lake) =>
    landRows(lake, BARS_1D, [flat(0, 10), flat(1, 10, 10)]),
  );
  const path = "/v1/klines/batch?symbols=600000.SH";
  expect((await ask<Batch>(path)).body.data["600000.SH"]?.close).toEqual([10, 10]);
  await landRows(own, BARS_1D, [flat(2, 5, 5)]);
  expect((await ask<Batch>(path)).body.data["600000.SH"]?.close).toEqual([5, 5, 5]);
});

test("finds a whole oldest bar although the years before it are missing", async () => {
  const years = [2021, 2024].flatMap((year) =>
    Array.from({ length: 12 }, (_, month) => ({
      ...flat(0, year - 2000 + month),
      timestamp: Date.parse(`${year}-${String(month + 1).padStart(2, "0")}-15T00:00:00+08:00`),
    })),
  );
  const { ask } = await serveForTest((lake) => landRows(lake, BARS_1D, years));
  const { body } = await ask<Batch>("/v1/klines/batch?symbols=600000.SH&period=1Y&count=2&adjust=none");
  expect(body.data["600000.SH"]).toMatchObject({
    open: [21, 24],
    high: [32, 35],
    low: [21, 24],
    volume: [120, 120],
  });
});
