import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { ServiceClient } from "../../../src/client/service-client.js";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { type RunEnvironment, type RunReport, runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../../src/lake/lake.js";
import { workFolder } from "../../../src/lake/local/work-folder.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { barsOn } from "../../jobs/scripted-market.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { type VirtualClock, virtualClock } from "../clock/virtual-clock.js";
import { type Script, type Seen, startScripted } from "../service/scripted-service.js";

const DAY = 86_400_000;
export const DAYS = Array.from({ length: 90 }, (_, n) => Date.parse("2023-10-01T16:00:00Z") + n * DAY).filter(
  (ms) => ![5, 6].includes(new Date(ms).getUTCDay()),
);
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: "2023-10-02" };
export const SYMBOLS = ["600000.SH", "600004.SH"];
export const AFTER_STALE_MS = 61_000;
/** A known cap that makes many requests of few days. */
export const SMALL: NonNullable<RunEnvironment["limits"]> = {
  limits: { requestsPerMinute: {}, symbolsPerRequest: {}, rowCap: { "1m": 1000 } },
  learn: () => {},
};

export const barsOf = (seen: Seen): object =>
  barsOn(
    DAYS.flatMap((day) => [571, 600, 690, 900].map((minute) => day + minute * 60_000)),
    seen,
  );

/** A machine: its clock, and runs of it. */
export interface Machine {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly lake: Lake;
  run(more?: Partial<RunEnvironment>, symbols?: readonly string[]): Promise<RunReport>;
}

/**
 * A service, a lake, and machines whose clocks differ by an hour: each has a separate work folder, as for a lake in a
 * store, or all have the folder of the lake. The time of the lake is the test's; leases are renewed only where a run does
 * so itself.
 */
export async function sharedMachines(
  script: (...request: Parameters<Script>) => void | Promise<void>,
  form: "store" | "folder" = "store",
) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const service = await startScripted((...request) => void script(...request));
  const place = temporaryFolder();
  const store = { aheadMs: 0 };
  const shared = folderStorage(join(place, "lake"));
  const storageOf = (over: Partial<Storage>, stopped: () => Promise<unknown> | undefined): Storage => ({
    ...shared,
    leases(folder) {
      const leases = shared.leases(folder);
      return {
        ...leases,
        now: async () => (await leases.now()) + store.aheadMs,
        // Everything else that the machine does at the same time is stopped, too.
        async renew(...record) {
          await stopped();
          return leases.renew(...record);
        },
      };
    },
    ...over,
  });
  const machine = (
    name: string,
    start: string,
    over: (storage: Storage) => Partial<Storage> = () => ({}),
    stopped: () => Promise<unknown> | undefined = () => undefined,
  ) => {
    const clock = virtualClock(start);
    const work = workFolder(join(place, form === "store" ? name : "lake"));
    const lake = new Lake(work.path, { storage: storageOf(over(shared), stopped), work, hasDatabase: false });
    const run: Machine["run"] = (more = {}, symbols = SYMBOLS) => {
      const client = new ServiceClient({ baseUrl: service.url, apiKey: name, clock, retries: 0 });
      onTestFinished(() => client.close());
      return runPipeline(
        definePipeline(MINUTE),
        { symbols },
        { lake, client, clock, limits: SMALL, ...more },
      );
    };
    return { name, clock, lake, run } satisfies Machine;
  };
  /** A process of a machine is stopped for so long: all clocks go on. */
  const pause = (paused: Machine, ms = AFTER_STALE_MS): void => {
    store.aheadMs += ms;
    paused.clock.advance(ms);
  };
  const askedBy = (name: string): Seen[] =>
    service.seen.filter(({ headers }) => headers["x-api-key"] === name);
  return { service, shared, machine, pause, askedBy };
}
