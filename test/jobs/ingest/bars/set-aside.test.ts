import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import type { RunReport } from "../../../../src/jobs/run/run-pipeline.js";
import { json, type Script, type Seen } from "../../../faults/service/scripted-service.js";
import { type BarTimes, newestBars, weekdays } from "../../minute-market.js";
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

const WINDOW = { start: DAYS[0], end: Date.parse("2024-12-14T00:00:00+08:00") };

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

test("a bar with a null: its day is requested again, and the run after that is complete", async () => {
  const broken = spoiling((bars) => Object.assign(bars.close ?? [], { 7: null }));
  const { service, daily } = await marketOf(broken);
  const first = await daily();
  expect(first.status).toBe("partial");
  const day = { start: DAYS[7] as number, end: (DAYS[7] as number) + 86_400_000 };
  expect(first.completeness[0]?.setAside).toEqual([{ symbol: "600519.SH", window: day, bars: 1 }]);
  service.script = spoiling(() => {});
  expect(await daily()).toMatchObject({ status: "complete", rows: 1, landed: [{ inserted: 1 }, {}] });
  const { query } = service.seen.at(-1) as Seen;
  expect([query.get("start_time"), query.get("end_time")]).toEqual([`${day.start}`, `${day.end - 1}`]);
});

test.each([
  ["a time that is null", (bars: Bars) => Object.assign(bars.timestamp ?? [], { 7: null })],
  [
    "a time of another unit",
    (bars: Bars) => Object.assign(bars.timestamp ?? [], { 7: (DAYS[7] as number) * 1000 }),
  ],
])("a bar with %s: the whole window of the symbol is requested again", async (_, spoil) => {
  const { service, daily } = await marketOf(spoiling(spoil));
  const first = await daily();
  expect(first.completeness[0]?.setAside).toEqual([{ symbol: "600519.SH", window: WINDOW, bars: 1 }]);
  service.script = spoiling(() => {});
  expect(await daily()).toMatchObject({ status: "complete", rows: 232, landed: [{ inserted: 1 }, {}] });
});

test("a repeated bar is no loss", async () => {
  const repeats = spoiling((bars) => {
    for (const values of Object.values(bars)) values.push(values.at(-1) as number);
  });
  const { daily } = await marketOf(repeats);
  expect(await daily()).toMatchObject({ status: "complete", rows: 2 * 232 });
});

test("statements that are set aside make the run partial", async () => {
  const records = [{ period_end: "2023-09-30", announce_date: null, total_assets: 1 }, { period_end: 5 }];
  const { run } = await scriptedMarket((seen, response) => {
    json(response, 200, { data: seen.path.endsWith("balance-sheet") ? { "600519.SH": records } : {} });
  }, NOW);
  const sheets: PipelineDefinition = { name: "sheets", kind: "statements", tables: ["balance_sheet"] };
  const report = await run(sheets, { symbols: ["600519.SH"] });
  expect(report.status).toBe("partial");
});

test("more bad bars in one response than are stored in full: each symbol that lacks bars is requested again", async () => {
  const symbols = Array.from({ length: 8 }, (_, n) => `${600_000 + n}.SH`);
  const market = Object.fromEntries(symbols.map((symbol) => [symbol, DAYS]));
  const { service, clock, run } = await scriptedMarket((seen, response) => {
    const data = newestBars(seen, market);
    for (const { close } of Object.values(data)) close?.fill(null as never, 10, 210);
    json(response, 200, { data });
  }, NOW);
  const first = await run(DAILY, { symbols, to: "2024-12-14" });
  expect(first.status).toBe("partial");
  expect(first.completeness[0]?.setAside).toEqual(
    symbols.map((symbol) => ({ symbol, window: { start: DAYS[10], end: DAYS[210] }, bars: 200 })),
  );
  service.script = (seen, response) => json(response, 200, { data: newestBars(seen, market) });
  clock.advance(1000);
  const healed = await run(DAILY, { symbols, to: "2024-12-14" });
  expect(healed).toMatchObject({ status: "complete", rows: 8 * 200, requests: { sent: 1 } });
  expect(healed.landed[0]).toMatchObject({ inserted: 8 * 200 });
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
