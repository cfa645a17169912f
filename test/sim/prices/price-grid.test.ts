import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BOARDS,
  type Board,
  type BoardId,
  dayTick,
  highestTicks,
  hkTick,
  lowestTicks,
  onGrid,
} from "../../../src/sim/instrument.js";

const board = (id: BoardId): Board => BOARDS.find((b) => b.id === id) as Board;

describe("price limits in China", () => {
  test.each([
    ["SH_MAIN", 10_000, 11_000, 9_000],
    ["SH_MAIN", 10_050, 11_060, 9_050],
    ["SZ_MAIN", 3_330, 3_660, 3_000],
    ["SZ_GROWTH", 25_370, 30_440, 20_300],
    ["BJ", 8_880, 11_540, 6_220],
    ["SH_ETF", 1_234, 1_357, 1_111],
  ] as const)("%s at %i: up %i, down %i", (id, prev, up, down) => {
    const tick = dayTick(board(id), prev);
    expect(highestTicks(board(id), prev, tick, false) * tick).toBe(up);
    expect(lowestTicks(board(id), prev, tick, false) * tick).toBe(down);
  });

  test("are off in the first days after a listing", () => {
    expect(highestTicks(board("SH_MAIN"), 10_000, 10, true)).toBe(2000);
    expect(lowestTicks(board("SH_MAIN"), 10_000, 10, true)).toBe(600);
  });
});

describe("steps of the price", () => {
  test.each([
    [249, 1],
    [250, 5],
    [9_990, 10],
    [10_000, 20],
    [20_000, 50],
    [388_000, 200],
    [9_000_000, 5000],
  ])("HK at %i: %i", (milli, tick) => {
    expect(hkTick(milli)).toBe(tick);
  });

  test("a day's step is right for every price the day can reach", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 500, max: 3_000_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (prev, x) => {
          const hk = board("HK_MAIN");
          const tick = dayTick(hk, prev);
          const low = lowestTicks(hk, prev, tick, false);
          const high = highestTicks(hk, prev, tick, false);
          const price = Math.round(low + (high - low) * x) * tick;
          expect(price % hkTick(price)).toBe(0);
          expect(low).toBeLessThan(high);
        },
      ),
    );
  });

  test("rounding to the step moves by no more than half of it", () => {
    fc.assert(
      fc.property(fc.constantFrom(...BOARDS), fc.integer({ min: 500, max: 900_000 }), (b, milli) => {
        const rounded = onGrid(b, milli);
        expect(rounded % dayTick(b, milli)).toBe(0);
        expect(Math.abs(rounded - milli) * 2).toBeLessThanOrEqual(dayTick(b, milli));
      }),
    );
  });
});
