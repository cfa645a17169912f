import { RequestError } from "../../../../src/serve/http/request-error.js";
import type { BookStore } from "../../../../src/serve/keys/count/permit-book.js";
import { PermitQuota } from "../../../../src/serve/keys/count/permit-quota.js";
import { type EventClock, eventClock } from "../../../faults/clock/event-clock.js";

const CALL_MS = 20;
/** The time after which a call of a process that is cut off fails. */
const AWAY_MS = 30_000;
const START = "2026-11-20T10:00:00Z";

/** A process of a service. */
export interface Server {
  /** Another clock than that of the others, and pauses, are what a test sets. */
  aheadMs: number;
  pausedUntil: number;
  /** Whether it was killed: none of its calls returns any more. */
  isKilled: boolean;
  /** Whether it is cut off from the place. */
  isCutOff: boolean;
  /** The time that its calls to the place take, in milliseconds. */
  callMs: number;
  readonly quota: PermitQuota;
  readonly faults: unknown[];
}

/** Several processes with one place, at the time of an event clock, which counts what they accept. */
export class Fleet {
  readonly clock: EventClock = eventClock(START);
  readonly start = this.clock.now();
  /** Times of accepted requests, ascending. */
  readonly accepted: number[] = [];
  readonly waits: number[] = [];
  /** Lists and writes of all processes. */
  calls = 0;
  readonly #files = new Map<string, string>();

  add(): Server {
    const { clock } = this;
    const running = async (signal?: AbortSignal): Promise<void> => {
      while (clock.now() < server.pausedUntil) await clock.sleep(server.pausedUntil - clock.now(), signal);
      if (server.isKilled) await new Promise(() => {});
    };
    const faults: unknown[] = [];
    const server: Server = {
      aheadMs: 0,
      pausedUntil: 0,
      isKilled: false,
      isCutOff: false,
      callMs: CALL_MS,
      faults,
      quota: new PermitQuota(
        this.#storeOf(() => server, running),
        {
          now: () => clock.now() + server.aheadMs,
          monotonic: () => clock.now() - this.start + 1e6,
          async sleep(ms, signal) {
            await clock.sleep(ms, signal);
            await running(signal);
          },
        },
        (error) => void faults.push(error),
      ),
    };
    return server;
  }

  /** Sends a request of a key to a server, and counts it. */
  async ask(server: Server, limit: number, key = "alice"): Promise<boolean> {
    if (server.isKilled || this.clock.now() < server.pausedUntil) return false;
    let waitMs: number;
    try {
      waitMs = await server.quota.take(key, 0, limit);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      waitMs = error.retryAfterMs ?? 0;
    }
    if (waitMs === 0) this.accepted.push(this.clock.now());
    else this.waits.push(waitMs);
    return waitMs === 0;
  }

  /** Sends requests at a rate a minute until a time after the start, evenly. */
  async load(server: Server, perMinute: number, limit: number, untilMs: number): Promise<void> {
    const gap = 60_000 / perMinute;
    const asked: Promise<boolean>[] = [];
    for (let n = 0; this.clock.now() - this.start < untilMs; n++) {
      asked.push(this.ask(server, limit));
      await this.clock.sleep(gap);
    }
    await Promise.all(asked);
  }

  /** Requests that were accepted between two times after the start. */
  between(fromMs: number, toMs: number): number {
    return this.accepted.filter((at) => at >= this.start + fromMs && at < this.start + toMs).length;
  }

  /** The most requests that were accepted in any minute. */
  get most(): number {
    let [most, first] = [0, 0];
    for (const [last, at] of this.accepted.entries()) {
      while ((this.accepted[first] as number) <= at - 60_000) first++;
      most = Math.max(most, last - first + 1);
    }
    return most;
  }

  /** The files of the place, in memory: a simulated minute has thousands of calls. */
  #storeOf(serverOf: () => Server, running: () => Promise<void>): BookStore {
    const call = async <T>(work: () => T): Promise<T> => {
      await running();
      const { callMs } = serverOf();
      await this.clock.sleep(callMs / 2);
      if (serverOf().isCutOff) {
        await this.clock.sleep(AWAY_MS);
        await running();
        throw new Error("the place cannot be reached");
      }
      // What is on its way is done, also where the process is paused or killed in the mean time.
      const result = work();
      await this.clock.sleep(callMs / 2);
      await running();
      return result;
    };
    const files = this.#files;
    const createUnlessThere = (path: string, text: string): boolean => {
      if (files.has(path)) return false;
      files.set(path, text);
      return true;
    };
    return {
      list: (folder, after = "") =>
        call(() => {
          this.calls++;
          const names = [...files.keys()].map((path) => path.slice(folder.length + 1));
          return names.filter((name) => name > after).sort();
        }),
      readText: (path) => call(() => files.get(path)),
      putIfAbsent: (path, text) => {
        this.calls++;
        return call(() => createUnlessThere(path, text));
      },
      delete: (path) => call(() => void files.delete(path)),
    };
  }
}
