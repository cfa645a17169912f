import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TradingDate } from "../../../src/core/time.js";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import type { WriterPlace } from "../../../src/dataset/formats/dataset-writer.js";
import { qlibWriter } from "../../../src/dataset/formats/qlib.js";
import { type Block, NEVER } from "../../../src/dataset/panel/block.js";
import { type DatasetDefinition, defineDataset } from "../../../src/dataset/spec.js";
import type { FloatFiles } from "../../../src/dataset/store/dataset-files.js";
import { queryLake, temporaryFolder } from "../../lake/temporary-lake.js";
import { type Bar, barsOf, date, dateOf } from "../../sim/sample-market.js";
import { MARKET, marketLake } from "../market-lake.js";
import { EVENTFUL, engineLake, SESSIONS } from "./engine-lake.js";

const its = marketLake();
const FROM = "2025-06-02";
const END = MARKET.spec.end;
const DAYS = MARKET.tradingDays("CN").filter((day) => day >= FROM);

const DAILY: DatasetDefinition = {
  name: "daily",
  universe: "SIM_CN_50",
  from: FROM,
  fields: ["open", "close", { name: "volume", sql: "adjusted_volume" }, "amount", "factor"],
  format: "qlib",
};

/** Floats of a feature, the first of which is the index of the first label. */
function floatsOf(folder: string, path: string): number[] {
  const bytes = readFileSync(join(folder, "features", path));
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
}

const linesOf = (folder: string, path: string): string[] =>
  readFileSync(join(folder, path), "utf8").trimEnd().split("\n");

interface AdjustedBar extends Bar {
  readonly factor: number;
}

/** A symbol's bars with trades by date, each with the product of last close / previous close from the first bar on. */
function barsWithFactors(symbol: string): Map<TradingDate, AdjustedBar> {
  const bars = new Map<TradingDate, AdjustedBar>();
  let [factor, lastClose] = [1, Number.NaN];
  for (const bar of barsOf(MARKET.dailyBars([symbol], date("2025-01-01"), END))) {
    if (lastClose > 0 && bar.prevClose !== null && bar.prevClose !== lastClose)
      factor *= lastClose / bar.prevClose;
    lastClose = bar.close;
    if (bar.volume > 0) bars.set(dateOf(bar), { ...bar, factor });
  }
  return bars;
}

describe("days", () => {
  test("lists have the sessions, and the dates of trades and of membership", async () => {
    const folder = await its.build({ ...DAILY, name: "lists" });
    expect(linesOf(folder, "calendars/day.txt")).toEqual(DAYS);
    expect(linesOf(folder, "instruments/all.txt")).toEqual([
      "SZ300234\t2025-06-02\t2026-11-20",
      "SZ300516\t2025-06-02\t2026-11-20",
      "SZ300740\t2026-03-18\t2026-11-20",
      "SH600217\t2025-06-02\t2026-11-20",
      "SH600339\t2025-06-02\t2026-11-20",
      "SH600943\t2025-06-02\t2026-11-20",
    ]);
    expect(linesOf(folder, "instruments/sim_cn_50.txt")).toEqual([
      "SZ300234\t2025-06-02\t2026-11-20",
      "SZ300516\t2026-01-02\t2026-03-31",
      "SZ300740\t2026-07-01\t2026-11-20",
      "SH600217\t2025-06-02\t2026-11-20",
      "SH600339\t2025-06-02\t2026-11-20",
      "SH600943\t2025-06-02\t2026-11-20",
    ]);
    expect(readdirSync(join(folder, "instruments")).sort()).toEqual(["all.txt", "sim_cn_50.txt"]);
  });

  test("a dated universe has a line for each stretch, within the dates of trades", async () => {
    const sql = `FROM (VALUES ('600725.SH', DATE '2025-07-01', DATE '2025-08-01'), ('600725.SH', DATE '2025-09-01', NULL),
      ('300740.SZ', NULL, DATE '2026-04-01'),
      -- One after the other, with a weekend between, one within another, and one without a session.
      ('600339.SH', DATE '2025-07-01', DATE '2025-08-01'), ('600339.SH', DATE '2025-08-01', DATE '2025-08-09'),
      ('600339.SH', DATE '2025-08-11', DATE '2025-09-20'), ('600339.SH', DATE '2025-08-20', DATE '2025-08-22'),
      ('600339.SH', DATE '2025-11-08', DATE '2025-11-10')) AS t(symbol, from_date, to_date)`;
    const folder = await its.build({ ...DAILY, name: "spells", universe: { sql }, masks: [] });
    expect(linesOf(folder, "instruments/spells.txt")).toEqual([
      "SZ300740\t2026-03-18\t2026-03-31",
      "SH600339\t2025-07-01\t2025-09-19",
      "SH600725\t2025-07-01\t2025-07-31",
      "SH600725\t2025-09-01\t2025-12-18",
    ]);
  });

  test("features begin with the index of the first session with trades, and are NaN without trades", async () => {
    const folder = await its.build({
      ...DAILY,
      name: "features",
      universe: ["600339.SH", "000469.SZ", "600725.SH", "300740.SZ", "600217.SH"],
    });
    let suspended = 0;
    for (const [symbol, name] of [
      ["600339.SH", "sh600339"],
      ["000469.SZ", "sz000469"],
      ["600725.SH", "sh600725"],
      ["300740.SZ", "sz300740"],
      ["600217.SH", "sh600217"],
    ] as const) {
      const bars = barsWithFactors(symbol);
      const traded = DAYS.filter((day) => bars.has(day));
      const first = DAYS.indexOf(traded[0] as TradingDate);
      const own = DAYS.slice(first, DAYS.indexOf(traded.at(-1) as TradingDate) + 1);
      suspended += own.length - traded.length;
      const expected = (value: (bar: AdjustedBar) => number): number[] => [
        first,
        ...own.map((day) => {
          const bar = bars.get(day);
          return bar === undefined ? Number.NaN : Math.fround(value(bar));
        }),
      ];
      const feature = (field: string): number[] => floatsOf(folder, `${name}/${field}.day.bin`);
      expect(feature("factor")).toEqual(expected(({ factor }) => factor));
      expect(feature("open")).toEqual(expected(({ open, factor }) => (open / 1000) * factor));
      expect(feature("close")).toEqual(expected(({ close, factor }) => (close / 1000) * factor));
      expect(feature("volume")).toEqual(expected(({ volume, factor }) => (volume * 100) / factor));
      expect(feature("amount")).toEqual(expected(({ amount }) => amount / 100));
      const tradable = feature("tradable").slice(1);
      expect(tradable.filter((_, i) => !bars.has(own[i] as TradingDate)).every((mark) => mark === 0)).toBe(
        true,
      );
      expect(tradable.filter((mark) => mark === 1).length).toBeGreaterThan(traded.length * 0.9);
    }
    expect(suspended).toBeGreaterThan(10);
  });
});

describe("minutes", () => {
  const MINUTES: DatasetDefinition = {
    name: "minutes",
    universe: ["000469.SZ", "000913.SZ"],
    period: "1m",
    from: "2026-11-19",
    adjustment: "none",
    fields: ["close", "shares"],
    masks: ["tradable"],
    format: "qlib",
  };

  test("are called by their start, in the exchange's zone", async () => {
    const report = await buildDataset(its.lake, defineDataset(MINUTES));
    const { folder } = report;
    const minutes = linesOf(folder, "calendars/1min.txt");
    const from = (start: string, count: number): string[] =>
      Array.from({ length: count }, (_, i) =>
        new Date(Date.parse(`2026-11-19T${start}:00Z`) + i * 60_000)
          .toISOString()
          .slice(0, 19)
          .replace("T", " "),
      );
    expect(minutes.slice(0, 241)).toEqual([...from("09:29", 121), ...from("13:00", 120)]);
    expect(minutes).toHaveLength(482);
    expect(minutes.at(-1)).toBe("2026-11-20 14:59:00");
    expect(linesOf(folder, "instruments/all.txt")[0]).toBe(
      "SZ000469\t2026-11-19 09:30:00\t2026-11-20 14:59:00",
    );
    expect(report.warnings).toEqual([
      "2 minutes lie outside of qlib's sessions, 2026-11-19 09:29:00 among them: it reads them, but what resamples minutes, or wants 240 a day, does not expect them",
    ]);
    for (const [symbol, name] of [
      ["000469.SZ", "sz000469"],
      ["000913.SZ", "sz000913"],
    ] as const) {
      const bars = new Map(
        barsOf(MARKET.minuteBars([symbol], date("2026-11-19"), END))
          .filter(({ volume }) => volume > 0)
          .map((bar) => [bar.timestamp, bar]),
      );
      const starts = minutes.map((text) => Date.parse(`${text.replace(" ", "T")}+08:00`));
      const first = starts.findIndex((start) => bars.has(start + 60_000));
      const last = starts.findLastIndex((start) => bars.has(start + 60_000));
      const own = starts.slice(first, last + 1).map((start) => bars.get(start + 60_000));
      const feature = (field: string): number[] => floatsOf(folder, `${name}/${field}.1min.bin`);
      expect(feature("close")).toEqual([
        first,
        ...own.map((bar) => (bar ? Math.fround(bar.close / 1000) : Number.NaN)),
      ]);
      expect(feature("shares")).toEqual([first, ...own.map((bar) => (bar ? bar.volume * 100 : Number.NaN))]);
      expect(own.filter((bar) => bar === undefined).length).toBeGreaterThan(0);
    }
  });
});

test("names that are one in lower case are refused", async () => {
  await expect(
    its.build({ ...DAILY, name: "cases", fields: ["close", { name: "Close", sql: "open" }] }),
  ).rejects.toThrow(
    "dataset cases: fields: close and Close are one to qlib, which reads names in lower case",
  );
});

test("symbols of a block continue their own files, begin new ones, or have none without trades", async () => {
  const symbols = ["600000.SH", "600001.SH", "600002.SH", "600003.SH"].map((symbol) => ({
    symbol,
    region: "CN" as const,
    memberRanges: [{ start: 20_000, end: 20_100 }],
  }));
  const given: FloatFiles[] = [];
  const texts = new Map<string, string>();
  const writer = qlibWriter({
    spec: defineDataset({ ...DAILY, name: "block" }),
    shape: {
      labels: { count: 4, days: Int32Array.of(20_000, 20_001, 20_002, 20_003), times: undefined },
      symbols,
      fields: [
        { name: "open", fill: "none" },
        { name: "Close", fill: "none" },
      ],
      masks: ["in_universe"],
    },
    zone: "Asia/Shanghai",
    files: {
      putAll: async (files: FloatFiles) => void given.push(files),
      put: (path: string, text: string) => void texts.set(path, text),
    },
    continued: Int32Array.of(3, 0, -1, -1),
  } as unknown as WriterPlace);
  const block = {
    start: 1,
    symbols: symbols.slice(1),
    since: 1,
    width: 3,
    fields: [new Float32Array(9).fill(1), new Float32Array(9).fill(2)],
    masks: [new Uint8Array(9).fill(3)],
    first: Int32Array.of(0, -1, 2),
    last: Int32Array.of(3, -1, 3),
    eligibleFrom: Int32Array.of(2, 0, NEVER),
  } as unknown as Block;
  await writer.write(block);
  expect(given).toEqual([
    {
      folders: ["features/sh600001", "features/sh600003"],
      heads: Float64Array.of(Number.NaN, 2),
      starts: Float64Array.of(0, 7),
      ends: Float64Array.of(3, 9),
      columns: [
        { name: "close.day.bin", cells: block.fields[1] },
        { name: "in_universe.day.bin", cells: block.masks[0] },
        { name: "open.day.bin", cells: block.fields[0] },
      ],
    },
  ]);
  await writer.finish();
  // Members from the label on at which they have the history that the dataset demands.
  expect(texts.get("instruments/sim_cn_50.txt")).toBe("SH600001\t2024-10-06\t2024-10-07\n");
});

test.each([true, false])(
  "factor is the adjusted price by the traded one, also of corporate actions (stated previous closes: %s)",
  async (statesPrevClose) => {
    const lake = await engineLake(EVENTFUL.map((one) => ({ ...one, statesPrevClose })));
    const output = join(temporaryFolder(), "out");
    const definition: DatasetDefinition = {
      name: "factors",
      universe: ["AAA.US"],
      from: SESSIONS[0] as string,
      format: "qlib",
      output,
    };
    await buildDataset(lake, defineDataset(definition));
    const closes = await queryLake<{ traded: number; adjusted: number }>(
      lake,
      `SELECT b.close AS traded, a.close AS adjusted FROM bars_1d AS b JOIN adjusted('1d', 'backward') AS a USING (symbol, trade_date)
       WHERE symbol = 'AAA.US' ORDER BY trade_date`,
    );
    const [, ...factors] = floatsOf(output, "aaa/factor.day.bin");
    const [, ...adjusted] = floatsOf(output, "aaa/close.day.bin");
    expect(adjusted).toEqual(closes.map((one) => Math.fround(one.adjusted)));
    expect(factors).toHaveLength(closes.length);
    for (const [at, one] of closes.entries())
      expect((factors[at] as number) / (one.adjusted / one.traded)).toBeCloseTo(1, 6);
  },
);
