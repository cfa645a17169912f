import { parseArgs } from "node:util";
import { BENCHMARKS, benchmarkNamed } from "./benchmarks.js";
import type { Benchmark } from "./measure/benchmark.js";
import { type HarnessOptions, machine, measure, WrongResult } from "./measure/harness.js";
import { reportJson, reportTable } from "./measure/report.js";

/** The decoder reaches its full speed after about five responses of 24 MB. */
const WARM_UP_MS = 2000;

const USAGE = `Usage: npm run bench -- [NAME...] [--runs N] [--json] [--smoke]

  --runs N   measured runs of each case (default 7; 1 where a run takes a minute)
  --json     one JSON object a benchmark, a line each; with: npm run --silent bench -- --json
  --smoke    small inputs, one run: shows that every case is right, not how fast it is

${BENCHMARKS.map(({ name, doc }) => `  ${name.padEnd(13)}${doc}`).join("\n")}`;

class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}

interface Command {
  readonly benchmarks: readonly Benchmark[];
  readonly options: HarnessOptions;
  readonly json: boolean;
  readonly help: boolean;
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const { benchmarks, options, json, help } = parseCommand(args);
    if (help) console.log(USAGE);
    else await runAll(benchmarks, options, json);
    return 0;
  } catch (error) {
    if (error instanceof WrongUsage) {
      console.error(`${error.message}\n\n${USAGE}`);
      return 2;
    }
    console.error(error instanceof WrongResult ? error.message : error);
    return 1;
  }
}

async function runAll(
  benchmarks: readonly Benchmark[],
  options: HarnessOptions,
  json: boolean,
): Promise<void> {
  if (!json) console.log(`${machine()}\n`);
  for (const benchmark of benchmarks) {
    const report = await measure(benchmark, options);
    console.log(json ? reportJson(report, machine()) : reportTable(report));
  }
}

function parseCommand(args: readonly string[]): Command {
  const { values, positionals } = parsed(args);
  const { smoke, json, help } = values;
  const runs = values.runs === undefined ? undefined : Number(values.runs);
  if (runs !== undefined && (!Number.isSafeInteger(runs) || runs < 1))
    throw new WrongUsage(`--runs ${values.runs} is not an integer of at least 1`);
  return {
    benchmarks: positionals.length === 0 ? BENCHMARKS : positionals.map(benchmarkOf),
    options: smoke
      ? { size: "smoke", runs: 1, warmUpMs: 0, apart: false }
      : { size: "full", runs, warmUpMs: WARM_UP_MS, apart: true },
    json,
    help,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        runs: { type: "string" },
        json: { type: "boolean", default: false },
        smoke: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (cause) {
    throw new WrongUsage(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function benchmarkOf(name: string): Benchmark {
  const found = benchmarkNamed(name);
  if (found === undefined) throw new WrongUsage(`benchmark ${name} does not exist`);
  return found;
}
