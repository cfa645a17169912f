import { describe, expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { INSTRUMENT_EXT } from "../../src/schema/reference.js";
import { NO_LIMIT_UP } from "../../src/sim/universe.js";
import { exchangeSummary, instrument } from "../../src/wire/resources.js";
import { barsOf, bySymbol, END, MARKET, START, SYMBOLS } from "./sample-market.js";

const days = MARKET.tradingDays("CN");
const MIDDLE = days[260] as TradingDate;

describe("instruments as of a date", () => {
  test("are those listed and not yet delisted, in the shape of the interface", () => {
    for (const at of [START, MIDDLE, END]) {
      const listed = MARKET.instruments.filter((i) => i.listed <= at && !(i.delisted && i.delisted <= at));
      const answered = MARKET.instrumentsAsOf(at);
      expect(answered.map((i) => i.symbol)).toEqual(listed.map((i) => i.symbol));
      for (const item of answered) expect(instrument.parse(item)).toEqual(item);
    }
    const [atStart, inMiddle] = [MARKET.instrumentsAsOf(START), MARKET.instrumentsAsOf(MIDDLE)];
    expect(atStart.map((i) => i.symbol)).not.toEqual(inMiddle.map((i) => i.symbol));
  });

  test("carry the members of their region's extension, of the declared columns only", () => {
    const members = {
      CN: [
        "float_shares",
        "limit_down",
        "limit_up",
        "listing_date",
        "name_en",
        "tick_size",
        "total_shares",
        "type",
      ],
      HK: ["float_shares", "lot_size", "total_shares", "type"],
      US: ["float_shares", "total_shares", "type"],
    };
    const declared = new Set(["type", ...INSTRUMENT_EXT.map((column) => column.name)]);
    for (const { region, ext } of MARKET.instrumentsAsOf(MIDDLE)) {
      expect(Object.keys(ext ?? {}).sort()).toEqual(members[region as "CN"]);
      expect(ext?.type).toBe(`${region.toLowerCase()}_equity`);
      expect(Object.keys(ext ?? {}).every((name) => declared.has(name))).toBe(true);
      expect(ext?.float_shares as number).toBeGreaterThan(0);
      expect(ext?.float_shares as number).toBeLessThanOrEqual(ext?.total_shares as number);
    }
  });

  test("state the limits that the day's bar obeys, or that there is none", () => {
    const bars = bySymbol(barsOf(MARKET.dailyBars(SYMBOLS, MIDDLE, MIDDLE)));
    let kept = 0;
    for (const { symbol, region, ext } of MARKET.instrumentsAsOf(MIDDLE)) {
      const bar = bars.get(symbol)?.[0];
      if (region !== "CN" || bar === undefined || bar.volume === 0) continue;
      expect(bar.high / 1000).toBeLessThanOrEqual(ext?.limit_up as number);
      expect(bar.low / 1000).toBeGreaterThanOrEqual(ext?.limit_down as number);
      kept++;
    }
    expect(kept).toBeGreaterThan(150);
    const fresh = MARKET.instruments.find((i) => i.region === "CN" && i.listed > START);
    const onFirstDay = MARKET.instrumentsAsOf(fresh?.listed as TradingDate).find(
      (i) => i.symbol === fresh?.symbol,
    );
    expect(onFirstDay?.ext).toMatchObject({
      limit_up: NO_LIMIT_UP,
      limit_down: 0,
      listing_date: fresh?.listed,
    });
  });

  test("count more shares after a split, as many times as its factor says", () => {
    const split = MARKET.exFactors(SYMBOLS, MIDDLE, END).find(
      (event) => event.factor > 1.9 && event.factor < 2.2,
    );
    const dates = MARKET.tradingDays(
      split?.symbol.endsWith(".US") ? "US" : split?.symbol.endsWith(".HK") ? "HK" : "CN",
    );
    const before = dates[dates.indexOf(split?.date as TradingDate) - 1] as TradingDate;
    const sharesAt = (at: TradingDate): number =>
      MARKET.instrumentsAsOf(at).find((i) => i.symbol === split?.symbol)?.ext?.total_shares as number;
    expect(sharesAt(split?.date as TradingDate)).toBe(sharesAt(before) * 2);
  });

  test("bear the mark of the delisting period in its last days", () => {
    const gone = MARKET.instruments.find((i) => i.region === "CN" && i.type === "stock" && i.delisted);
    const last = days[days.indexOf(gone?.delisted as TradingDate) - 1] as TradingDate;
    const nameAt = (at: TradingDate): string =>
      MARKET.instrumentsAsOf(at).find((i) => i.symbol === gone?.symbol)?.name as string;
    expect(nameAt(last)).toMatch(/^退市/);
    expect(nameAt(gone?.listed as TradingDate)).toBe(gone?.name);
  });
});

test("exchanges count their listed instruments", () => {
  for (const at of [START, MIDDLE, END]) {
    const exchanges = MARKET.exchangesAsOf(at);
    expect(exchanges.map((e) => e.exchange).sort()).toEqual(["BJ", "HK", "SH", "SZ", "US"]);
    for (const item of exchanges) {
      expect(exchangeSummary.parse(item)).toEqual(item);
      const own = MARKET.instrumentsAsOf(at).filter((i) => i.exchange === item.exchange);
      expect(item.count).toBe(own.length);
      expect(own[0]?.region).toBe(item.region);
    }
  }
});
