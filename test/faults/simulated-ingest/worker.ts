/** A process that lives one life after the other, by orders over IPC, until one of them kills it. */
import { join } from "node:path";
import { ServiceClient } from "../../../src/client/service-client.js";
import { definePipeline } from "../../../src/jobs/pipeline/definition.js";
import { type RunEnvironment, runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../../src/lake/lake.js";
import { openLimitsStore } from "../../../src/lake/requests/service-limits.js";
import { mixText, uniform } from "../../../src/sim/random.js";
import { type EventClock, eventClock, holdRequests } from "../clock/event-clock.js";
import { Chronicle } from "./chronicle.js";
import { type Life, type Schedule, scheduleOf } from "./fault-schedule.js";
import { type Act, ForeignWriter } from "./foreign-writer.js";
import type { LifeOrder } from "./life-order.js";
import { asOther, becomeMortal, live, pass } from "./mortal-process.js";
import { CLIENT_LIMITS } from "./upstream/broken-responses.js";
import { openUpstream } from "./upstream/faulty-upstream.js";
import { TrueMarket } from "./upstream/true-market.js";

await becomeMortal();
process.on("message", (order: LifeOrder) => {
  liveOnce(order).then(
    () => process.send?.({ done: {} }),
    (error: unknown) =>
      process.send?.({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send?.({ ready: true });

async function liveOnce({ folder, seed, life, start }: LifeOrder): Promise<void> {
  const schedule = scheduleOf(seed);
  const own = schedule.lives[life] as Life;
  const market = new TrueMarket(schedule.market);
  const clock = eventClock(start);
  const chronicle = new Chronicle(join(folder, "chronicle.ndjson"), life);
  Math.random = randomOf(mixText(seed, `life ${life}`));
  live(clock, chronicle, own.kill);
  const release = holdRequests(clock);
  const lake = new Lake(join(folder, "lake"));
  const engine = new ForeignWriter(lake.location, mixText(seed, `engine ${life}`));
  const act = (one: Act, isDuring: boolean): Promise<void> =>
    asOther(async () => {
      for (const done of await engine.act(one, clock.now()))
        chronicle.note({ kind: "foreign", at: clock.now(), act: one, isDuring, ...done });
    });
  const intrude = async (index: number): Promise<void> => {
    for (const one of own.intrusions) if (one.atRequest === index) await act(one.act, true);
  };
  const upstream = await openUpstream({ schedule, life, market, clock, chronicle, passes: pass, intrude });
  // A service keeps its address; the address of the test's socket changes.
  const limits = await openLimitsStore(lake.storage, { host: "upstream", keyId: own.key }, clock);
  const client = new ServiceClient({
    baseUrl: upstream.url,
    apiKey: "secret-key",
    clock,
    // Timeouts of the machine's time would end requests where the machine is slow.
    timeoutMs: 0,
    limits: CLIENT_LIMITS,
    learned: limits.limits.requestsPerMinute,
    onLearned: ({ group, requestsPerMinute }) =>
      limits.learn({ requestsPerMinute: { [group]: requestsPerMinute } }),
  });
  try {
    await runAll(schedule, chronicle, { lake, client, clock, limits });
    for (const { gapMs, acts } of own.rounds) {
      await clock.sleep(gapMs);
      for (const one of acts) await act(one, false);
      await runAll(schedule, chronicle, { lake, client, clock, limits });
    }
    await limits.saved();
  } finally {
    live(clock, chronicle, undefined);
    release();
    await client.close();
    await upstream.close();
  }
}

/** Runs each pipeline once, and records the content of its report. */
async function runAll(
  { pipelines }: Schedule,
  chronicle: Chronicle,
  environment: RunEnvironment & { readonly clock: EventClock },
): Promise<void> {
  const { clock } = environment;
  for (const definition of pipelines) {
    const { name: pipeline } = definition;
    chronicle.note({ kind: "began", at: clock.now(), pipeline });
    const report = await runPipeline(definePipeline(definition), {}, environment);
    const { status, failures, completeness, requests } = report;
    const open = completeness.flatMap(({ unexplained, setAside }) => [
      ...unexplained,
      ...setAside.map(({ symbol, window = { start: 0, end: clock.now() } }) => ({ symbol, ...window })),
    ]);
    const absent = completeness.flatMap((one) => one.absent);
    chronicle.note({
      kind: "ended",
      at: clock.now(),
      pipeline,
      status,
      sent: requests.sent,
      failures: failures.map(({ reason }) => reason),
      open,
      withdrawn: completeness.flatMap(({ withdrawn }) =>
        withdrawn.map(({ symbol, window, bars }) => ({ symbol, ...window, bars })),
      ),
      noBar: absent.reduce((sum, { reason, sessions }) => sum + (reason === "no_bar" ? sessions : 0), 0),
      received: completeness.reduce((sum, one) => sum + one.received.bars, 0),
    });
  }
}

function randomOf(key: number): () => number {
  let n = 0;
  return () => uniform(key, n++);
}
