/** A process that lives one life of a schedule after the other, as orders over IPC tell, until one of them kills it. */
import { join } from "node:path";
import { ServiceClient } from "../../../src/client/service-client.js";
import { runPipeline } from "../../../src/jobs/ingest/run-pipeline.js";
import { definePipeline } from "../../../src/jobs/pipeline.js";
import { Lake } from "../../../src/lake/lake.js";
import { keepServiceLimits } from "../../../src/lake/service-limits.js";
import { mixText, uniform } from "../../../src/sim/random.js";
import { eventClock, holdRequests } from "../event-clock.js";
import { Chronicle } from "./chronicle.js";
import { scheduleOf } from "./fault-schedule.js";
import { openUpstream } from "./faulty-upstream.js";
import type { LifeOrder } from "./life-order.js";
import { becomeMortal, live, pass } from "./mortal-process.js";
import { TrueMarket } from "./true-market.js";

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
  const market = new TrueMarket(schedule.market);
  const clock = eventClock(start);
  const chronicle = new Chronicle(join(folder, "chronicle.ndjson"), life);
  Math.random = randomOf(mixText(seed, `life ${life}`));
  live(clock, chronicle, schedule.lives[life]?.kill);
  const release = holdRequests(clock);
  const upstream = await openUpstream({ schedule, life, market, clock, chronicle, passes: pass });
  const lake = new Lake(join(folder, "lake"));
  // A service keeps its address; that of the test's socket is another one each time.
  const limits = await keepServiceLimits(
    lake.storage,
    { host: "upstream", keyId: schedule.lives[life]?.key ?? "" },
    clock,
  );
  const client = new ServiceClient({
    baseUrl: upstream.url,
    apiKey: "secret-key",
    clock,
    learned: limits.limits.requestsPerMinute,
    onLearned: ({ group, requestsPerMinute }) =>
      limits.learn({ requestsPerMinute: { [group]: requestsPerMinute } }),
  });
  try {
    for (const definition of schedule.pipelines) {
      const { name: pipeline } = definition;
      chronicle.note({ kind: "began", at: clock.now(), pipeline });
      const report = await runPipeline(definePipeline(definition), {}, { lake, client, clock, limits });
      const { status, failures, completeness } = report;
      const open = completeness.flatMap(({ unexplained, setAside }) => [
        ...unexplained,
        ...setAside.map(({ symbol, window = { start: 0, end: clock.now() } }) => ({ symbol, ...window })),
      ]);
      const reasons = failures.map(({ reason }) => reason);
      const sent = report.requests.sent;
      chronicle.note({ kind: "ended", at: clock.now(), pipeline, status, sent, failures: reasons, open });
    }
    await limits.saved();
  } finally {
    live(clock, chronicle, undefined);
    release();
    await client.close();
    await upstream.close();
  }
}

function randomOf(key: number): () => number {
  let n = 0;
  return () => uniform(key, n++);
}
