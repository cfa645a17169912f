import { randomInt } from "node:crypto";
import { releaseAll } from "../../core/release-after.js";
import { unionRanges } from "../../core/time.js";
import type { Lease, Subject } from "../../lake/requests/request-leases.js";
import type { RequestUnit } from "../../plan/request-units.js";
import { ledgerVersion } from "../ledger/ledger.js";
import { recoverResponses } from "../recover-responses.js";
import type { Run } from "../run/run.js";
import type { RunContext } from "../run/run-context.js";
import { type BarsDemand, type PlanFacts, readPlanFacts } from "./bars/bars-demand.js";

/** Bounds of the time between two reads of other runs' leases, in milliseconds. */
const READ_AGAIN_MS = [500, 1500] as const;

/**
 * Shares the requests for bars with other runs on the lake. It is a class because it owns leases and the state of the
 * ledger.
 */
export class RequestSharing {
  readonly #run: Run;
  readonly #demand: BarsDemand;
  readonly #facts: PlanFacts;
  #readUpTo: number;
  /** The end of the last read of the ledger; reads run one after the other. */
  #reading: Promise<void> = Promise.resolve();
  /** Whether another run has landed a part of the demand since the last plan. */
  #hasNews = false;
  /** Whether another run is requesting a part of the last plan. */
  #isElsewhere = false;
  /** Leases of requested units that still need another request. */
  #leases: Lease[] = [];

  private constructor(run: Run, demand: BarsDemand, facts: PlanFacts, readUpTo: number) {
    this.#run = run;
    this.#demand = demand;
    this.#facts = facts;
    this.#readUpTo = readUpTo;
  }

  /** Reads the facts of a plan. Data that other runs land after this call counts as new. */
  static async open(
    run: Run,
    demand: BarsDemand,
  ): Promise<{ readonly facts: PlanFacts; readonly sharing: RequestSharing }> {
    const version = await ledgerVersion(run.context.lake);
    const facts = await run.exclusive(() => readPlanFacts(marketParts(run.context), demand));
    return { facts, sharing: new RequestSharing(run, demand, facts, version) };
  }

  /** Whether another run is requesting a part of the last plan. */
  get isElsewhere(): boolean {
    return this.#isElsewhere;
  }

  /** Whether the last plan is out of date: another run has landed something since, and the facts include it. */
  get hasNews(): boolean {
    return this.#hasNews;
  }

  /** Records that a plan was made from the current facts. */
  planned(): void {
    this.#hasNews = false;
    this.#isElsewhere = false;
  }

  /**
   * Leases a unit of the plan, and checks whether another run has just landed a part of the demand.
   *
   * @returns undefined where the unit must not be requested now: another run requests a part of it, or the plan is
   *   stale.
   */
  async lease(dataset: string, { symbols, window }: RequestUnit): Promise<Lease | undefined> {
    const lease = await this.#run.leases.take({ dataset, symbols, window });
    if (lease === undefined) {
      this.#isElsewhere = true;
      return undefined;
    }
    await this.#readNews();
    if (!this.#hasNews) return lease;
    await lease.release();
    return undefined;
  }

  /** Retains a lease until {@link release}: its unit still needs another request. */
  async retain(lease: Lease): Promise<void> {
    this.#leases.push(lease);
  }

  /** All retained leases as one lease, for a request about several units. */
  get retained(): Lease {
    const leases = [...this.#leases];
    const all: Lease = {
      retain() {
        for (const lease of leases) lease.retain();
        return all;
      },
      async release() {
        await releaseAll(...leases.map((lease) => () => lease.release()));
      },
    };
    return all;
  }

  /** Releases the retained leases. Responses that wait to be landed have separate leases. */
  async release(): Promise<void> {
    const { retained } = this;
    this.#leases = [];
    await retained.release();
  }

  /** Waits briefly, takes over the responses of runs that have ended, and reads the ledger again. */
  async waitForOthers(): Promise<void> {
    const run = this.#run;
    run.progress.doing("waiting for another run, which asks for the same");
    await run.context.clock.sleep(randomInt(...READ_AGAIN_MS), run.context.signal);
    await recoverResponses(run);
    await this.#readNews();
  }

  #readNews(): Promise<void> {
    const reading = this.#reading.then(() => this.#readLedger());
    this.#reading = reading.catch(() => {});
    return reading;
  }

  /** Reads the ledger again if other runs have landed in it since. */
  async #readLedger(): Promise<void> {
    const run = this.#run;
    const version = await ledgerVersion(run.context.lake);
    let isNew = false;
    for (let one = this.#readUpTo + 1; one <= version; one++) isNew ||= !run.ledger.isOwn(one);
    if (isNew) {
      const before = this.#covered();
      const { covered } = await run.exclusive(() => readPlanFacts(marketParts(run.context), this.#demand));
      // Windows that this run counts as requested remain covered: their requests may have failed, or not landed yet.
      for (const [symbol, windows] of covered) {
        const known = this.#facts.covered.get(symbol) ?? [];
        this.#facts.covered.set(symbol, unionRanges([...known, ...windows]));
      }
      this.#hasNews ||= this.#covered() !== before;
    }
    this.#readUpTo = version;
  }

  /** The sum of the covered milliseconds of the requested symbols. It grows when another run lands some of them. */
  #covered(): number {
    let sum = 0;
    for (const symbol of [...this.#demand.symbols.values()].flat())
      for (const { start, end } of unionRanges(this.#facts.covered.get(symbol) ?? [])) sum += end - start;
    return sum;
  }
}

/** The parts of a run for reading a plan's facts, with the clock that decides which bars are final. */
function marketParts({ session, lake, marketClock }: RunContext): Parameters<typeof readPlanFacts>[0] {
  return { session, lake, clock: marketClock };
}

/** Leases a subject, and waits while another run requests a part of it. */
export async function leaseInTurn(run: Run, subject: Subject): Promise<Lease> {
  for (;;) {
    const lease = await run.leases.take(subject);
    if (lease !== undefined) return lease;
    run.progress.doing(`waiting for another run, which asks for ${subject.dataset}`);
    await run.context.clock.sleep(randomInt(...READ_AGAIN_MS), run.context.signal);
  }
}
