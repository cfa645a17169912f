import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { type DatasetDefinition, defineDataset } from "../../../src/dataset/spec.js";
import type { Lake } from "../../../src/lake/lake.js";
import { landTradingDays } from "../../../src/lake/land/trading-days.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { openSession, temporaryFolder } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { landRows, NOW, newLake } from "../../serve/served-lake.js";
import { cases } from "../../sweep.js";
import { anySymbol, closesOf, EVENTFUL, engineLake, SESSIONS } from "./engine-lake.js";

const [MINUTE, DAY] = [60_000, 86_400_000];
/** Midnight of a Tuesday in Shanghai, and the end of its first minute. */
const [FIRST, OPENED] = [Date.parse("2026-11-16T16:00:00Z"), Date.parse("2026-11-17T01:31:00Z")];
const prices = (price: number) => ({ open: price, high: price, low: price, close: price });

/** A lake with two days and two minutes of each, of symbols whose price is 10 and, after a split, 5. */
async function splitLake(symbols: readonly string[]): Promise<Lake> {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  const bars = (timesOf: (day: number) => readonly number[]) =>
    symbols.flatMap((symbol) =>
      [10, 5].flatMap((price, day) =>
        timesOf(day).map((timestamp) => ({
          symbol,
          timestamp,
          ...prices(price),
          prev_close: price,
          volume: 100,
          amount: 1000,
        })),
      ),
    );
  await landRows(
    lake,
    BARS_1D,
    bars((day) => [FIRST + day * DAY]),
  );
  await landRows(
    lake,
    BARS_1M,
    bars((day) => [0, 1].map((n) => OPENED + day * DAY + n * MINUTE)),
  );
  await landTradingDays(await openSession(), lake, { operation: "TEST", runId: "test", now: NOW });
  return lake;
}

const definition = (symbols: readonly string[]): DatasetDefinition => ({
  name: "splits",
  universe: { region: symbols[0]?.endsWith(".US") ? "US" : "CN" },
  period: "1m",
  from: "2026-11-17",
  fields: ["open", "high", "low", "close", { name: "volume", sql: "shares" }],
  masks: [],
  adjustment: "none",
  format: "zipline-csvdir",
  output: join(temporaryFolder(), "out"),
});

once(
  "a split is on the first minute of its day alone, as zipline applies each one that it reads",
  async () => {
    const spec = defineDataset(definition(["600519.SH"]));
    const { folder } = await buildDataset(await splitLake(["600519.SH"]), spec);
    const [head, ...lines] = readFileSync(join(folder, "minute/600519_SH.csv"), "utf8").trimEnd().split("\n");
    const at = head?.split(",").indexOf("split") ?? -1;
    const rows = lines.map((line) => [line.split(",")[4], line.split(",")[at]]);
    expect(rows).toEqual([
      ["10", "1"],
      ["10", "1"],
      ["5", "2"],
      ["5", "1"],
    ]);
  },
);

once("symbols that zipline cannot tell apart are refused", async () => {
  const symbols = ["BRK.A.US", "BRK_A.US"];
  await expect(buildDataset(await splitLake(symbols), defineDataset(definition(symbols)))).rejects.toThrow(
    "dataset splits: universe: BRK.A.US and BRK_A.US are one to zipline, whose names have no dot",
  );
});

once(
  "splits and dividends are the frames of zipline's writer; what has a factor alone is a split",
  async () => {
    const universe = EVENTFUL.map(({ symbol }) => symbol);
    const output = join(temporaryFolder(), "out");
    const spec = defineDataset({
      name: "acts",
      universe,
      from: SESSIONS[0] as string,
      adjustment: "none",
      format: "zipline-csvdir",
      output,
    });
    const { warnings } = await buildDataset(await engineLake(EVENTFUL), spec);
    const rowsOf = (name: string): string[] =>
      readFileSync(join(output, "adjustments", `${name}.csv`), "utf8")
        .trimEnd()
        .split("\n");
    const day = (at: number): string => SESSIONS[at] as string;
    const [head, ...splits] = rowsOf("splits");
    expect(head).toBe("sid,symbol,effective_date,ratio");
    // A dividend after a halt, and a day with rights, are splits of their factors.
    const [halted, rights] = [4, 5].map((row) => Number(splits[row]?.split(",")[3])) as [number, number];
    expect(halted).toBeGreaterThan(0.97);
    expect(halted).toBeLessThan(0.99);
    expect(rights).toBeGreaterThan(0.87);
    expect(rights).toBeLessThan(0.95);
    expect(splits).toEqual([
      `0,AAA_US,${day(12)},0.25`,
      `0,AAA_US,${day(20)},0.5`,
      `0,AAA_US,${day(30)},10`,
      expect.stringMatching(new RegExp(`^1,BBB_US,${day(10)},0\\.98039215686\\d+$`)),
      `1,BBB_US,${day(26)},${halted}`,
      `1,BBB_US,${day(33)},${rights}`,
    ]);
    // 19 September is a Saturday: zipline pays on Monday. Without a day of payment it pays on the ex-date.
    expect(rowsOf("dividends")).toEqual([
      "sid,symbol,ex_date,declared_date,record_date,pay_date,amount",
      `0,AAA_US,${day(5)},${day(0)},${day(5)},2026-09-21,0.5`,
      `0,AAA_US,${day(20)},${day(15)},${day(20)},2026-10-05,0.3`,
      `1,BBB_US,${day(18)},${day(13)},${day(18)},${day(18)},0.25`,
    ]);
    expect(warnings.filter((text) => text.includes("ex-event"))).toEqual([
      expect.stringContaining(
        `2 ex-events (BBB.US ${day(10)}, BBB.US ${day(33)}) without corporate actions that account for their factor`,
      ),
      expect.stringContaining(
        `1 ex-event (BBB.US ${day(26)}) with a dividend after a session without trades`,
      ),
      expect.stringContaining(
        `1 ex-event (BBB.US ${day(18)}) with a dividend whose day of payment is not known`,
      ),
    ]);
  },
);

test("prices by splits and dividends, as zipline's writer counts them, are the lake's", async () => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(anySymbol("AAA.US"), anySymbol("BBB.US")), async (symbols) => {
      const lake = await engineLake(symbols);
      const output = join(temporaryFolder(), "out");
      const acts: DatasetDefinition = {
        name: "acts",
        universe: { region: "US" },
        from: SESSIONS[0] as string,
        adjustment: "none",
        format: "zipline-csvdir",
        output,
      };
      await buildDataset(lake, defineDataset(acts));
      const closes = await closesOf(lake);
      /** What a symbol's prices before a day are multiplied by. */
      const ratios: { symbol: string; day: string; ratio: number }[] = [];
      const rowsOf = (name: string): string[][] =>
        readFileSync(join(output, `adjustments/${name}.csv`), "utf8")
          .trimEnd()
          .split("\n")
          .slice(1)
          .map((row) => row.split(","));
      const compact = (date = ""): string => date.replaceAll("-", "");
      for (const [, symbol = "", date, ratio] of rowsOf("splits"))
        ratios.push({ symbol: symbol.replace("_", "."), day: compact(date), ratio: Number(ratio) });
      for (const [, name = "", date, , , , cash] of rowsOf("dividends")) {
        const [symbol, day] = [name.replace("_", "."), compact(date)];
        const before = compact(SESSIONS[SESSIONS.indexOf(date as string) - 1]);
        const close = closes.find((one) => one.symbol === symbol && one.day === before)?.traded as number;
        ratios.push({ symbol, day, ratio: 1 - Number(cash) / close });
      }
      for (const { symbol, day, traded, adjusted } of closes) {
        const later = ratios.filter((one) => one.symbol === symbol && one.day > day);
        expect(traded * later.reduce((product, { ratio }) => product * ratio, 1)).toBeCloseTo(adjusted, 9);
      }
    }),
    { numRuns: cases({ few: 2, more: 20, all: 100 }) },
  );
});
