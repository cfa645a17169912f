import { join } from "node:path";
import { openKey } from "../../../../src/api/service/service-access.js";
import type { Pipeline } from "../../../../src/jobs/pipeline/definition.js";
import { lastRuns } from "../../../../src/jobs/run/report/run-history.js";
import { type RunEnvironment, type RunReport, runPipeline } from "../../../../src/jobs/run/run-pipeline.js";
import { Leadership } from "../../../../src/jobs/schedule/leadership.js";
import { catchUpWith, initialStates } from "../../../../src/jobs/schedule/pipeline-state.js";
import { runSchedule } from "../../../../src/jobs/schedule/run-schedule.js";
import type { Lake } from "../../../../src/lake/lake.js";
import type { VirtualProcess } from "./virtual-process.js";

export interface Scheduled {
  readonly process: VirtualProcess;
  readonly lake: Lake;
  readonly url: string;
  readonly rpm: number;
  readonly pipelines: readonly Pipeline[];
  readonly limits: NonNullable<RunEnvironment["limits"]>;
  /** A folder for the state of the process. */
  readonly state: string;
  readonly signal: AbortSignal;
  /** Called when a run begins: it reads the ledger later. */
  readonly onStart: (pipeline: string) => void;
  readonly onRun: (pipeline: string, outcome: string) => void;
}

const CATCH_UP = { missed: true, neverRun: false };

/** Does what `barlake schedule` does, in a virtual process. @throws what ends the command. */
export async function runScheduled(scheduled: Scheduled): Promise<void> {
  const { process, lake, pipelines, signal, onRun } = scheduled;
  const { clock } = process;
  const startedAt = clock.now();
  const states = initialStates(pipelines, await lastRuns(lake), CATCH_UP, startedAt);
  const names = pipelines.map(({ name }) => name);
  const leadership = new Leadership(lake, names, {
    clock,
    signal,
    async onLead(led) {
      const own = states.filter(({ pipeline }) => led.includes(pipeline.name));
      catchUpWith(own, await lastRuns(lake), CATCH_UP, startedAt, clock.now());
    },
    onStandby: () => {},
    onLost: () => {},
    onFault: () => {},
  });
  try {
    await leadership.leadFree();
    leadership.watch();
    await runSchedule(states, {
      clock,
      signal,
      isTradingDay: () => true,
      leading: leadership,
      run: (pipeline) =>
        runOnce(scheduled, pipeline, AbortSignal.any([signal, leadership.lostOf(pipeline.name)])),
      onEvent(event) {
        if (event.kind === "ended") onRun(event.pipeline.name, event.outcome.status);
      },
    });
  } finally {
    await leadership.close().catch(() => {});
  }
}

async function runOnce(scheduled: Scheduled, pipeline: Pipeline, ended: AbortSignal): Promise<RunReport> {
  const { process, lake, url, rpm, limits, state, onStart } = scheduled;
  const { clock } = process;
  onStart(pipeline.name);
  const use = {
    url,
    apiKey: "key-of-the-machines",
    requestsPerMinute: rpm,
    purpose: `schedule ${pipeline.name}`,
    environment: { XDG_STATE_HOME: join(state, process.name) },
    clock,
    onNote: () => {},
  };
  const key = await openKey(use, lake, { onLearned: () => {} });
  const { client, lost } = key;
  try {
    const signal = AbortSignal.any([ended, lost]);
    const report = await runPipeline(pipeline, {}, { lake, client, limits, clock, signal });
    if (lost.aborted) throw lost.reason;
    return report;
  } finally {
    await key.close();
  }
}
