import { expect, test } from "vitest";
import { runBatches } from "../../../src/arrow/stream/kline-stream.js";
import { NO_BARS } from "../../../src/wire/encode/encode-klines.js";
import type { KlineRun, KlineValues } from "../../../src/wire/kline-columns.js";

const FACTS = { symbols: ["600519.SH"], metadata: new Map<string, string>() };

function runOf(rows: number): KlineRun {
  const doubles = Object.fromEntries(
    Object.keys(NO_BARS.doubles).map((name) => [
      name,
      { values: new Float64Array(rows), validity: undefined },
    ]),
  ) as KlineValues["doubles"];
  const values = { timestamp: new BigInt64Array(rows), volume: new BigInt64Array(rows), doubles };
  return { symbol: "600519.SH", values, start: 0, end: rows };
}

/** Bars as a response gives them that has none of the optional columns. */
function withoutOptional(rows: number): KlineRun {
  const run = runOf(rows);
  const doubles = { ...run.values.doubles };
  const none = { values: new Float64Array(rows), validity: new Uint8Array(Math.ceil(rows / 8)) };
  for (const name of ["open_interest", "prev_close", "settlement_price"] as const) doubles[name] = none;
  return { ...run, values: { ...run.values, doubles } };
}

test("the error of a block comes after the batches before it, as it is", async () => {
  const reason = new Error("the reason");
  const blocks = async function* (): AsyncGenerator<readonly KlineRun[]> {
    yield [runOf(5)];
    throw reason;
  };
  let rows = 0;
  const read = async (): Promise<void> => {
    for await (const batch of runBatches(blocks(), FACTS)) rows += batch.numRows;
  };
  await expect(read()).rejects.toBe(reason);
  expect(rows).toBe(5);
});

test.each([4096, 2560, 2049, 512])("%i bars without any optional value", async (rows) => {
  const blocks = async function* (): AsyncGenerator<readonly KlineRun[]> {
    yield [withoutOptional(rows)];
    yield [withoutOptional(rows)];
  };
  let nulls = 0;
  for await (const batch of runBatches(blocks(), FACTS)) {
    expect(batch.numRows).toBe(rows);
    nulls += batch.getChild("prev_close")?.nullCount ?? 0;
  }
  expect(nulls).toBe(2 * rows);
});

test("without blocks there is one batch without rows, and its schema", async () => {
  const batches = [];
  for await (const batch of runBatches((async function* () {})(), FACTS)) batches.push(batch);
  expect(batches.map(({ numRows }) => numRows)).toEqual([0]);
  expect(batches[0]?.schema.names).toContain("close");
});
