import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { systemClock } from "../../../src/client/system-clock.js";
import { optimizeLake } from "../../../src/jobs/maintenance/optimize-lake.js";
import { planPipeline, runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { Lake, rowCount } from "../../../src/lake/lake.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { type GrownSpec, growLake, NEWEST_MONTH, NEXT_DATE } from "../../lakes/grown-lake.js";
import type { Benchmark, Case, Outcome } from "../../measure/benchmark.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";
import {
  environment,
  MINUTES,
  type MinuteService,
  startMinuteService,
} from "../../serving/minute-service.js";

/** The built command line. */
const COMMAND = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
/** What a night asks for: the day that the lakes do not have. */
const NIGHT = { from: NEXT_DATE, to: "2025-02-01" };

/** What is done with a lake every day; the result is the same however large it is. */
type Work = (lake: Lake, service: MinuteService, timed: Parameters<Case["run"]>[0]) => Promise<Outcome>;

const DAY = "trade_date = '2025-01-15'";
const WORK: Readonly<Record<string, Work>> = {
  "open the table": opening,
  "open a session with all views": openingSession,
  "plan a night": planning,
  "a symbol's day": asking(`symbol = '600003.SH' AND ${DAY}`),
  "a day's cross-section": asking(DAY),
  "a month": asking("trade_date BETWEEN '2025-01-01' AND '2025-01-30'"),
  status: showingStatus,
  "a nightly run": nightlyRun,
  "optimize a month": optimizing,
};

/** Many files: what grows while nobody compacts. */
export const growthInFiles = growth(
  "growth-files",
  "64,000 files of nightly runs against those of one month: open, plan, ask, run, optimize",
  { symbols: 534, minutes: 8, filesAMonth: 267, filesAre: "landed", months: 240 },
  { symbols: 10, minutes: 8, filesAMonth: 3, filesAre: "landed", months: 2 },
);

/** Many bars: what grows with the years. */
export const growthInBars = growth(
  "growth-bars",
  "a compacted lake of a billion minute bars against one of its months: open, plan, ask, run, optimize",
  { symbols: 2000, minutes: 240, filesAMonth: 2, filesAre: "compacted", months: 96 },
  { symbols: 10, minutes: 60, filesAMonth: 2, filesAre: "compacted", months: 2 },
);

function growth(name: string, doc: string, full: GrownSpec, smoke: GrownSpec): Benchmark {
  return {
    name,
    doc,
    shared: true,
    lengthy: true,
    async prepare(size) {
      const spec = size === "full" ? full : smoke;
      const folder = temporaryFolder();
      const small = await growLake(folder.path, { ...spec, months: 1 });
      const large = await growLake(folder.path, spec);
      const service = await startMinuteService({ symbols: spec.symbols, months: 1 });
      const { files } = await large.snapshot(BARS_1M);
      const rows = [small, large].map(async (lake) => rowCount(await lake.snapshot(BARS_1M)));
      const [few, many] = await Promise.all(rows);
      return {
        summary: `${many} bars in ${files.size} files of ${spec.months} months; one month: ${few} bars, ${spec.filesAMonth} files`,
        work: { "times/s": 1 },
        cases: Object.entries(WORK).flatMap(([what, work]) => [
          workOn(`one month: ${what}`, `one month: ${what}`, small, service, work),
          workOn(`all: ${what}`, `one month: ${what}`, large, service, work),
        ]) as [Case, ...Case[]],
        async close() {
          service.close();
          folder[Symbol.dispose]();
        },
      };
    },
  };
}

function workOn(name: string, baseline: string, lake: Lake, service: MinuteService, work: Work): Case {
  return { name, baseline, run: (timed) => work(lake, service, timed) };
}

async function opening(lake: Lake, _: MinuteService, timed: Parameters<Case["run"]>[0]): Promise<Outcome> {
  const { files } = await timed(() => new Lake(lake.location).snapshot(BARS_1M));
  const newest = [...files.values()].filter(({ partitionValues }) => partitionValues.month === NEWEST_MONTH);
  return { checks: { "files of the newest month": newest.length } };
}

async function openingSession(
  lake: Lake,
  _: MinuteService,
  timed: Parameters<Case["run"]>[0],
): Promise<Outcome> {
  const { session, refused } = await timed(() => openReader(new Lake(lake.location)));
  session.close();
  return { checks: { refused: refused.length } };
}

async function planning(
  lake: Lake,
  service: MinuteService,
  timed: Parameters<Case["run"]>[0],
): Promise<Outcome> {
  const client = service.client();
  const run = environment(lake, client);
  const units = await timed(() => planPipeline(MINUTES, { symbols: service.symbols, ...NIGHT }, run));
  await client.close();
  return { checks: { requests: units?.length ?? 0 } };
}

/** A question in an open session, asked once before: what it costs to find the rows, and to read them. */
function asking(where: string): Work {
  return async (lake, _, timed) => {
    const sql = `SELECT count(*)::DOUBLE AS rows, sum(close) AS close, sum(amount) AS amount FROM bars_1m WHERE ${where}`;
    const { session } = await openReader(lake);
    using reader = session;
    await reader.run(sql);
    const [sums] = await timed(() => reader.json<Record<string, number>>(sql));
    return { checks: sums ?? {} };
  };
}

async function showingStatus(
  lake: Lake,
  _: MinuteService,
  timed: Parameters<Case["run"]>[0],
): Promise<Outcome> {
  const command = [COMMAND, "status", "--json", "--lake", lake.location];
  const { stdout } = await timed(() => promisify(execFile)(process.execPath, command));
  const { tables, refused } = JSON.parse(stdout) as Record<string, unknown[]>;
  return { checks: { tables: tables?.length ?? 0, refused: refused?.length ?? 0 } };
}

async function nightlyRun(
  lake: Lake,
  service: MinuteService,
  timed: Parameters<Case["run"]>[0],
): Promise<Outcome> {
  const client = service.client();
  const options = { symbols: service.symbols, ...NIGHT };
  const report = await timed(() => runPipeline(MINUTES, options, environment(lake, client)));
  await client.close();
  const inserted = report.landed.reduce(
    (sum, one) => sum + (one.table === BARS_1M.name ? one.inserted : 0),
    0,
  );
  return { checks: { requests: report.requests.sent, inserted } };
}

async function optimizing(lake: Lake, _: MinuteService, timed: Parameters<Case["run"]>[0]): Promise<Outcome> {
  const enough = new AbortController();
  const options = {
    runId: "benchmark",
    rewrite: true,
    signal: enough.signal,
    onProgress: () => enough.abort(),
  };
  const { reports } = await timed(() => optimizeLake(lake, [BARS_1M], options, systemClock));
  const [report] = reports;
  return { checks: { partitions: report?.partitions ?? 0 } };
}
