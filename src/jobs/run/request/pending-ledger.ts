import { oneAfterAnother } from "../../../core/one-after-another.js";
import type { Session } from "../../../db/session/session.js";
import type { AbsenceReason } from "../../../plan/absence/absence.js";
import type { Endpoint } from "../../../wire/endpoints.js";
import { landRequests, type RequestRecord } from "../../ledger/ledger.js";
import { leavesHole } from "../../ledger/ledger-windows.js";
import { landOptions, type RunContext } from "../run-context.js";
import { type Asked, type LedgerEntry, type Purpose, settledRecord } from "./request-records.js";

/** The entries of a run for the ledger, stored from the end of a request until the rows of its response have landed. */
export class PendingLedger {
  readonly #context: RunContext;
  /** The versions of the ledger that this run made, and whether one of their records leaves a hole. */
  readonly #ownVersions = new Map<number, boolean>();
  #entries: LedgerEntry[] = [];
  #lastRequest = 0;
  /** A connection of its own to the database of the run's session. */
  #session: Session | undefined;
  readonly #oneAfterAnother = oneAfterAnother();

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** A request with a new id, which is about to be sent or counts as sent. */
  newRequest({ method, path }: Endpoint, purpose: Purpose): Asked {
    const { runId, pipeline, marketClock } = this.#context;
    const requestId = String(++this.#lastRequest).padStart(6, "0");
    const endpoint = `${method} ${path}`;
    return { runId, pipeline, requestId, endpoint, askedAt: marketClock.now(), attempts: 0, ...purpose };
  }

  /** Adds an entry, which the next {@link land} lands. */
  enter(entry: LedgerEntry): void {
    this.#entries.push(entry);
  }

  /**
   * Records a window without a separate request, because other responses have shown its result.
   *
   * @param reason why the symbols are absent in it; undefined where they have bars after it.
   */
  enterSettled(
    { endpoint, ...purpose }: Purpose & { readonly endpoint: Endpoint },
    reason?: AbsenceReason,
  ): void {
    this.enter({ records: [settledRecord(this.newRequest(endpoint, purpose), reason)], issues: [] });
  }

  /** Lands the entries. Call it after the data that they describe has landed. */
  async land(): Promise<void> {
    const landRecords = await this.prepare();
    await landRecords();
  }

  /**
   * Adds the issues of the entries to the rejects, and takes their records, after the data that they describe has landed.
   *
   * @returns the landing of the records. It does not use the run's session, which is free for the next data; of several
   *   landings, each waits for the one before.
   */
  async prepare(): Promise<() => Promise<void>> {
    const entries = this.#entries;
    this.#entries = [];
    for (const { records, issues } of entries) {
      const [first] = records;
      if (first === undefined || issues.length === 0) continue;
      const source = `${first.endpoint} ${first.runId}/${first.requestId}`;
      await this.#context.rejects.addIssues({ runId: first.runId, dataset: first.dataset, source }, issues);
    }
    const records = entries.flatMap((entry) => entry.records);
    return () => this.#oneAfterAnother(() => this.#landRecords(records));
  }

  async #landRecords(records: readonly RequestRecord[]): Promise<void> {
    if (records.length === 0) return;
    const { session, lake, tables } = this.#context;
    // The tables have the rows of the records only if they were not replaced since these landed.
    await Promise.all(tables.map((table) => lake.snapshot(table)));
    this.#session ??= await session.sibling();
    const version = await landRequests(this.#session, lake, records, landOptions(this.#context));
    if (version !== undefined) this.#ownVersions.set(version, records.some(leavesHole));
  }

  /** Closes the connection. */
  close(): void {
    this.#session?.close();
    this.#session = undefined;
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
