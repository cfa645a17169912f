import type { QuotaState } from "../../../plan/quota/rate.js";

/** The progress of one table's requests. */
export interface TableProgress {
  readonly table: string;
  readonly requestsDone: number;
  readonly requestsTotal: number;
  readonly rows: number;
}

/** What a run reports during its work. */
export interface Progress {
  readonly requestsDone: number;
  readonly requestsTotal: number;
  /** Rows and bytes received so far. */
  readonly rows: number;
  readonly bytes: number;
  /** The progress by table, in the order in which the tables began. */
  readonly tables: readonly TableProgress[];
  /** The quota state of the endpoint group of the last request. */
  readonly quota?: QuotaState | undefined;
  readonly doing: string;
}

interface Counts {
  planned: number;
  sent: number;
  done: number;
  rows: number;
}

/** Counts the work of a run, by table, and reports each change. */
export class RunProgress {
  readonly #report: (progress: Progress) => void;
  readonly #tables = new Map<string, Counts>();
  #bytes = 0;
  #doing = "";
  #quota: (() => QuotaState) | undefined;

  constructor(report: (progress: Progress) => void) {
    this.#report = report;
  }

  get planned(): number {
    return this.#sum("planned");
  }

  plan(table: string, count: number): void {
    this.#of(table).planned += count;
    this.#changed();
  }

  /** Sets the number of requests that are still to be sent for a table. */
  replan(table: string, left: number): void {
    const counts = this.#of(table);
    counts.planned = counts.sent + left;
    this.#changed();
  }

  doing(what: string): void {
    this.#doing = what;
    this.#changed();
  }

  /** Counts a request that is sent. @param quota returns the state of its endpoint group. */
  sent(table: string, quota: () => QuotaState): void {
    const counts = this.#of(table);
    counts.sent += 1;
    counts.planned = Math.max(counts.planned, counts.sent);
    this.#quota = quota;
  }

  ended(table: string, rows: number, bytes: number): void {
    const counts = this.#of(table);
    counts.done += 1;
    counts.rows += rows;
    this.#bytes += bytes;
    this.#changed();
  }

  #changed(): void {
    this.#report({
      requestsDone: this.#sum("done"),
      requestsTotal: this.planned,
      rows: this.#sum("rows"),
      bytes: this.#bytes,
      tables: [...this.#tables].map(([table, { done, planned, rows }]) => {
        return { table, requestsDone: done, requestsTotal: planned, rows };
      }),
      quota: this.#quota?.(),
      doing: this.#doing,
    });
  }

  #sum(name: keyof Counts): number {
    let sum = 0;
    for (const counts of this.#tables.values()) sum += counts[name];
    return sum;
  }

  #of(table: string): Counts {
    let counts = this.#tables.get(table);
    if (counts === undefined) this.#tables.set(table, (counts = { planned: 0, sent: 0, done: 0, rows: 0 }));
    return counts;
  }
}
