import { parseArgs } from "node:util";
import { compareText } from "../../../src/core/text-order.js";
import { failureOf, outliveMany } from "./outlive-many.js";

const USAGE = `Usage: npm run faults -- [--schedules N] [--seed N]

Runs pipelines against a service that misbehaves, in processes that are killed, and holds what is left against the truth.

  --schedules N   how many schedules of faults and kills (default 200)
  --seed N        seed of the first one (default: the time); each further one has the next`;

process.exitCode = await main();

async function main(): Promise<number> {
  const { schedules, seed, help } = parsed();
  if (help || !(schedules > 0) || !Number.isSafeInteger(seed)) {
    (help ? console.log : console.error)(USAGE);
    return help ? 0 : 2;
  }
  console.log(`${schedules} schedules from seed ${seed}`);
  const seeds = Array.from({ length: schedules }, (_, n) => seed + n);
  const counts = new Map<string, number>();
  const count = (what: string, n: number): unknown => counts.set(what, (counts.get(what) ?? 0) + n);
  const folder = await outliveMany(seeds, (one) => {
    count(one.findings.length === 0 ? "schedules that passed" : "schedules that failed", 1);
    count("processes", one.lives);
    count("kills", one.kills);
    for (const [what, n] of one.met) count(what, n);
    if (one.findings.length > 0) console.error(failureOf(one));
  });
  for (const [what, n] of [...counts].sort(([a], [b]) => compareText(a, b)))
    console.log(`${String(n).padStart(9)} ${what}`);
  if (folder !== undefined) console.error(`their lakes are in ${folder}`);
  return folder === undefined ? 0 : 1;
}

function parsed(): { schedules: number; seed: number; help: boolean } {
  const { values } = parseArgs({
    options: {
      schedules: { type: "string", default: "200" },
      seed: { type: "string", default: String(Date.now() % 1_000_000_007) },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return { schedules: Number(values.schedules), seed: Number(values.seed), help: values.help };
}
