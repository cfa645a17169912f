/** Why a delivered bar, row or symbol was set aside. */
export type IssueRule =
  | "null_in_required"
  | "wrong_type"
  | "fraction_in_integer"
  | "out_of_range"
  | "unequal_lengths"
  | "missing_column"
  | "too_many_bars"
  | "high_below_low"
  | "duplicate_key"
  | "unsorted"
  | "bad_symbol"
  | "unknown_exchange"
  | "not_requested"
  | "outside_window"
  | "unparsable"
  | "unreadable_file";

/** One defect in delivered data, as a value: the good part of the same delivery still lands. */
export interface Issue {
  readonly rule: IssueRule;
  /** The rule in words, with the value that broke it. */
  readonly message: string;
  readonly symbol?: string;
  /** Wire name of the column. */
  readonly column?: string;
  /** Position in the symbol's arrays, from 0. */
  readonly index?: number;
  /** Offset in the decoded (uncompressed) body, from 0. */
  readonly byteOffset?: number;
  /** How many bars were set aside for it; 0 where it is only a remark. */
  readonly rejected: number;
}

/** A bounded list of issues: it keeps the first `limit` in full and counts the rest. */
export class IssueLog {
  readonly #kept: Issue[] = [];
  #total = 0;
  #rejected = 0;
  readonly #limit: number;

  constructor(limit = 1000) {
    this.#limit = limit;
  }

  add(issue: Issue): void {
    this.#total += 1;
    this.#rejected += issue.rejected;
    if (this.#kept.length < this.#limit) this.#kept.push(issue);
  }

  /** The first `limit` issues, in the order in which they were found. */
  get kept(): readonly Issue[] {
    return this.#kept;
  }

  /** The number of all issues, kept or not. */
  get total(): number {
    return this.#total;
  }

  /** The number of all bars that were set aside. */
  get rejected(): number {
    return this.#rejected;
  }
}
