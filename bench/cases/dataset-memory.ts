import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Session } from "../../src/db/session/session.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { landTradingDays } from "../../src/lake/land/trading-days.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { nodeCommand, startWaiting } from "../baselines/waiting-program.js";
import { writeDays, writeReference } from "../lakes/market-lake.js";
import type { Benchmark, Case } from "../measure/benchmark.js";
import { temporaryFolder } from "../measure/temporary-folder.js";

const NOW = Date.parse("2026-06-01T00:00:00Z");

/** Datasets of few and of many years of the same symbols: does the memory grow with the rows? */
export const datasetMemory: Benchmark = {
  name: "dataset-memory",
  doc: "peak memory while datasets of few and of many daily bars are built; ratio of the peaks",
  lengthy: true,
  shared: true,
  async prepare(size) {
    const [symbols, few, many] = size === "full" ? [5000, 2, 16] : [20, 1, 2];
    const folder = temporaryFolder();
    const cases: Case[] = [];
    for (const years of [few, many]) {
      const { lake, rows } = await dailyLake(join(folder.path, `lake-${years}`), symbols, years);
      cases.push(building(lake, rows, join(folder.path, `dataset-${years}`)));
    }
    return {
      summary: `daily bars of ${symbols} symbols, qlib's files; ratio: of the peaks`,
      work: {},
      cases: cases as [Case, ...Case[]],
      async close() {
        folder[Symbol.dispose]();
      },
    };
  },
};

async function dailyLake(
  folder: string,
  symbols: number,
  years: number,
): Promise<{ lake: Lake; rows: number }> {
  const lake = new Lake(folder);
  using session = await Session.open({ spillUnder: folder });
  const days = Array.from({ length: years }, (_, n) => 2026 - years + n);
  await writeDays(session, lake, { symbols, years: days, end: "2026-01-01" });
  await writeReference(session, lake, symbols);
  await landTradingDays(session, lake, { operation: "BENCHMARK", runId: "benchmark", now: NOW });
  return { lake, rows: rowCount(await lake.snapshot(BARS_1D)) };
}

/** Builds the dataset in a separate process; the figure is the peak of its resident set. */
function building(lake: Lake, rows: number, place: string): Case {
  let runs = 0;
  return {
    name: `barlake: ${(rows / 1e6).toPrecision(3)} million bars`,
    async run(timed) {
      const output = `${place}-${runs++}`;
      const order = { folder: lake.location, layout: "qlib", by: "barlake", output };
      const program = await startWaiting(nodeCommand("../build-dataset.ts"), order);
      const peakMb = await timed(() => program.run());
      const manifest = JSON.parse(readFileSync(join(output, "manifest.json"), "utf8")) as { rows: number };
      if (manifest.rows !== rows) throw new TypeError(`the dataset has ${manifest.rows} rows, not ${rows}`);
      return { checks: {}, figures: { "peak MB": peakMb } };
    },
  };
}
