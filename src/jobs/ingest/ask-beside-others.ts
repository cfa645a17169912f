import { randomInt } from "node:crypto";
import { unionRanges } from "../../core/time.js";
import type { Lease, Subject } from "../../lake/request-leases.js";
import type { RequestUnit } from "../../plan/request-units.js";
import { type BarsDemand, type PlanFacts, readPlanFacts } from "./bars-demand.js";
import { ledgerVersion } from "./ledger.js";
import { recoverAnswers } from "./recover-answers.js";
import type { Run } from "./run.js";

/** Bounds of the time between two looks at what other runs have leased, in milliseconds. */
const LOOK_AGAIN_MS = [500, 1500] as const;

/** What came of the attempt to lease a unit: the right to ask for it, or why it is not asked for now. */
export type Leased =
  | { readonly kind: "leased"; readonly lease: Lease }
  /** Another run asks for a part of it. */
  | { readonly kind: "elsewhere" }
  /** Another run has landed something since the plan was made: the facts have it now, and the plan is old. */
  | { readonly kind: "news" };

/** Shares the asking for bars with other runs on the lake. A class because it knows how far it has read the ledger. */
export class SharedAsking {
  readonly #run: Run;
  readonly #demand: BarsDemand;
  readonly #facts: PlanFacts;
  #readUpTo: number;
  /** Reads of the ledger, one after the other. */
  #reading: Promise<void> = Promise.resolve();
  /** Whether another run has landed something of the demand since the last plan. */
  #hasNews = false;

  private constructor(run: Run, demand: BarsDemand, facts: PlanFacts, readUpTo: number) {
    this.#run = run;
    this.#demand = demand;
    this.#facts = facts;
    this.#readUpTo = readUpTo;
  }

  /** Reads what a plan depends on, and from when on other runs' landings are news. */
  static async open(
    run: Run,
    demand: BarsDemand,
  ): Promise<{ readonly facts: PlanFacts; readonly sharing: SharedAsking }> {
    const version = await ledgerVersion(run.lake);
    const facts = await run.exclusive(() => readPlanFacts(run, demand));
    return { facts, sharing: new SharedAsking(run, demand, facts, version) };
  }

  /** Says that a plan is made from the facts as they are now. */
  planned(): void {
    this.#hasNews = false;
  }

  /** Leases a unit of the plan, and looks whether another run has landed a part of the demand just before. */
  async lease(dataset: string, { symbols, window }: RequestUnit): Promise<Leased> {
    const lease = await this.#run.leases.take({ dataset, symbols, window });
    if (lease === undefined) return { kind: "elsewhere" };
    await this.#readNews();
    if (!this.#hasNews) return { kind: "leased", lease };
    await lease.release();
    return { kind: "news" };
  }

  /** Waits a moment, takes over what runs that have ended left, and reads the ledger again. */
  async waitForOthers(): Promise<void> {
    const run = this.#run;
    run.progress.doing("waiting for another run, which asks for the same");
    await run.clock.sleep(randomInt(...LOOK_AGAIN_MS), run.signal);
    await recoverAnswers(run);
    await this.#readNews();
  }

  #readNews(): Promise<void> {
    const reading = this.#reading.then(() => this.#readLedger());
    this.#reading = reading.catch(() => {});
    return reading;
  }

  /** Reads the ledger again where other runs have landed in it since. */
  async #readLedger(): Promise<void> {
    const run = this.#run;
    const version = await ledgerVersion(run.lake);
    let isNew = false;
    for (let one = this.#readUpTo + 1; one <= version; one++) isNew ||= !run.ownLedgerVersions.has(one);
    if (isNew) {
      const before = this.#covered();
      const { covered } = await run.exclusive(() => readPlanFacts(run, this.#demand));
      // What this run takes for asked stays so: it may have failed, or wait to be landed.
      for (const [symbol, windows] of covered) {
        const known = this.#facts.covered.get(symbol) ?? [];
        this.#facts.covered.set(symbol, unionRanges([...known, ...windows]));
      }
      this.#hasNews ||= this.#covered() !== before;
    }
    this.#readUpTo = version;
  }

  /** Milliseconds that were answered of the symbols that are asked for: grows with what another run lands of them. */
  #covered(): number {
    let sum = 0;
    for (const symbol of [...this.#demand.symbols.values()].flat())
      for (const { start, end } of unionRanges(this.#facts.covered.get(symbol) ?? [])) sum += end - start;
    return sum;
  }
}

/** Leases a subject, and waits while another run asks for a part of it. */
export async function leaseInTurn(run: Run, subject: Subject): Promise<Lease> {
  for (;;) {
    const lease = await run.leases.take(subject);
    if (lease !== undefined) return lease;
    run.progress.doing(`waiting for another run, which asks for ${subject.dataset}`);
    await run.clock.sleep(randomInt(...LOOK_AGAIN_MS), run.signal);
  }
}
