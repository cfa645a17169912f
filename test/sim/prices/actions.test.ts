import { describe, expect, test } from "vitest";
import { currencyOfRegion } from "../../../src/market/regions.js";
import { regionOf } from "../../../src/market/symbol.js";
import { ACTION_KINDS } from "../../../src/schema/actions.js";
import { dayTick } from "../../../src/sim/instrument.js";
import { type ActionVersion, simulateMarket } from "../../../src/sim/market.js";
import { barsOf, bySymbol, dateOf, END, MARKET, SPEC, START, SYMBOLS } from "../sample-market.js";

const versions = MARKET.actionVersions(SYMBOLS);
const bars = bySymbol(barsOf(MARKET.dailyBars(SYMBOLS, START, END)));
const instruments = new Map(MARKET.instruments.map((one) => [one.symbol, one]));

/** The newest version of each action, by symbol and ex-date. */
const byEvent = new Map<string, Map<string, ActionVersion>>();
for (const version of versions) {
  const key = `${version.symbol} ${version.ex_date}`;
  byEvent.set(key, (byEvent.get(key) ?? new Map()).set(version.kind, version));
}

/** The theoretical ex-price after a close, by the actions of a day. */
function exPrice(close: number, actions: Iterable<ActionVersion>): number {
  let [worth, shares] = [close, 1];
  for (const { kind, cash = 0, ratio = 0, price = 0 } of actions) {
    worth -= kind === "spin_off" ? ratio * price : cash;
    if (kind === "split" || kind === "consolidation") shares += ratio - 1;
    if (kind === "stock_dividend" || kind === "rights") shares += ratio;
    if (kind === "rights") worth += ratio * price;
  }
  return worth / shares;
}

describe("corporate actions", () => {
  test("explain every restated previous close, within the rounding of it", () => {
    let events = 0;
    const wrong: unknown[] = [];
    for (const [symbol, own] of bars) {
      const { board } = instruments.get(symbol) as (typeof MARKET.instruments)[number];
      for (const [index, bar] of own.entries()) {
        const last = own[index - 1]?.close;
        if (last === undefined || bar.prevClose === null) continue;
        const actions = byEvent.get(`${symbol} ${dateOf(bar)}`);
        if (last === bar.prevClose && actions === undefined) continue;
        events += 1;
        const price = exPrice(last / 1000, actions?.values() ?? []);
        const off = Math.abs(price * 1000 - bar.prevClose);
        if (!(off <= dayTick(board, bar.prevClose) / 2 + 1)) wrong.push([symbol, dateOf(bar), price, off]);
      }
    }
    expect(wrong).toEqual([]);
    expect(events).toBe(byEvent.size);
    expect(events).toBeGreaterThan(500);
  });

  test("are of every kind, and announced, due and paid in order", () => {
    expect(new Set(versions.map(({ kind }) => kind))).toEqual(
      new Set(ACTION_KINDS.filter((kind) => kind !== "other")),
    );
    const wrong = versions.filter(
      ({ announce_date, record_date, ex_date, pay_date, firstSeen, cash, ratio, price }) =>
        !(announce_date < ex_date && announce_date <= record_date && record_date <= pay_date) ||
        !(firstSeen >= announce_date && firstSeen <= END) ||
        [cash, ratio, price].some((value) => value !== undefined && !(value > 0)),
    );
    expect(wrong).toEqual([]);
    expect(versions.every((one) => one.currency === currencyOfRegion(regionOf(one.symbol) ?? "CN"))).toBe(
      true,
    );
  });

  test("are corrected before or after the ex-date, a few of them", () => {
    const corrected = versions.filter(({ firstSeen, announce_date }) => firstSeen > announce_date);
    expect(corrected.length / versions.length).toBeGreaterThan(0.02);
    expect(corrected.length / versions.length).toBeLessThan(0.1);
    expect(corrected.some(({ firstSeen, ex_date }) => firstSeen > ex_date)).toBe(true);
    expect(corrected.some(({ firstSeen, ex_date }) => firstSeen < ex_date)).toBe(true);
  });

  test("depend on the spec alone", () => {
    const again = simulateMarket(SPEC);
    const some = SYMBOLS.slice(7, 20);
    expect(again.actionVersions(some)).toEqual(versions.filter(({ symbol }) => some.includes(symbol)));
  });
});
