import { benchmarkNamed } from "../benchmarks.js";
import type { Case, Size, Workload } from "./benchmark.js";
import { type CaseCommand, type CaseMessage, factsOf, runCase } from "./case-runner.js";

/** The process of one case: prepares the workload, runs the case on request, and ends with its parent. */
const [name = "", index = "", size] = process.argv.slice(2);

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("disconnect", () => process.exit());
await reporting(prepare);

async function prepare(): Promise<CaseMessage> {
  const benchmark = benchmarkNamed(name);
  if (benchmark === undefined) throw new TypeError(`benchmark ${name} does not exist`);
  const workload = await benchmark.prepare(size as Size);
  process.on("message", (command: CaseCommand) => void obey(workload, command));
  return { kind: "ready", facts: factsOf(workload) };
}

async function obey(workload: Workload, command: CaseCommand): Promise<void> {
  if (command === "run") {
    const one = workload.cases[Number(index)] as Case;
    return reporting(async () => ({ kind: "ran", run: await runCase(one) }));
  }
  await workload.close?.();
  process.exit();
}

async function reporting(work: () => Promise<CaseMessage>): Promise<void> {
  let message: CaseMessage;
  try {
    message = await work();
  } catch (error) {
    message = {
      kind: "failed",
      reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
  process.send?.(message);
}
