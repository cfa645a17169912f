import { expect, test } from "vitest";
import { expectationOf } from "../../../../src/jobs/ingest/bars/kline-requester.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import type { RunReport } from "../../../../src/jobs/run/run-pipeline.js";
import { TradingCalendar } from "../../../../src/market/trading-calendar.js";
import { judgeResponse } from "../../../../src/plan/absence/judge-response.js";
import { RowCap } from "../../../../src/plan/absence/older-bars.js";
import { decodeKlines } from "../../../../src/wire/decode/decode-klines.js";
import { json, type Script } from "../../../faults/service/scripted-service.js";
import { type BarTimes, barsAt, newestBars, weekdays } from "../../minute-market.js";
import { type Bars, scriptedMarket } from "../../scripted-market.js";

const NOW = "2024-12-14T00:00:00Z";
const DAYS = weekdays("2024-01-01", "2024-12-14").slice(-232);
const FROM = new Date((DAYS[0] as number) + 8 * 3_600_000).toISOString().slice(0, 10);
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: FROM };
const MARKET: BarTimes = { "600519.SH": DAYS, "000001.SZ": DAYS };

/** A service that spoils the bars of one symbol. */
function spoiling(spoil: (bars: Bars) => void): Script {
  return (seen, response) => {
    const data = newestBars(seen, MARKET);
    const own = data["600519.SH"];
    if (own) spoil(own);
    json(response, 200, { data });
  };
}

async function marketOf(script: Script) {
  const parts = await scriptedMarket(script, NOW);
  const daily = (): Promise<RunReport> => {
    parts.clock.advance(1000);
    return parts.run(DAILY, { symbols: Object.keys(MARKET), to: "2024-12-14" });
  };
  return { ...parts, daily };
}

const WINDOW = { start: DAYS[0] as number, end: Date.parse("2024-12-14T00:00:00+08:00") };

test("arrays of unequal lengths: the run is partial, and says which symbol, which window and how many bars", async () => {
  const { service, daily } = await marketOf(spoiling((bars) => bars.close?.pop()));
  const report = await daily();
  expect(report.status).toBe("partial");
  expect(report.completeness[0]?.setAside).toEqual([{ symbol: "600519.SH", window: WINDOW, bars: 232 }]);
  expect(report.rejected.reduce((sum, { rows }) => sum + rows, 0)).toBe(232);
  service.script = spoiling(() => {});
  const healed = await daily();
  expect(healed).toMatchObject({ status: "complete", rows: 232, requests: { sent: 1 } });
  expect(healed.completeness[0]?.setAside).toEqual([]);
});

test("a bar that breaks a rule: its day is requested again, and until it is good no run is complete", async () => {
  const broken = spoiling((bars) => {
    const at = bars.timestamp?.indexOf(DAYS[100] as number) ?? -1;
    if (at >= 0 && bars.high) bars.high[at] = 1;
  });
  const { service, clock, daily } = await marketOf(broken);
  const day = { start: DAYS[100], end: (DAYS[100] as number) + 86_400_000 };
  const first = await daily();
  expect(first).toMatchObject({ status: "partial", requests: { sent: 1 } });
  expect(first.completeness[0]?.setAside).toEqual([{ symbol: "600519.SH", window: day, bars: 1 }]);
  const again = await daily();
  expect(again).toMatchObject({ status: "partial", rows: 1, requests: { sent: 1 } });
  // It was already requested today: it is not paid for again, and the run still reports what is missing.
  const waiting = await daily();
  expect(waiting).toMatchObject({ status: "partial", requests: { sent: 0 } });
  expect(waiting.completeness[0]?.setAside).toEqual([{ symbol: "600519.SH", window: day, bars: undefined }]);
  service.script = spoiling(() => {});
  clock.advance(86_400_000);
  expect(await daily()).toMatchObject({ status: "complete", rows: 1 });
});

/** The windows of which a response lacks bars of symbols, with their numbers. */
async function lostOf(symbols: readonly string[], spoil: (bars: Bars) => void) {
  const data = Object.fromEntries(symbols.map((symbol) => [symbol, barsAt(DAYS)]));
  for (const bars of Object.values(data)) spoil(bars);
  const page = { region: "CN", symbols, window: WINDOW } as const;
  const response = await decodeKlines([Buffer.from(JSON.stringify({ data }))], expectationOf(page));
  const known = { closed: [], listedAt: new Map(), covered: new Map(), cap: new RowCap() };
  const facts = {
    period: "1d",
    calendar: new TradingCalendar("CN"),
    now: Date.parse(NOW),
    source: "1",
  } as const;
  return judgeResponse(page, response, { ...known, ...facts }).lost;
}

const dayOf = (day: number) => ({ start: DAYS[day] as number, end: (DAYS[day] as number) + 86_400_000 });
const set = (column: string, value: unknown) => (bars: Bars) =>
  void Object.assign(bars[column] ?? [], { 7: value });

test.each<[string, (bars: Bars) => void, unknown]>([
  ["a null, its day", set("close", null), [{ symbol: "600519.SH", window: dayOf(7), bars: 1 }]],
  // It may be of any day.
  [
    "a time that is null, all days",
    set("timestamp", null),
    [{ symbol: "600519.SH", window: WINDOW, bars: 1 }],
  ],
  [
    "a time of another unit, all days",
    set("timestamp", (DAYS[7] as number) * 1000),
    [{ symbol: "600519.SH", window: WINDOW, bars: 1 }],
  ],
  [
    "unequal lengths, all days",
    (bars) => bars.close?.pop(),
    [{ symbol: "600519.SH", window: WINDOW, bars: 232 }],
  ],
  [
    "a bar twice, nothing",
    (bars) => Object.values(bars).map((values) => values.push(values.at(-1) as number)),
    [],
  ],
])("a response lacks, by %s", async (_, spoil, lost) => {
  expect(await lostOf(["600519.SH"], spoil)).toEqual(lost);
});

test("more bad bars in one response than are stored in full: each symbol lacks all of its own", async () => {
  const symbols = Array.from({ length: 8 }, (_, n) => `${600_000 + n}.SH`);
  const window = { start: DAYS[10], end: DAYS[210] };
  expect(await lostOf(symbols, ({ close }) => close?.fill(null as never, 10, 210))).toEqual(
    symbols.map((symbol) => ({ symbol, window, bars: 200 })),
  );
});

test("a key that has no UTF-8 is reported, what was requested lands, and the next run has nothing left to do", async () => {
  const { service, daily } = await marketOf((seen, response) => {
    const data = newestBars(seen, MARKET);
    json(response, 200, { data: { ...data, "\ud800.SH": data["600519.SH"] } });
  });
  const first = await daily();
  expect(first).toMatchObject({ status: "complete", rows: 464, failures: [] });
  expect(first.rejected).toMatchObject([{ rule: "bad_symbol" }]);
  service.script = spoiling(() => {});
  expect(await daily()).toMatchObject({ status: "complete", failures: [] });
});
