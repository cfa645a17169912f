import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { literal } from "../../src/db/quote.js";
import { Session } from "../../src/db/session.js";
import { buildDataset } from "../../src/export/dataset/build-dataset.js";
import { defineDataset } from "../../src/export/dataset/spec.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { landTradingDays } from "../../src/lake/trading-days.js";
import { BARS_1D } from "../../src/schema/bars.js";
import type { Benchmark, Case } from "../benchmark.js";
import { FIELDS, LAYOUTS, type Layout } from "../dataset-layout.js";
import { writeDays, writeReference } from "../market-lake.js";
import { findPandas, type PandasScript, startPandas } from "../pandas-script.js";
import { watchingMemory } from "../peak-memory.js";
import { plainDataset } from "../plain-dataset.js";
import { temporaryFolder } from "../temporary-folder.js";

/**
 * Backward-adjusted bars of a lake, aligned, as datasets for backtests; against the script that one would write with pandas,
 * or, where there is no Python with it, with row objects.
 */
export const dataset: Benchmark = {
  name: "dataset",
  doc: "a lake's daily bars -> adjusted, aligned, eight fields -> qlib's files, and a Parquet matrix a field",
  lengthy: true,
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
    const python = findPandas();
    const rows = rowCount(bars);
    const place = (name: string): string => join(folder.path, name);
    return {
      summary: `${rows} daily bars of ${symbols} symbols, ${FIELDS.length} fields`,
      work: { "bars/s": rows },
      cases: (["qlib", "wide"] as const).flatMap((layout) => {
        const baseline = `${python === undefined ? "row objects" : "pandas"}: ${layout}`;
        return [
          python === undefined
            ? plain(baseline, lake, layout, place)
            : pandas(baseline, { python, files, layout }, place),
          barlake(`barlake: ${layout}`, baseline, lake, layout, place),
        ];
      }) as [Case, ...Case[]],
      async close() {
        folder[Symbol.dispose]();
      },
    };
  },
};

/** Makes the name of a folder that no other run has: deleting thousands of files would slow down the next one. */
let runs = 0;
const runFolder = (place: (name: string) => string): string => place(`${process.pid}-${runs++}`);

function barlake(
  name: string,
  baseline: string,
  lake: Lake,
  layout: Layout,
  place: (name: string) => string,
): Case {
  return {
    name,
    baseline,
    async run(timed) {
      const output = runFolder(place);
      const spec = defineDataset({
        name: "bench",
        universe: { region: "CN" },
        from: "2000-01-01",
        fields: [...FIELDS],
        masks: [],
        format: LAYOUTS[layout],
        output,
      });
      const peak = await watchingMemory(() => timed(() => buildDataset(lake, spec)));
      const root = layout === "qlib" ? output : join(output, "fields");
      return { checks: await checksOf(layout, root), figures: { "peak MB": peak / 1e6 } };
    },
  };
}

function pandas(name: string, script: PandasScript, place: (name: string) => string): Case {
  return {
    name,
    baseline: name,
    async run(timed) {
      const output = runFolder(place);
      const started = await startPandas(script, output);
      const peakMb = await timed(() => started.run());
      return { checks: await checksOf(script.layout, output), figures: { "peak MB": peakMb } };
    },
  };
}

function plain(name: string, lake: Lake, layout: Layout, place: (name: string) => string): Case {
  return {
    name,
    baseline: name,
    async run(timed) {
      const output = runFolder(place);
      const peak = await watchingMemory(() => timed(() => plainDataset(lake, layout, output)));
      return { checks: await checksOf(layout, output), figures: { "peak MB": peak / 1e6 } };
    },
  };
}

/** Counts and sums of what was written; equal bytes have equal ones. */
function checksOf(layout: Layout, folder: string): Promise<Record<string, number>> {
  return layout === "qlib" ? qlibChecks(folder) : wideChecks(folder);
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
