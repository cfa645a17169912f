import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import {
  type LearnedRate,
  ServiceClient,
  type ServiceClientOptions,
} from "../../src/client/service-client.js";
import { ENDPOINTS } from "../../src/wire/endpoints.js";
import { eventClock, holdRequests } from "../faults/clock/event-clock.js";
import { json, startScripted } from "../faults/service/scripted-service.js";
import { MINUTE, slidingWindow } from "./simulated-service.js";

/** Not TEST_SEED: the bounds below are statistical, and hold for these latencies. */
const OWN_SEED = 20_260_101;

/** A service on a real socket, with a quota of each endpoint group, whose responses take the time of a virtual clock. */
async function setUp(
  limits: { klines: number; reference: number },
  options: Partial<ServiceClientOptions> = {},
) {
  const clock = eventClock("2026-11-21T00:00:17Z");
  const latencies = fc.sample(fc.nat(1500), { seed: OWN_SEED, numRuns: 997 });
  const counters = { klines: slidingWindow(limits.klines), reference: slidingWindow(limits.reference) };
  const tally = { klines: { passed: 0, refused: 0 }, reference: { passed: 0, refused: 0 } };
  const service = await startScripted((seen, response, index) => {
    const group = seen.path.includes("klines") ? "klines" : "reference";
    void (async () => {
      await clock.delay(20 + (latencies[index % 997] as number) / 10);
      const wait = counters[group](clock.now());
      tally[group][wait > 0 ? "refused" : "passed"]++;
      if (wait > 0) return json(response, 429, { code: "RATE_LIMITED", message: `ask again in ${wait}ms` });
      await clock.delay(latencies[index % 997] as number);
      json(response, 200, { data: {} });
    })();
  });
  onTestFinished(holdRequests(clock));
  const client = new ServiceClient({ baseUrl: service.url, apiKey: "key", clock, ...options });
  onTestFinished(() => client.close());
  /** Asks for as long as the minutes last, four at once. */
  const askFor = async (minutes: number, endpoint: "klinesBatch" | "exchanges"): Promise<void> => {
    const end = clock.now() + minutes * MINUTE;
    const work = async (): Promise<void> => {
      while (clock.now() < end)
        await client.ask({ endpoint: ENDPOINTS[endpoint] }, async (body) =>
          text(body as AsyncIterable<Buffer>),
        );
    };
    await Promise.all([work(), work(), work(), work()]);
  };
  return { client, tally, askFor };
}

test("over HTTP, too, the quota of each group is used up and none refused", async () => {
  const requestsPerMinute = { klines: 30, reference: 60 };
  const { client, tally, askFor } = await setUp(requestsPerMinute, { requestsPerMinute });
  await Promise.all([askFor(10, "klinesBatch"), askFor(10, "exchanges")]);
  expect([tally.klines.refused, tally.reference.refused]).toEqual([0, 0]);
  expect(tally.klines.passed).toBeGreaterThanOrEqual(0.98 * 300);
  expect(tally.reference.passed).toBeGreaterThanOrEqual(0.98 * 600);
  expect(client.quotaOf("klines")).toMatchObject({ limit: 30, learned: false, waits: 0 });
});

test("a quota that is not known is learned, for its group alone, and no request is lost", async () => {
  const learned: LearnedRate[] = [];
  const { client, tally, askFor } = await setUp(
    { klines: 30, reference: 10_000 },
    { onLearned: (one) => learned.push(one), retries: 0 },
  );
  await Promise.all([askFor(10, "klinesBatch"), askFor(2, "exchanges")]);
  expect(new Set(learned.map(({ group }) => group))).toEqual(new Set(["klines"]));
  expect(learned.at(-1)?.requestsPerMinute).toBeGreaterThanOrEqual(29);
  expect(learned.at(-1)?.requestsPerMinute).toBeLessThanOrEqual(36);
  expect(client.quotaOf("klines").learned).toBe(true);
  expect(tally.klines.refused).toBeGreaterThan(0);
  expect(tally.klines.refused).toBeLessThan(60);
  expect(tally.klines.passed).toBeGreaterThanOrEqual(0.95 * 300);
  expect(client.quotaOf("reference")).toMatchObject({ limit: undefined, waits: 0 });
  expect(tally.reference.passed).toBeGreaterThan(300);
});
