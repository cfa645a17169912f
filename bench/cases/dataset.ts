import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { literal } from "../../src/db/quote.js";
import { Session } from "../../src/db/session/session.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { landTradingDays } from "../../src/lake/land/trading-days.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { BARS_1D, TRADING_DAYS } from "../../src/schema/bars.js";
import { type Command, nodeCommand, pandasCommand, startWaiting } from "../baselines/waiting-program.js";
import { FIELDS, type Layout } from "../lakes/dataset-layout.js";
import { writeDays, writeReference } from "../lakes/market-lake.js";
import type { Benchmark, Case } from "../measure/benchmark.js";
import { temporaryFolder } from "../measure/temporary-folder.js";

/**
 * Backward-adjusted bars of a lake, aligned, as datasets for backtests; compared with a typical script with pandas, or,
 * if there is no Python with pandas, with row objects.
 */
export const dataset: Benchmark = {
  name: "dataset",
  doc: "a lake's daily bars -> adjusted, aligned, eight fields -> qlib's files, a Parquet matrix a field, and rows",
  lengthy: true,
  shared: true,
  async prepare(size) {
    const [symbols, years] = size === "full" ? [5000, 10] : [20, 2];
    const folder = temporaryFolder();
    const lake = new Lake(join(folder.path, "lake"));
    const before = await fillLake(lake, symbols, years);
    const bars = await lake.snapshot(BARS_1D);
    const files = lake.filesOf(bars).urls;
    const pandas = pandasCommand("pandas_dataset.py");
    const rows = rowCount(bars);
    const place = (name: string): string => join(folder.path, name);
    return {
      summary: `${rows} daily bars of ${symbols} symbols, ${FIELDS.length} fields`,
      work: { "bars/s": rows },
      cases: (["qlib", "wide", "long"] as const).flatMap((layout): Case[] => {
        const order = { folder: lake.location, layout };
        const [plain, root, grown] = ["plain", "barlake", "grown"].map((by) => place(`${layout}-${by}`)) as [
          string,
          string,
          string,
        ];
        const by = "barlake";
        const baseline = `${pandas === undefined ? "row objects" : "pandas"}: ${layout}`;
        const append = build(
          `barlake: ${layout}, a day appended`,
          baseline,
          NODE,
          { ...order, by, append: true },
          grown,
          { ...order, by, versions: before },
        );
        return [
          pandas === undefined
            ? build(baseline, baseline, NODE, { ...order, by: "row objects" }, plain)
            : build(baseline, baseline, pandas, { files, layout }, plain),
          build(`barlake: ${layout}`, baseline, NODE, { ...order, by }, root),
          ...(layout === "wide" ? [] : [append]),
        ];
      }) as [Case, ...Case[]],
      async close() {
        folder[Symbol.dispose]();
      },
    };
  },
};

/** Fills a lake, its last day separately. @returns the versions of its tables before that day. */
async function fillLake(lake: Lake, symbols: number, years: number): Promise<Record<string, number>> {
  using session = await Session.open(writerSpillOptions(lake.work));
  const landDays = async (): Promise<void> => {
    const now = Date.parse("2026-06-01T00:00:00Z");
    await landTradingDays(session, lake, { operation: "BENCH", runId: "bench", now });
  };
  const all = Array.from({ length: years }, (_, n) => 2026 - years + n);
  await writeDays(session, lake, { symbols, years: all, end: LAST_DAY });
  await writeReference(session, lake, symbols);
  await landDays();
  const versionOf = async (table: typeof BARS_1D): Promise<number> => (await lake.snapshot(table)).version;
  const before = { bars_1d: await versionOf(BARS_1D), trading_days: await versionOf(TRADING_DAYS) };
  await writeDays(session, lake, { symbols, years: [2025], start: LAST_DAY, end: "2026-01-01" });
  await landDays();
  return before;
}

const LAST_DAY = "2025-12-31";
const NODE = nodeCommand("../build-dataset.ts");

interface Order {
  readonly layout: Layout;
  readonly [more: string]: unknown;
}

/**
 * A program that builds a dataset: started again for each run, so that no run profits from code compiled earlier, and
 * given its order when it has loaded its modules.
 *
 * @param earlier the order that makes the dataset that is appended to.
 */
function build(
  name: string,
  baseline: string,
  command: Command,
  order: Order,
  place: string,
  earlier?: Order,
): Case {
  let runs = 0;
  return {
    name,
    baseline,
    async run(timed) {
      // Deleting thousands of files would slow down the next run.
      const output = `${place}-${runs++}`;
      if (earlier !== undefined) await (await startWaiting(command, { ...earlier, output })).run();
      const program = await startWaiting(command, { ...order, output });
      const peakMb = await timed(() => program.run());
      return { checks: await checksOf(order.layout, output), figures: { "peak MB": peakMb } };
    },
  };
}

/** Counts and sums of what was written; they are equal for equal bytes. */
function checksOf(layout: Layout, folder: string): Promise<Record<string, number>> {
  if (layout === "qlib") return qlibChecks(folder);
  if (layout === "long") return longChecks(folder);
  const fields = join(folder, "fields");
  return wideChecks(existsSync(fields) ? fields : folder);
}

async function qlibChecks(folder: string): Promise<Record<string, number>> {
  const days = readFileSync(join(folder, "calendars/day.txt"), "utf8").trimEnd().split("\n");
  const checks: Record<string, number> = { days: days.length, symbols: 0 };
  for (const symbol of readdirSync(join(folder, "features")).sort()) {
    checks.symbols = (checks.symbols ?? 0) + 1;
    for (const field of FIELDS) {
      const bytes = readFileSync(join(folder, "features", symbol, `${field}.day.bin`));
      const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
      let sum = checks[field] ?? 0;
      for (const value of values) if (!Number.isNaN(value)) sum += value;
      checks[field] = sum;
    }
  }
  return checks;
}

async function wideChecks(folder: string): Promise<Record<string, number>> {
  using session = await Session.open();
  const checks: Record<string, number> = {};
  for (const field of FIELDS) {
    const file = literal(join(folder, `${field}.parquet`));
    const [row] = await session.json<Record<string, number>>(
      `SELECT CAST(count(*) AS DOUBLE) AS days, sum(COLUMNS(* EXCLUDE (trade_date))) FROM read_parquet(${file})`,
    );
    const { days = 0, ...sums } = row ?? {};
    checks.days = days;
    checks[field] = Object.values(sums).reduce((sum, one) => sum + one, 0);
  }
  return checks;
}

async function longChecks(folder: string): Promise<Record<string, number>> {
  using session = await Session.open();
  // One thread adds the values in their order.
  await session.run("SET threads = 1");
  const sums = FIELDS.map((name) => `sum(${name}) AS ${name}`).join(", ");
  const [row] = await session.json<Record<string, number>>(
    `SELECT CAST(count(*) AS DOUBLE) AS rows, CAST(count(DISTINCT trade_date) AS DOUBLE) AS days, ${sums}
     FROM (FROM read_parquet(${literal(join(folder, "**/*.parquet"))}, hive_partitioning = false) ORDER BY symbol, trade_date)`,
  );
  return row ?? {};
}
