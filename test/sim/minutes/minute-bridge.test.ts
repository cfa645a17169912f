import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Region } from "../../../src/market/regions.js";
import { type DayShape, emptyShape } from "../../../src/sim/minutes/day-shape.js";
import { bridgeMinutes, minuteBuffer, SESSION_MINUTES } from "../../../src/sim/minutes/minute-bars.js";

const part = fc.double({ min: 0, max: 1, noNaN: true });

/** Any day at all: extremes of price, volume and amount that the simulation itself hardly ever draws. */
const anyDay = fc
  .record({
    key: fc.integer(),
    low: fc.integer({ min: 1, max: 100_000 }),
    range: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 40_000 })),
    open: part,
    close: part,
    volume: fc.oneof(fc.integer({ min: 4, max: 400 }), fc.integer({ min: 4, max: 2_000_000_000 })),
    amount: fc.oneof(part, fc.constantFrom(0, 1)),
    turns: fc.tuple(part, part),
    lowFirst: fc.boolean(),
    sealed: fc.boolean(),
    auction: fc.boolean(),
  })
  .map((d): DayShape => {
    const high = d.low + d.range;
    const at = (x: number): number => d.low + Math.round(x * d.range);
    const [a, b] = [Math.min(...d.turns), Math.max(...d.turns)];
    const turn2Price = d.lowFirst ? high : d.low;
    return {
      ...emptyShape(),
      key: d.key,
      open: at(d.open),
      close: d.sealed ? turn2Price : at(d.close),
      high,
      low: d.low,
      volume: d.volume,
      amount: d.low * d.volume + Math.floor(d.amount * d.range * d.volume),
      turn1Volume: a,
      turn2Volume: b,
      turn1Price: d.lowFirst ? d.low : high,
      turn2Price,
      sealed: d.sealed,
      auction: d.auction,
    };
  });

describe("minutes of a day", () => {
  test("aggregate to the day exactly, and no amount leaves its bar", () => {
    fc.assert(
      fc.property(anyDay, fc.constantFrom<Region>("CN", "HK", "US"), fc.nat(200), (day, region, spare) => {
        const session = SESSION_MINUTES[region];
        const bars = session.labels.length;
        const out = minuteBuffer(bars + spare);
        const first = bridgeMinutes(day, session, out);
        expect(first).toBe(region === "CN" && !day.auction ? 1 : 0);
        let [high, low, volume, amount] = [0, Number.POSITIVE_INFINITY, 0, 0];
        for (let i = first; i < bars; i++) {
          const [o, h, l, c] = [out.open[i], out.high[i], out.low[i], out.close[i]] as [
            number,
            number,
            number,
            number,
          ];
          const [v, a] = [out.volume[i], out.amount[i]] as [number, number];
          if (!(l <= o && l <= c && o <= h && c <= h)) throw new Error(`bar ${i} is ${o} ${h} ${l} ${c}`);
          if (!(Number.isInteger(v) && v >= 0 && a >= l * v && a <= h * v && Number.isInteger(a))) {
            throw new Error(`bar ${i} has volume ${v}, amount ${a} in [${l}, ${h}]`);
          }
          if (v === 0 && !(o === c && h === l && a === 0)) throw new Error(`bar ${i} moves without trades`);
          high = Math.max(high, h);
          low = Math.min(low, l);
          volume += v;
          amount += a;
        }
        expect([out.open[first], high, low, out.close[bars - 1], volume, amount]).toEqual([
          day.open,
          day.high,
          day.low,
          day.close,
          day.volume,
          day.amount,
        ]);
      }),
      { numRuns: 2000 },
    );
  });

  test("do not depend on the earlier content of the buffer", () => {
    fc.assert(
      fc.property(anyDay, anyDay, (before, day) => {
        const used = minuteBuffer(241);
        bridgeMinutes(before, SESSION_MINUTES.CN, used);
        const first = bridgeMinutes(day, SESSION_MINUTES.CN, used);
        const fresh = minuteBuffer(241);
        bridgeMinutes(day, SESSION_MINUTES.CN, fresh);
        for (const name of ["open", "high", "low", "close", "volume", "amount"] as const) {
          expect(used[name].subarray(first)).toEqual(fresh[name].subarray(first));
        }
      }),
    );
  });
});
