import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { type DatasetDefinition, defineDataset } from "../../../src/dataset/spec.js";
import type { Lake } from "../../../src/lake/lake.js";
import { landTradingDays } from "../../../src/lake/land/trading-days.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { openSession, temporaryFolder } from "../../lake/temporary-lake.js";
import { landRows, NOW, newLake } from "../../serve/served-lake.js";

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

test("a split is on the first minute of its day alone, as zipline applies each one that it reads", async () => {
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
});

test("symbols that zipline cannot tell apart are refused", async () => {
  const symbols = ["BRK.A.US", "BRK_A.US"];
  await expect(buildDataset(await splitLake(symbols), defineDataset(definition(symbols)))).rejects.toThrow(
    "dataset splits: universe: BRK.A.US and BRK_A.US are one to zipline, whose names have no dot",
  );
});
