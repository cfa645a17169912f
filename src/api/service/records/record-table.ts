import type { RecordBatch } from "apache-arrow";
import { RowTable } from "../../../arrow/row-table.js";
import type { Issue, IssueLog } from "../../../core/issue.js";

/** Records of a service as an Arrow table, and as the response has them. */
export class RecordTable<T> extends RowTable<T> {
  readonly #records: readonly T[];
  /** Elements of the response that were set aside, because they break the interface, or an incomplete list. */
  readonly issues: readonly Issue[];
  /** Requested symbols, or ids, that the service does not know. */
  readonly unknown: readonly string[];

  constructor(batch: RecordBatch, records: readonly T[], issues: IssueLog, unknown: readonly string[] = []) {
    super([batch]);
    this.#records = records;
    this.issues = issues.stored;
    this.unknown = unknown;
  }

  /** The records as the service gave them. */
  override rows(): T[] {
    return [...this.#records];
  }
}
