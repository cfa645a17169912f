import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { literal } from "../../src/db/quote.js";
import { Session } from "../../src/db/session/session.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { landTradingDays } from "../../src/lake/land/trading-days.js";
import { BARS_1D } from "../../src/schema/bars.js";
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
  doc: "a lake's daily bars -> adjusted, aligned, eight fields -> qlib's files, and a Parquet matrix a field",
  lengthy: true,
  shared: true,
  async prepare(size) {
    const [symbols, years] = size === "full" ? [5000, 10] : [20, 2];
    const folder = temporaryFolder();
    const lake = new Lake(join(folder.path, "lake"));
    {
      using session = await Session.open({ spillUnder: folder.path });
      const days = Array.from({ length: years }, (_, n) => 2026 - years + n);
      await writeDays(session, lake, { symbols, years: days, end: "2026-01-01" });
      await writeReference(session, lake, symbols);
      const now = Date.parse("2026-06-01T00:00:00Z");
      await landTradingDays(session, lake, { operation: "BENCH", runId: "bench", now });
    }
    const bars = await lake.snapshot(BARS_1D);
    const files = lake.filesOf(bars).urls;
    const pandas = pandasCommand("pandas_dataset.py");
    const rows = rowCount(bars);
    const place = (name: string): string => join(folder.path, name);
    return {
      summary: `${rows} daily bars of ${symbols} symbols, ${FIELDS.length} fields`,
      work: { "bars/s": rows },
      cases: (["qlib", "wide"] as const).flatMap((layout): Case[] => {
        const order = { folder: lake.location, layout };
        const [plain, root] = [place(`${layout}-plain`), place(`${layout}-barlake`)];
        const baseline = `${pandas === undefined ? "row objects" : "pandas"}: ${layout}`;
        return [
          pandas === undefined
            ? build(baseline, baseline, NODE, { ...order, by: "row objects" }, plain)
            : build(baseline, baseline, pandas, { files, layout }, plain),
          build(`barlake: ${layout}`, baseline, NODE, { ...order, by: "barlake" }, root),
        ];
      }) as [Case, ...Case[]],
      async close() {
        folder[Symbol.dispose]();
      },
    };
  },
};

const NODE = nodeCommand("../build-dataset.ts");

/**
 * A program that builds a dataset: started again for each run, so that no run profits from code compiled earlier, and
 * given its order when it has loaded its modules.
 */
function build(
  name: string,
  baseline: string,
  command: Command,
  order: { readonly layout: Layout; readonly [more: string]: unknown },
  place: string,
): Case {
  let runs = 0;
  return {
    name,
    baseline,
    async run(timed) {
      // Deleting thousands of files would slow down the next run.
      const output = `${place}-${runs++}`;
      const program = await startWaiting(command, { ...order, output });
      const peakMb = await timed(() => program.run());
      return { checks: await checksOf(order.layout, output), figures: { "peak MB": peakMb } };
    },
  };
}

/** Counts and sums of what was written; they are equal for equal bytes. */
function checksOf(layout: Layout, folder: string): Promise<Record<string, number>> {
  if (layout === "qlib") return qlibChecks(folder);
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
