import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BarsNote } from "../../../../src/jobs/ingest/bars/landing-bars.js";
import { definePipeline, type Pipeline } from "../../../../src/jobs/pipeline/definition.js";
import { ResponseSpool } from "../../../../src/lake/requests/response-spool.js";
import { type EventClock, eventClock, holdRequests } from "../../clock/event-clock.js";
import { intercept } from "../../clock/process-calls.js";
import { drawsOf } from "../../simulated-ingest/draws.js";
import { interceptAll } from "./intercepted-calls.js";
import { type Findings, judge, type Spooled, type StartedRun } from "./judge.js";
import { CALM_AT, type MachinePlan, planOf } from "./machine-plan.js";
import { barsOf, DAILY, FROM, KNOWN, MINUTES, START, symbolsFor, TO } from "./market-of-machines.js";
import { runScheduled } from "./scheduled-process.js";
import { sharedLake } from "./shared-lake.js";
import { openSharedService } from "./shared-service.js";
import { currentProcess, type Fault, type Loss, VirtualProcess } from "./virtual-process.js";

const SECOND_MS = 1000;
/** Pause before a command that has ended is started again. */
const RESTART_MS = 5 * SECOND_MS;
/** A schedule that needs longer does not end. */
const MOST_MS = 3 * 3_600_000;
/** The id of no process. */
const NO_PROCESS = 2 ** 30;

/** Runs the schedule of a seed in a process that does nothing else, and judges it. @param place an empty folder. */
export async function simulateMachines(seed: number, place: string): Promise<Findings> {
  const plan = planOf(seed);
  const time = eventClock(START);
  await interceptAll(time, drawsOf(seed, "chance"));
  holdRequests(time);
  const spooled = noteSpooled(time);
  const lake = sharedLake(place, time);
  const service = await openSharedService(barsOf, {
    time,
    draws: drawsOf(seed, "service"),
    rpm: plan.rpm,
  });
  const symbols = symbolsFor(plan.rpm);
  const pipelines = new Map<string, Pipeline>(
    [DAILY, MINUTES].map((one) => [one.name, pipelineOf(one, symbols)]),
  );
  const running = new Map<string, VirtualProcess>();
  const losses: Loss[] = [];
  const started: StartedRun[] = [];
  /** When each pipeline was first complete. */
  const completed = new Map<string, number>();
  const isOver = (): boolean => completed.size === pipelines.size || time.now() > START + MOST_MS;

  const live = async ({ name: machine, aheadMs, startsAt, pipelines: names }: MachinePlan): Promise<void> => {
    await time.sleep(startsAt);
    for (let n = 1; ; n++) {
      let onKilled: (loss: Loss) => void = () => {};
      const killed = new Promise<Loss>((resolve) => {
        onKilled = resolve;
      });
      const draws = drawsOf(seed, `${machine} ${n}`);
      const process = new VirtualProcess(
        { name: `${machine}.${n}`, machine, aheadMs },
        { time, draws, ended: onKilled, noted: (loss) => losses.push(loss) },
      );
      running.set(machine, process);
      const scheduled = {
        process,
        lake: lake.openFor(process),
        url: service.urlFor(process),
        rpm: plan.rpm,
        pipelines: names.map((name) => pipelines.get(name) as Pipeline),
        limits: KNOWN,
        state: join(place, "state"),
        signal: new AbortController().signal,
        onStart: (pipeline: string): void => {
          started.push({ process: process.name, pipeline, time: time.now() });
        },
        onRun: (pipeline: string, outcome: string): void => {
          if (outcome === "complete" && !completed.has(pipeline)) completed.set(pipeline, time.now());
        },
      };
      const ended = currentProcess
        .run(process, () => runScheduled(scheduled))
        .then(
          () => undefined,
          () => undefined,
        );
      const loss = await Promise.race([ended, killed]);
      if (loss !== undefined) orphanSpool(join(place, machine));
      await time.sleep(loss?.ms ?? RESTART_MS);
    }
  };
  const strike = async (fault: Fault): Promise<void> => {
    await time.sleep(fault.at);
    await running.get(fault.machine)?.meet(fault);
  };
  for (const machine of plan.machines) void live(machine);
  for (const fault of plan.faults) void strike(fault);
  while (!isOver()) await time.sleep(SECOND_MS);
  const end = time.now();
  for (const process of running.values()) process.end();
  return judge({
    folder: lake.folder,
    commits: lake.commits,
    received: service.received,
    spooled,
    losses,
    started,
    symbols,
    rpm: plan.rpm,
    calm: { from: START + CALM_AT, to: Math.min(end, ...completed.values()) },
    isDone: completed.size === pipelines.size,
  });
}

function pipelineOf({ name, period }: typeof DAILY | typeof MINUTES, symbols: readonly string[]): Pipeline {
  const schedule = { cron: "* * * * *" };
  return definePipeline({ name, kind: "bars", period, from: FROM, to: TO, symbols: [...symbols], schedule });
}

/** Notes each response of bars once a process has it on its disk. */
function noteSpooled(time: EventClock): Spooled[] {
  const spooled: Spooled[] = [];
  intercept(ResponseSpool.prototype as never, "store", async (work, { parameters: [, note] }) => {
    const stored = await work();
    const process = currentProcess.getStore();
    const [record] = (note as BarsNote).entry.records;
    if (process !== undefined && record?.window !== undefined)
      spooled.push({
        machine: process.machine,
        table: (note as BarsNote).dataset,
        symbols: record.symbols.join(","),
        start: record.window.start,
        time: time.now(),
      });
    return stored;
  });
  return spooled;
}

/** The process that owned the spool of a machine has ended: all processes of the simulation are one real process. */
function orphanSpool(work: string): void {
  const spool = join(work, "spool");
  if (!existsSync(spool)) return;
  for (const run of readdirSync(spool)) {
    const owner = join(spool, run, "owner.json");
    if (!existsSync(owner)) continue;
    const text = readFileSync(owner, "utf8");
    writeFileSync(owner, text.replace(/"pid":\d+/, `"pid":${NO_PROCESS}`));
  }
}
