import { LakeError, messageOf } from "../../core/errors.js";
import type { ReferenceChange } from "../../lake/land/land-versions.js";
import type { RejectCount } from "../../lake/land/rejects.js";
import type { LandReport } from "../../lake/land/upsert.js";
import {
  Completeness,
  type Returned,
  type RunList,
  SymbolTally,
  type TableCompleteness,
} from "./report/completeness.js";
import type { Failure, Purpose, Received } from "./request/request-records.js";

/** Requests of a run, by their result. */
export interface RequestCounts {
  readonly sent: number;
  /** Responses with rows, and responses without rows. */
  readonly answered: number;
  readonly empty: number;
  /** `refused`: the service refused the request. `failed`: the request failed, or its response was not valid. */
  readonly refused: number;
  readonly failed: number;
}

export interface RunFacts {
  readonly requests: RequestCounts;
  /** Number of refused requests that were sent again in another way; they are not failures. */
  readonly healed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly landed: readonly LandReport[];
  readonly failures: readonly Failure[];
  readonly symbols: readonly Returned[];
  /** For each table of bars: the requested sessions, and those that are absent, unexplained or set aside. */
  readonly completeness: readonly TableCompleteness[];
  readonly rejected: readonly RejectCount[];
  /** Changes of reference data and statements since the earlier snapshots. */
  readonly changes: readonly ReferenceChange[];
  /**
   * The lists that the run's symbols come from, and since when the lake knows each list. Symbols that left a list
   * before are not in the lake. Empty where symbols were named, or only gaps were filled.
   */
  readonly lists: readonly RunList[];
  /** Datasets that the key does not permit, with the reason. */
  readonly forbidden: ReadonlyMap<string, string>;
  /**
   * Datasets that the service does not offer to the key, although it offers similar ones, with the reason. They are not
   * failures.
   */
  readonly notOffered: ReadonlyMap<string, string>;
  /** Why the run sends no more requests; undefined while it sends requests. */
  readonly stopped: string | undefined;
}

type FactsAtEnd = Pick<RunFacts, "rejected" | "changes" | "lists">;

/** Accumulates what a run does; {@link facts} returns all of it. */
export class RunLog {
  readonly completeness = new Completeness();
  readonly #requests = { sent: 0, answered: 0, empty: 0, refused: 0, failed: 0 };
  readonly #landed: LandReport[] = [];
  readonly #failures: Failure[] = [];
  readonly #symbols = new SymbolTally();
  readonly #forbidden = new Map<string, string>();
  readonly #notOffered = new Map<string, string>();
  #healed = 0;
  #rows = 0;
  #bytes = 0;
  #atEnd: FactsAtEnd = { rejected: [], changes: [], lists: [] };
  #stopped: string | undefined;

  sent(): void {
    this.#requests.sent += 1;
  }

  received({ dataset, symbols }: Purpose, { rows, bytes, absent }: Received): void {
    this.#requests[rows === 0 ? "empty" : "answered"] += 1;
    this.#rows += rows;
    this.#bytes += bytes;
    this.#symbols.note(dataset, symbols, new Set(absent));
  }

  /**
   * Counts a request that has no response.
   *
   * @param kind whether the service refused it, or it failed.
   * @param failure undefined where the request is sent again in another way.
   */
  unanswered({ dataset, symbols }: Purpose, kind: "refused" | "failed", failure?: Failure): void {
    this.#requests[kind] += 1;
    if (failure === undefined) {
      this.#healed += 1;
      return;
    }
    this.#symbols.note(dataset, symbols, new Set(symbols));
    this.failure(failure);
  }

  /** Adds a failure that is not, or not only, the failure of a request. */
  failure(failure: Failure): void {
    this.#failures.push(failure);
  }

  /** Records that the run sends no more requests. Only the first reason is stored. */
  stop(reason: string): void {
    this.#stopped ??= reason;
  }

  /** Stops the run if an error shows that the lake cannot be written: every further response would be lost, too. */
  stopIfUnwritable(error: unknown): void {
    if (error instanceof LakeError) this.stop(messageOf(error));
  }

  forbid(dataset: string, reason: string): void {
    this.#forbidden.set(dataset, reason);
  }

  /**
   * Records that the service does not offer a dataset to the key, and that this is not a failure of the run. Refusals
   * of its requests no longer count as failures.
   */
  notOffered(dataset: string, reason: string): void {
    this.#notOffered.set(dataset, reason);
    this.#forbidden.delete(dataset);
    this.#symbols.forget(dataset);
    for (let at = this.#failures.length - 1; at >= 0; at--) {
      if (this.#failures[at]?.dataset !== dataset) continue;
      this.#failures.splice(at, 1);
      this.#healed += 1;
    }
  }

  isStopped(dataset: string): boolean {
    return this.#stopped !== undefined || this.#forbidden.has(dataset);
  }

  landed(report: LandReport): void {
    this.#landed.push(report);
  }

  ended(facts: Partial<FactsAtEnd>): void {
    this.#atEnd = { ...this.#atEnd, ...facts };
  }

  facts(): RunFacts {
    return {
      requests: { ...this.#requests },
      ...this.#atEnd,
      healed: this.#healed,
      rows: this.#rows,
      bytes: this.#bytes,
      landed: [...this.#landed],
      failures: [...this.#failures],
      symbols: this.#symbols.counts(),
      completeness: this.completeness.tables(),
      forbidden: new Map(this.#forbidden),
      notOffered: new Map(this.#notOffered),
      stopped: this.#stopped,
    };
  }
}
