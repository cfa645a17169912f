import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Benchmark, Case, Outcome, Size, Workload } from "./benchmark.js";

/** One run of a case. */
export interface Run {
  readonly ms: number;
  /** Processor time of all threads of the case's process, and of those that it waited for, in milliseconds: other programs change it little. */
  readonly processorMs: number;
  readonly outcome: Outcome;
}

/** A workload's description, without its cases. */
export interface WorkloadFacts extends Pick<Workload, "summary" | "work"> {
  /** Names of the cases, the baseline's first. */
  readonly names: readonly string[];
  /** Index of each case's baseline. */
  readonly baselines: readonly number[];
}

/** Prepared cases, in this process or in others. */
export interface CaseRunner {
  readonly facts: WorkloadFacts;
  run(index: number): Promise<Run>;
  close(): Promise<void>;
}

/** Messages from a case's process. */
export type CaseMessage =
  | { readonly kind: "ready"; readonly facts: WorkloadFacts }
  | { readonly kind: "ran"; readonly run: Run }
  | { readonly kind: "failed"; readonly reason: string };

/** Messages to a case's process. */
export type CaseCommand = "run" | "close";

/** Runs a case once, and times its measured part. */
export async function runCase(one: Case): Promise<Run> {
  let times: Pick<Run, "ms" | "processorMs"> | undefined;
  const outcome = await one.run(async (work) => {
    const [start, used] = [performance.now(), process.cpuUsage()];
    const result = await work();
    const { user, system } = process.cpuUsage(used);
    times = { ms: performance.now() - start, processorMs: (user + system) / 1000 };
    return result;
  });
  if (times === undefined) throw new TypeError(`case ${one.name} timed nothing`);
  const { ms, processorMs } = times;
  return { ms, processorMs: processorMs + (outcome.processesMs ?? 0), outcome };
}

export function factsOf({ summary, work, cases }: Workload): WorkloadFacts {
  const names = cases.map((one) => one.name);
  const baselines = cases.map(({ baseline }) => (baseline === undefined ? 0 : names.indexOf(baseline)));
  if (baselines.includes(-1)) throw new TypeError(`a case of ${summary} has a baseline that is no case`);
  return { summary, work, names, baselines };
}

/** Prepares all cases in this process: this is quick, but garbage of one case slows down the others. */
export async function prepareHere(benchmark: Benchmark, size: Size): Promise<CaseRunner> {
  const workload = await benchmark.prepare(size);
  return {
    facts: factsOf(workload),
    run: (index) => runCase(workload.cases[index] as Case),
    close: async () => workload.close?.(),
  };
}

/** Prepares each case in a separate process, with a separate heap and separately compiled code. */
export async function prepareApart(benchmark: Benchmark, size: Size): Promise<CaseRunner> {
  const children: ChildProcess[] = [];
  const start = async (index: number): Promise<WorkloadFacts> => {
    const child = fork(fileURLToPath(new URL("case-process.ts", import.meta.url)), [
      benchmark.name,
      String(index),
      size,
    ]);
    children.push(child);
    const message = await nextMessage(child);
    if (message.kind !== "ready") throw new TypeError(`case process answered ${message.kind}, not ready`);
    return message.facts;
  };
  const close = async (): Promise<void> => {
    await Promise.all(children.map((child) => closed(child)));
  };
  try {
    const facts = await start(0);
    for (let index = 1; index < facts.names.length; index++) await start(index);
    return {
      facts,
      async run(index) {
        const child = children[index] as ChildProcess;
        const message = nextMessage(child);
        child.send("run" satisfies CaseCommand);
        const response = await message;
        if (response.kind !== "ran") throw new TypeError(`case process answered ${response.kind}, not ran`);
        return response.run;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws {Error} if the process failed or has ended. */
async function nextMessage(child: ChildProcess): Promise<CaseMessage> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null, signal: string | null): void => {
      child.off("message", onMessage);
      reject(new Error(`case process ended with ${signal ?? code}`));
    };
    const onMessage = (message: unknown): void => {
      child.off("exit", gone);
      const response = message as CaseMessage;
      if (response.kind === "failed") reject(new Error(response.reason));
      else resolve(response);
    };
    child.once("exit", gone);
    child.once("message", onMessage);
  });
}

async function closed(child: ChildProcess): Promise<void> {
  if (!child.connected) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.send("close" satisfies CaseCommand);
  await exited;
}
