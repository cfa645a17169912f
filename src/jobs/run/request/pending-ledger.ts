import type { AbsenceReason } from "../../../plan/absence/absence.js";
import type { Endpoint } from "../../../wire/endpoints.js";
import { landRequests } from "../../ledger/ledger.js";
import { leavesHole } from "../../ledger/ledger-windows.js";
import { landOptions, type RunContext } from "../run-context.js";
import { type Asked, type LedgerEntry, type Purpose, settledRecord } from "./request-records.js";

/** The entries of a run for the ledger, from the end of a request until the rows of its response have landed. */
export class PendingLedger {
  readonly #context: RunContext;
  /** The versions of the ledger that this run made, and whether a record of them leaves a hole. */
  readonly #ownVersions = new Map<number, boolean>();
  #entries: LedgerEntry[] = [];
  #lastRequest = 0;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** The request that is about to be sent, or is counted as sent; its id is new. */
  newRequest({ method, path }: Endpoint, purpose: Purpose): Asked {
    const { runId, pipeline, marketClock } = this.#context;
    const requestId = String(++this.#lastRequest).padStart(6, "0");
    const endpoint = `${method} ${path}`;
    return { runId, pipeline, requestId, endpoint, askedAt: marketClock.now(), attempts: 0, ...purpose };
  }

  /** Adds an entry; the next {@link land} lands it. */
  enter(entry: LedgerEntry): void {
    this.#entries.push(entry);
  }

  /**
   * Records a window without its own request: other responses have shown its result.
   *
   * @param reason why the symbols are absent in it; undefined where they have bars after it.
   */
  enterSettled(
    { endpoint, ...purpose }: Purpose & { readonly endpoint: Endpoint },
    reason?: AbsenceReason,
  ): void {
    this.enter({ records: [settledRecord(this.newRequest(endpoint, purpose), reason)], issues: [] });
  }

  /** Lands the entries: after the data that they describe. */
  async land(): Promise<void> {
    const { session, lake, rejects } = this.#context;
    const entries = this.#entries;
    this.#entries = [];
    for (const { records, issues } of entries) {
      const [first] = records;
      if (first === undefined || issues.length === 0) continue;
      const source = `${first.endpoint} ${first.runId}/${first.requestId}`;
      await rejects.addIssues({ runId: first.runId, dataset: first.dataset, source }, issues);
    }
    const records = entries.flatMap((entry) => entry.records);
    const version = await landRequests(session, lake, records, landOptions(this.#context));
    if (version !== undefined) this.#ownVersions.set(version, records.some(leavesHole));
  }

  /** Whether this run made a version of the ledger. */
  isOwn(version: number): boolean {
    return this.#ownVersions.has(version);
  }

  /** Whether this run made a version of the ledger, and none of its records leaves a hole. */
  leavesNone(version: number): boolean {
    return this.#ownVersions.get(version) === false;
  }
}
