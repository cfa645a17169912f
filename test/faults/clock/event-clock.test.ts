import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { request } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { type EventClock, eventClock, holdRequests } from "./event-clock.js";

const DAY = 86_400_000;

test("sleepers wake in the order of time, those of the same time in the order of their calls", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(5), { minLength: 1, maxLength: 20 }), async (naps) => {
      const clock = eventClock(1000);
      const woken: [number, number][] = [];
      await Promise.all(
        naps.map(async (ms, index) => {
          await clock.sleep(ms);
          expect(clock.now()).toBe(1000 + ms);
          woken.push([ms, index]);
        }),
      );
      expect(woken).toEqual(woken.toSorted(([a, i], [b, j]) => a - b || i - j));
      expect(clock.sleepers).toBe(0);
    }),
    { numRuns: 30 },
  );
});

test("who sleeps again and again does not overtake another, and days cost nothing", async () => {
  const clock = eventClock("2026-11-21T00:00:00Z");
  const steps: string[] = [];
  const walk = async (name: string, ms: number, times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      await clock.sleep(ms);
      // Work that takes several turns of promises happens at the time of the wake-up.
      for (let k = 0; k < 10; k++) await Promise.resolve();
      steps.push(`${name}@${(clock.now() - Date.parse("2026-11-21T00:00:00Z")) / DAY}`);
    }
  };
  await Promise.all([walk("a", 2 * DAY, 3), walk("b", 3 * DAY, 2)]);
  expect(steps).toEqual(["a@2", "b@3", "a@4", "b@6", "a@6"]);
});

test("an aborted sleep ends at once and leaves the time where it is", async () => {
  const clock = eventClock(0);
  const controller = new AbortController();
  const long = clock.sleep(DAY, controller.signal);
  const short = clock.sleep(5).then(() => controller.abort(new Error("enough")));
  await expect(long).rejects.toThrow("enough");
  await short;
  expect([clock.now(), clock.sleepers]).toEqual([5, 0]);
  await expect(clock.sleep(1, controller.signal)).rejects.toThrow("enough");
  expect(clock.now()).toBe(5);
});

test("time stops while somebody holds it", async () => {
  const clock = eventClock(0);
  const [first, second] = [clock.hold(), clock.hold()];
  let isAwake = false;
  const nap = async (): Promise<void> => {
    await clock.sleep(10);
    isAwake = true;
  };
  const sleep = nap();
  first();
  first();
  for (let i = 0; i < 50; i++) await new Promise(setImmediate);
  expect([isAwake, clock.now()]).toEqual([false, 0]);
  second();
  await sleep;
  expect(clock.now()).toBe(10);
});

test("after a delay the hold counts again, however long what follows takes", async () => {
  const clock = eventClock(0);
  const release = clock.hold();
  const nap = clock.sleep(500);
  await clock.delay(100);
  for (let i = 0; i < 50; i++) await new Promise(setImmediate);
  expect(clock.now()).toBe(100);
  release();
  await nap;
  expect(clock.now()).toBe(500);
});

/** A real server whose responses take time on the clock. */
async function slowServer(clock: EventClock, latencyMs: number): Promise<string> {
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    await clock.delay(latencyMs);
    if (path === "/break") response.destroy();
    else response.end(`${path} at ${clock.now()}`);
  };
  const server = createServer((incoming, response) => void answer(incoming.url ?? "", response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("requests on real sockets take the service's time and no other", async () => {
  const clock = eventClock(0);
  const url = await slowServer(clock, 700);
  onTestFinished(holdRequests(clock));
  const ask = async (path: string, after: number): Promise<[string, number]> => {
    await clock.sleep(after);
    const { body } = await request(url + path);
    return [await body.text(), clock.now()];
  };
  const responses = await Promise.all([ask("/a", 0), ask("/b", 100), ask("/c", 5000), clock.sleep(DAY)]);
  expect(responses.slice(0, 3)).toEqual([
    ["/a at 700", 700],
    ["/b at 800", 800],
    ["/c at 5700", 5700],
  ]);
  expect(clock.now()).toBe(DAY);
});

test("a request that fails, or is given up, lets time go on", async () => {
  const clock = eventClock(0);
  const url = await slowServer(clock, 300);
  onTestFinished(holdRequests(clock));
  await expect(request(`${url}/break`)).rejects.toThrow("other side closed");
  expect(clock.now()).toBe(300);
  const controller = new AbortController();
  const given = request(`${url}/given-up`, { signal: controller.signal });
  const caught = expect(given).rejects.toThrow("given up");
  await clock.sleep(100).then(() => controller.abort(new Error("given up")));
  await caught;
  await clock.sleep(1000);
  expect(clock.now()).toBe(1400);
});
