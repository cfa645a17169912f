import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { Rejects, rejectsSql } from "../../../src/lake/land/rejects.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { land, liveRows, openSession, type TestBar, temporaryLake } from "../temporary-lake.js";

/** The fields of an action that the tests use. */
interface LoggedAction {
  readonly protocol?: unknown;
  readonly metaData?: { readonly partitionColumns: unknown; readonly schemaString: string };
  readonly add?: {
    readonly path: string;
    readonly stats: string;
    readonly partitionValues: Record<string, string>;
  };
}

const day = (n: number): string =>
  new Date(Date.parse("2024-01-01T16:00:00Z") + n * 86_400_000).toISOString();

once("an append is one commit with schema, partition values and statistics", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const report = await land(session, lake, BARS_1D, [
    { at: "2023-12-28T16:00:00Z" },
    { at: "2024-01-01T16:00:00Z", symbol: "000001.SZ" },
    { at: "2024-01-02T05:00:00Z", symbol: "AAPL.US" },
  ]);
  expect(report).toMatchObject({ inserted: 3, updated: 0, unchanged: 0, filesAdded: 3, version: 0 });

  const log = readFileSync(join(lake.location, "bars_1d/_delta_log/00000000000000000000.json"), "utf8");
  const actions = log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LoggedAction);
  expect(actions.map((action) => Object.keys(action)[0])).toEqual([
    "commitInfo",
    "protocol",
    "metaData",
    "add",
    "add",
    "add",
  ]);
  expect(actions[1]?.protocol).toEqual({ minReaderVersion: 1, minWriterVersion: 2 });
  expect(actions[2]?.metaData?.partitionColumns).toEqual(["region", "year"]);
  const fields = (JSON.parse(actions[2]?.metaData?.schemaString ?? "") as { fields: unknown }).fields as {
    name: string;
    type: string;
    nullable: boolean;
  }[];
  expect(fields.find((field) => field.name === "timestamp")).toMatchObject({
    type: "timestamp",
    nullable: false,
  });
  expect(fields.find((field) => field.name === "volume")).toMatchObject({ type: "long" });
  const add = actions.find((action) => action.add?.partitionValues.year === "2023")?.add;
  expect(add?.path).toMatch(/^region=CN\/year=2023\/p-[0-9a-f]{16}-[0-9a-f]{8}\.parquet$/);
  expect(JSON.parse(add?.stats ?? "")).toEqual({
    numRecords: 1,
    minValues: { symbol: "600519.SH", timestamp: "2023-12-28T16:00:00.000Z" },
    maxValues: { symbol: "600519.SH", timestamp: "2023-12-28T16:00:00.000Z" },
    nullCount: { symbol: 0, timestamp: 0 },
  });
});

once("bars that break a rule are set aside and the rest lands", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const rejects = new Rejects(session, "test");
  const bars: TestBar[] = [
    { at: day(0) },
    { at: day(0), close: 10.6 },
    { at: day(1), high: 8, low: 9 },
    { at: day(2), symbol: "X.ZZ" },
    { at: day(3), amount: null },
    { at: day(4), close: Number.POSITIVE_INFINITY },
    { at: day(5), volume: -1 },
  ];
  const report = await land(session, lake, BARS_1D, bars, { rejects });
  expect(report.inserted).toBe(1);
  await rejects.save(lake);
  const rejected = await session.json<{ rule: string; line: bigint }>(
    `SELECT rule, line FROM (${await rejectsSql(lake)}) ORDER BY line`,
  );
  expect(rejected.map((row) => row.rule)).toEqual([
    "duplicate_key",
    "high_below_low",
    "unknown_exchange",
    "null_in_required",
    "out_of_range",
    "out_of_range",
  ]);
  const kept = await liveRows<{ close: number }>(session, lake, BARS_1D, "SELECT close FROM live");
  expect(kept).toEqual([{ close: 10.5 }]);
});

test("any sequence of landings leaves the newest delivery of each key, once", async () => {
  const delivery = fc.array(
    fc.record({
      symbol: fc.constantFrom("600519.SH", "000001.SZ", "AAPL.US", "00700.HK"),
      n: fc.integer({ min: 0, max: 400 }),
      close: fc.integer({ min: 900, max: 1100 }).map((cents) => cents / 100),
    }),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(delivery, { minLength: 1, maxLength: 5 }), async (deliveries) => {
      const [lake, session] = [temporaryLake(), await openSession()];
      const model = new Map<string, number>();
      let versions = -1;
      for (const bars of deliveries) {
        const unique = [...new Map(bars.map((bar) => [`${bar.symbol} ${day(bar.n)}`, bar])).values()];
        const before = new Map(model);
        const report = await land(
          session,
          lake,
          BARS_1D,
          unique.map(({ symbol, n, close }) => ({ symbol, at: day(n), close })),
        );
        for (const { symbol, n, close } of unique) model.set(`${symbol} ${day(n)}`, close);
        const known = unique.filter((bar) => before.has(`${bar.symbol} ${day(bar.n)}`));
        const same = known.filter((bar) => before.get(`${bar.symbol} ${day(bar.n)}`) === bar.close);
        expect(report).toMatchObject({
          inserted: unique.length - known.length,
          updated: known.length - same.length,
          unchanged: same.length,
          ...(same.length === unique.length && { filesAdded: 0, version: versions }),
        });
        versions = report.version;
      }
      const rows = await liveRows<{ symbol: string; timestamp: Date; close: number }>(
        session,
        new Lake(lake.location),
        BARS_1D,
        "SELECT symbol, timestamp, close FROM live",
      );
      expect(new Map(rows.map((row) => [`${row.symbol} ${row.timestamp.toISOString()}`, row.close]))).toEqual(
        model,
      );
      expect(rows).toHaveLength(model.size);
    }),
    { numRuns: cases({ few: 5, all: 100 }) },
  );
});
