import { UsageError } from "../../core/errors.js";
import { definePipeline, type Pipeline } from "../../jobs/pipeline/definition.js";
import type { RunReport } from "../../jobs/run/run-pipeline.js";
import type { Lake } from "../../lake/lake.js";
import { openReader } from "../../lake/open-reader.js";
import { EXIT, exitOfRun } from "../cli.js";
import { lakeAt } from "../options/lake-option.js";
import { openService, type ServiceOptions } from "../options/service-option.js";
import { paint, plural } from "../text.js";
import { printTables, runShown, say, sayRun } from "./demo-output.js";

interface LiveDemo extends Pick<ServiceOptions, "lake" | "url" | "rpm"> {
  readonly universe?: string;
  /** Most symbols. */
  readonly symbols: number;
  /** Requests at which it ends; those that are under way then are received. */
  readonly requests: number;
  readonly minutes: number;
  readonly signal: AbortSignal;
}

const REFERENCE = definePipeline({ name: "reference", kind: "reference" });
const PIPELINES: readonly Pipeline[] = [
  definePipeline({ name: "daily", kind: "bars", period: "1d", from: "-730d", exFactors: true }),
  definePipeline({ name: "minute", kind: "bars", period: "1m", from: "-7d", regions: ["CN"] }),
  definePipeline({ name: "financials", kind: "statements" }),
];
/** Fewest and most members of a universe that is chosen for the user, where the service has such a one. */
const SMALL = [20, 400] as const;

/**
 * The demo's way against a real service: reference data, then bars and statements of one universe, into a lake that later
 * runs go on with. What the service refuses to the key is said, and the rest goes on.
 *
 * @returns the exit code. @throws {UsageError} without an address, and for a universe that the service does not have.
 */
export async function liveDemo(options: LiveDemo): Promise<number> {
  const lake = lakeAt(options.lake);
  const service = await openService(options, lake, "demo --live");
  const bound = new AbortController();
  const timer = setTimeout(() => bound.abort(), options.minutes * 60_000);
  const signal = AbortSignal.any([options.signal, service.lost, bound.signal]);
  let before = 0;
  const run = async (pipeline: Pipeline, demand: Parameters<typeof runShown>[1]): Promise<RunReport> => {
    const report = await runShown(
      pipeline,
      demand,
      { lake, client: service.client, limits: service.limits, signal },
      ({ requestsDone }) => {
        if (before + requestsDone >= options.requests) bound.abort();
      },
    );
    before += report.requests.sent;
    sayRun(report);
    const reason = report.stopped ?? report.failures[0]?.reason ?? report.notOffered[0]?.reason;
    if (reason !== undefined && !bound.signal.aborted)
      say("", `${paint("yellow", report.status)}: ${reason}`);
    return report;
  };
  try {
    say("1", `what the service has: exchanges, instruments, universes`);
    const listed = await run(REFERENCE, {});
    if (listed.status === "refused") return EXIT.refused;
    if (signal.aborted) return ended(options);
    const { id, symbols } = await chosenUniverse(lake, options);
    say("2", `bars and statements of ${plural(symbols.length, "member")} of the universe ${id}`);
    let code: number = exitOfRun(listed.status);
    for (const pipeline of PIPELINES) {
      const { status } = await run(pipeline, { symbols });
      if (signal.aborted) return ended(options);
      if (code === EXIT.done) code = exitOfRun(status);
    }
    say("3", "the lake holds");
    await printTables(lake);
    process.stdout.write(`
Try next:
  npx barlake ui --lake ${options.lake}
  npx barlake sql --lake ${options.lake} "from daily_fundamentals order by trade_date desc limit 10"
  npx barlake run daily --lake ${options.lake} --universe ${id}        what has come since
`);
    return code;
  } finally {
    clearTimeout(timer);
    await service.close();
  }
}

function ended({ signal, requests, minutes }: LiveDemo): number {
  if (signal.aborted) return EXIT.interrupted;
  say(
    "",
    `it ends here, by --requests ${requests} or --minutes ${minutes}: the same command goes on, and asks for nothing twice`,
  );
  return EXIT.partial;
}

async function chosenUniverse(
  lake: Lake,
  { universe, symbols: most }: LiveDemo,
): Promise<{ readonly id: string; readonly symbols: readonly string[] }> {
  using reader = await openReader(lake);
  const { session } = reader;
  const counted = `SELECT id, count(*) AS members, count(*) FILTER (i.type = 'stock') > 0.9 * count(*) AS of_stocks
    FROM universe_members LEFT JOIN instruments AS i USING (symbol) GROUP BY id`;
  const [found] = await session.json<{ id: string }>(
    universe === undefined
      ? `SELECT id FROM (${counted}) ORDER BY members BETWEEN ${SMALL[0]} AND ${SMALL[1]} DESC, of_stocks DESC, members, id LIMIT 1`
      : `SELECT id FROM (${counted}) WHERE id = $1`,
    universe === undefined ? [] : [universe],
  );
  if (found === undefined) {
    const some = await session.json<{ id: string }>(`SELECT id FROM (${counted}) ORDER BY members LIMIT 5`);
    throw new UsageError(
      universe === undefined
        ? "the service has no universe with members"
        : `universe ${universe}: is not known`,
      {
        hint: `name one with --universe: ${some.map(({ id }) => id).join(", ")}, ...`,
      },
    );
  }
  const rows = await session.json<{ symbol: string }>(
    `SELECT symbol FROM universe_members WHERE id = $1 ORDER BY symbol LIMIT ${most}`,
    [found.id],
  );
  return { id: found.id, symbols: rows.map(({ symbol }) => symbol) };
}
