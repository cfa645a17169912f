import { expect, onTestFinished, test } from "vitest";
import { Fleet, type Server } from "./fleet.js";

const MINUTE = 60_000;
const LIMIT = 60;

/** A fleet of which no minute ever has more requests than the key's number. */
function setUp(servers: number): { readonly fleet: Fleet; readonly servers: Server[] } {
  const fleet = new Fleet();
  onTestFinished(() => expect(fleet.most).toBeLessThanOrEqual(LIMIT));
  return { fleet, servers: Array.from({ length: servers }, () => fleet.add()) };
}

test("three processes accept together what one would, with a load that is spread unevenly", async () => {
  const { fleet, servers } = setUp(3);
  const end = 3 * MINUTE;
  const rates = [2 * LIMIT, LIMIT / 4, LIMIT / 12];
  await Promise.all(servers.map((server, n) => fleet.load(server, rates[n] ?? 0, LIMIT, end)));
  expect(fleet.between(MINUTE, end)).toBeGreaterThan(0.95 * 2 * LIMIT);
  await Promise.all(servers.map(({ quota }) => quota.close()));
});

test("a process alone accepts the whole number at once, and says when the next one is", async () => {
  const { fleet, servers } = setUp(2);
  const [one, two] = servers as [Server, Server];
  for (let n = 0; n < LIMIT; n++) expect(await fleet.ask(one, LIMIT)).toBe(true);
  const calls = fleet.calls;
  expect(await fleet.ask(one, LIMIT)).toBe(false);
  expect(fleet.waits.at(-1)).toBeGreaterThan(50_000);
  expect(calls).toBeLessThan(30);
  expect(await two.quota.take("bob", 0, LIMIT)).toBe(0);
  // What was used rests when a process ends; another one gets it after that.
  await one.quota.close();
  expect(await fleet.ask(two, LIMIT)).toBe(false);
  await fleet.clock.sleep(MINUTE);
  // The first request makes the process look: the permits have rested by its own clock.
  while (!(await fleet.ask(two, LIMIT))) await fleet.clock.sleep(1000);
  await two.quota.close();
});

test("a load that moves from one process to the other is followed", async () => {
  const { fleet, servers } = setUp(2);
  const [one, two] = servers as [Server, Server];
  await fleet.load(one, 1.2 * LIMIT, LIMIT, MINUTE);
  await fleet.load(two, 1.2 * LIMIT, LIMIT, 2 * MINUTE);
  expect(fleet.between(MINUTE, 2 * MINUTE)).toBeGreaterThan(0.85 * LIMIT);
  await Promise.all(servers.map(({ quota }) => quota.close()));
});

test("a process that is cut off accepts what it has for 45 seconds; the others get it when it was silent for a minute", async () => {
  const { fleet, servers } = setUp(2);
  const [one, two] = servers as [Server, Server];
  const load = (end: number): Promise<unknown> =>
    Promise.all(servers.map((server) => fleet.load(server, LIMIT, LIMIT, end)));
  await load(MINUTE);
  one.isCutOff = true;
  const before = fleet.accepted.length;
  await fleet.load(one, 2 * LIMIT, LIMIT, MINUTE + 44_000);
  expect(fleet.accepted.length).toBeGreaterThan(before);
  await fleet.clock.sleep(2000);
  const own = fleet.accepted.length;
  for (let n = 0; n < 10; n++) expect(await fleet.ask(one, LIMIT)).toBe(false);
  expect([fleet.waits.at(-1), one.faults.length]).toEqual([5000, 1]);
  expect(fleet.accepted).toHaveLength(own);
  await fleet.load(two, 2 * LIMIT, LIMIT, 6 * MINUTE);
  expect(fleet.between(5 * MINUTE, 6 * MINUTE)).toBeGreaterThan(0.95 * LIMIT);
  one.isCutOff = false;
  await fleet.clock.sleep(MINUTE);
  await load(9 * MINUTE);
  expect(fleet.between(8 * MINUTE, 9 * MINUTE)).toBeGreaterThan(0.95 * LIMIT);
  await Promise.all(servers.map(({ quota }) => quota.close()));
});

test("a process that wakes after a pause has lost its permits", async () => {
  const { fleet, servers } = setUp(2);
  const [one, two] = servers as [Server, Server];
  for (let n = 0; n < LIMIT; n++) await fleet.ask(one, LIMIT);
  one.pausedUntil = fleet.clock.now() + 150_000;
  await fleet.load(two, 2 * LIMIT, LIMIT, 150_000);
  expect(fleet.between(125_000, 150_000)).toBeGreaterThan(LIMIT / 2);
  for (let n = 0; n < LIMIT; n++) await fleet.ask(one, LIMIT);
  await Promise.all(servers.map(({ quota }) => quota.close()));
});
