import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../../../src/core/time.js";
import type { EventClock } from "../../clock/event-clock.js";
import type { Draws } from "../../simulated-ingest/draws.js";

/** What may happen to a process: it is killed or stopped, or loses its connection to the store or to the service. */
export type FaultKind = "kill" | "stop" | "cut from store" | "cut from service";

/** Something that a process does, and during which a fault may happen. */
export type Step = "store write" | "store wrote" | "asks" | "receives";

/** A fault of a machine, in milliseconds from the start of the schedule. */
export interface Fault {
  readonly machine: string;
  readonly kind: FaultKind;
  readonly at: number;
  /** How long it lasts; after a kill, until the machine starts its next process. */
  readonly ms: number;
  /** What the process does then: the fault waits for it, at most half a minute. @default anything */
  readonly during?: Step | undefined;
}

/** A fault that has happened; times by the clock of the simulation. */
export interface Loss extends Fault {
  readonly process: string;
  readonly since: number;
  readonly until: number;
}

/** Longest time that a fault waits for a step of the process. */
const PATIENCE_MS = 30_000;
/** How long the client of an object store repeats a request that does not arrive, before it fails. */
const STORE_RETRIES_MS = { least: 25_000, most: 50_000 };

/** The process that runs the current code. */
export const currentProcess = new AsyncLocalStorage<VirtualProcess>();

/**
 * A process of a machine in a simulation. Many are in one real process: all of their calls to clock, disk, database,
 * store and service go through {@link running}, which never resolves for a process that was killed. It is a class because it has a
 * state.
 */
export class VirtualProcess {
  readonly name: string;
  readonly machine: string;
  readonly clock: Clock;
  readonly #time: EventClock;
  readonly #draws: Draws;
  readonly #ended: (loss: Loss) => void;
  readonly #noted: (loss: Loss) => void;
  readonly #pending: Fault[] = [];
  #isDead = false;
  #until: Partial<Record<FaultKind, number>> = {};

  /** @param ended called when the process is killed. @param noted called with each fault that happens. */
  constructor(
    { name, machine, aheadMs }: { readonly name: string; readonly machine: string; readonly aheadMs: number },
    {
      time,
      draws,
      ended,
      noted,
    }: {
      readonly time: EventClock;
      readonly draws: Draws;
      readonly ended: (loss: Loss) => void;
      readonly noted: (loss: Loss) => void;
    },
  ) {
    [this.name, this.machine, this.#time, this.#draws] = [name, machine, time, draws];
    [this.#ended, this.#noted] = [ended, noted];
    const start = time.now();
    const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
      await this.running();
      await time.sleep(ms, signal);
      await this.running();
    };
    this.clock = {
      now: () => time.now() + aheadMs,
      monotonic: () => time.now() - start,
      sleep,
      idle: sleep,
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Ends the process with the simulation. */
  end(): void {
    this.#isDead = true;
  }

  /** Resolves while the process goes on: later where it is stopped, and never once it was killed. */
  async running(): Promise<void> {
    for (;;) {
      if (this.#isDead) await new Promise(() => {});
      const left = this.#left("stop");
      if (left <= 0) return;
      await this.#time.sleep(left);
    }
  }

  /** Whether the process cannot reach the service. */
  get isCutFromService(): boolean {
    return this.#left("cut from service") > 0;
  }

  /** How long a stop, or a cut from the service, still lasts. */
  get unreachableMs(): number {
    return Math.max(this.#left("stop"), this.#left("cut from service"));
  }

  /** Runs a call to the store; while the process is cut off, it is repeated for a while, and then fails. */
  async reachStore<T>(isWrite: boolean, call: () => Promise<T>): Promise<T> {
    await this.running();
    if (isWrite) this.pass("store write");
    await this.running();
    await this.#time.sleep(this.#draws.below(40));
    await this.#connected();
    const result = await call();
    if (isWrite) this.pass("store wrote");
    await this.running();
    // Where the response is lost, the client asks again, and finds what it has written.
    await this.#connected();
    await this.#time.sleep(this.#draws.below(40));
    await this.running();
    return result;
  }

  async #connected(): Promise<void> {
    const left = this.#left("cut from store");
    if (left <= 0) return;
    const { least, most } = STORE_RETRIES_MS;
    const patience = least + this.#draws.below(most - least);
    await this.clock.sleep(Math.min(left + 1000, patience));
    if (this.#left("cut from store") > 0) throw new Error("the store cannot be reached");
  }

  /** From now on a fault may happen: at once, or during its step. */
  async meet(fault: Fault): Promise<void> {
    if (fault.during === undefined) return this.#happen(fault);
    this.#pending.push(fault);
    await this.#time.sleep(PATIENCE_MS);
    if (this.#pending.includes(fault)) this.#happen(fault);
  }

  /** Reports that the process is at a step. */
  pass(step: Step): void {
    const fault = this.#pending.find(({ during }) => during === step);
    if (fault !== undefined) this.#happen(fault);
  }

  #happen(fault: Fault): void {
    if (this.#pending.includes(fault)) this.#pending.splice(this.#pending.indexOf(fault), 1);
    if (this.#isDead) return;
    const since = this.#time.now();
    const loss = { ...fault, process: this.name, since, until: since + fault.ms };
    this.#noted(loss);
    this.#until[fault.kind] = Math.max(this.#until[fault.kind] ?? 0, loss.until);
    if (fault.kind !== "kill") return;
    this.#isDead = true;
    this.#ended(loss);
  }

  #left(kind: FaultKind): number {
    return (this.#until[kind] ?? 0) - this.#time.now();
  }
}
