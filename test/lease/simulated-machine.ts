import type { Clock } from "../../src/core/time.js";
import type { LeaseRecord, LeaseStore } from "../../src/lease/lease-store.js";
import type { EventClock } from "../faults/clock/event-clock.js";

/** Records of leases at the time of a simulation, with the whole seconds of a store's clock. */
export function leasesAt(clock: Clock): LeaseStore & { readonly calls: { n: number } } {
  const records = new Map<string, LeaseRecord>();
  const calls = { n: 0 };
  const now = (): number => Math.floor(clock.now() / 1000) * 1000;
  const called = <T>(result: () => T): Promise<T> => {
    calls.n++;
    return Promise.resolve().then(result);
  };
  return {
    calls,
    ids: () => called(() => [...records.keys()]),
    read: (id) => called(() => records.get(id)),
    create: (id, text, state) => called(() => void records.set(id, { text, state, renewedAt: now() })),
    renew: (id, state) =>
      called(() => {
        const record = records.get(id);
        if (record !== undefined) records.set(id, { ...record, state, renewedAt: now() });
        return record !== undefined;
      }),
    remove: (id, renewedAt) =>
      called(() => {
        const record = records.get(id);
        if (record !== undefined && renewedAt !== undefined && record.renewedAt !== renewedAt) return false;
        records.delete(id);
        return true;
      }),
    now: () => called(now),
    tidy: async () => {},
  };
}

/** A machine, with the times of its process in milliseconds from the start of the simulation. */
export interface MachinePlan {
  readonly joins: number;
  /** Ends, or dies. */
  readonly leaves?: { readonly at: number; readonly kind: "ends" | "dies" } | undefined;
  /** Is stopped, and goes on later. */
  readonly stops?: { readonly at: number; readonly ms: number } | undefined;
  /** Cannot reach the store. */
  readonly cutOff?: { readonly at: number; readonly ms: number } | undefined;
  /** The part of its calls of the store that fail; every second one of these has been done all the same. */
  readonly failing?: number | undefined;
  readonly clockAheadMs?: number;
}

/**
 * The clock of a machine, which does not pass for its process while that is stopped, and the store as it reaches it.
 *
 * @param time the clock of the simulation; the machine is made at its start.
 * @param ended aborts when the machine leaves.
 */
export function machineOf(
  { stops, cutOff, failing = 0, clockAheadMs = 0, leaves, joins }: MachinePlan,
  store: LeaseStore,
  time: EventClock,
  ended: AbortSignal,
): { readonly clock: Clock; readonly reach: LeaseStore } {
  const start = time.now();
  const isIn = (span: { readonly at: number; readonly ms: number } | undefined): boolean =>
    span !== undefined && time.now() >= start + span.at && time.now() < start + span.at + span.ms;
  const running = async (): Promise<void> => {
    if (ended.aborted && leaves?.kind === "dies") await new Promise(() => {});
    if (stops !== undefined && isIn(stops)) await time.sleep(start + stops.at + stops.ms - time.now());
  };
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    await time.sleep(ms, leaves?.kind === "dies" ? undefined : signal);
    await running();
    signal?.throwIfAborted();
  };
  const clock: Clock = {
    now: () => time.now() + clockAheadMs,
    monotonic: () => time.now() - start,
    sleep,
    idle: sleep,
  };
  let calls = joins;
  const reached = async <T>(call: () => Promise<T>): Promise<T> => {
    await running();
    // Numbers from 0 to 1 that are spread evenly.
    const fails = (++calls * 0.618_033_988_749_895) % 1 < failing;
    if (isIn(cutOff) || (fails && calls % 2 === 0)) throw new Error("no connection");
    const result = await call();
    if (fails) throw new Error("no connection");
    return result;
  };
  const reach: LeaseStore = {
    ids: () => reached(() => store.ids()),
    read: (id) => reached(() => store.read(id)),
    create: (...all) => reached(() => store.create(...all)),
    renew: (...all) => reached(() => store.renew(...all)),
    remove: (...all) => reached(() => store.remove(...all)),
    now: () => reached(() => store.now()),
    tidy: () => reached(() => store.tidy()),
  };
  return { clock, reach };
}
