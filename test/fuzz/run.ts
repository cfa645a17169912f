import { parseArgs } from "node:util";
import fc from "fast-check";
import { fuzzServe } from "./fuzz-serve.js";
import { PROPERTIES, type Property } from "./properties.js";

const USAGE = `Usage: npm run fuzz -- [serve] [--minutes N] [--seed N]

Tries the properties between bytes and columns on random inputs, in turns, until the time is over or one fails.

  serve         attacks a running service over its sockets instead

  --minutes N   how long; a fraction is fine (default 1)
  --seed N      seed of the first turn (default: the time); a failure prints the seed and the path that repeat it`;

/** Runs of a property in one turn. */
const RUNS = 200;
/** Longest time for making a failure smaller. */
const SHRINK_MS = 60_000;

process.exitCode = await main();

async function main(): Promise<number> {
  const { minutes, seed, help, what } = parsed();
  if (help) {
    console.log(USAGE);
    return 0;
  }
  if (!(minutes > 0) || !Number.isSafeInteger(seed) || (what !== undefined && what !== "serve")) {
    console.error(USAGE);
    return 2;
  }
  if (what === "serve") {
    console.log(`the service under attack, ${minutes} minutes, seed ${seed}`);
    return fuzzServe(minutes, seed);
  }
  const end = Date.now() + minutes * 60_000;
  const counts = new Map<Property, number>();
  console.log(`${PROPERTIES.length} properties, ${minutes} minutes, seed ${seed}`);
  for (let turn = 0; Date.now() < end; turn++) {
    for (const one of PROPERTIES) {
      const options = { seed: seed + turn, numRuns: RUNS, interruptAfterTimeLimit: SHRINK_MS };
      const result = await fc.check(one.property, options);
      if (result.failed) {
        console.error(`\nfailed: ${one.name}\n${fc.defaultReportMessage(result)}`);
        return 1;
      }
      counts.set(one, (counts.get(one) ?? 0) + result.numRuns);
    }
    if (process.stdout.isTTY) process.stdout.write(`\rturn ${turn + 1}`);
  }
  for (const [{ name }, runs] of counts) console.log(`${String(runs).padStart(9)} passed: ${name}`);
  return 0;
}

function parsed(): { minutes: number; seed: number; help: boolean; what: string | undefined } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: "string", default: "1" },
      seed: { type: "string", default: String(Date.now() % 1_000_000_007) },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return {
    minutes: Number(values.minutes),
    seed: Number(values.seed),
    help: values.help,
    what: positionals[0],
  };
}
