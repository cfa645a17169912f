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
  | "no_trade"
  | "duplicate_key"
  | "unsorted"
  | "bad_symbol"
  | "unknown_exchange"
  | "unknown_sessions"
  | "not_requested"
  | "outside_window"
  | "unparsable"
  | "unreadable_file"
  | "incomplete_list";

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
  /** How many bars were set aside because of it; 0 where it is only a remark. */
  readonly rejected: number;
}

/** Issues of one rule and symbol. */
export interface IssueCount {
  readonly rule: IssueRule;
  /** Undefined for rules about symbols that were not requested. */
  readonly symbol: string | undefined;
  /** As {@link Issue.rejected}. */
  rejected: number;
}

const OF_NO_SYMBOL: ReadonlySet<IssueRule> = new Set(["bad_symbol", "not_requested"]);

/** The first `limit` issues, and the first of each rule, in full; counts of all by rule and symbol. */
export class IssueLog {
  readonly #stored: Issue[] = [];
  readonly #counts = new Map<string, IssueCount & { total: number }>();
  readonly #rules = new Set<IssueRule>();
  #total = 0;
  #rejected = 0;
  readonly #limit: number;

  constructor(limit = 1000) {
    this.#limit = limit;
  }

  add(issue: Issue): void {
    const { rule, rejected } = issue;
    this.#total += 1;
    this.#rejected += rejected;
    if (this.#stored.length < this.#limit || !this.#rules.has(rule)) this.#stored.push(issue);
    this.#rules.add(rule);
    const symbol = OF_NO_SYMBOL.has(rule) ? undefined : issue.symbol;
    const key = `${rule} ${symbol ?? ""}`;
    const count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, { rule, symbol, rejected, total: 1 });
    else {
      count.rejected += rejected;
      count.total += 1;
    }
  }

  addAll(other: IssueLog, without: ReadonlySet<string> = new Set()): void {
    const counts = this.#counts;
    const isOut = (symbol: string | undefined): boolean => symbol !== undefined && without.has(symbol);
    const added = other.#stored.filter(({ symbol }) => !isOut(symbol));
    for (const issue of added) {
      if (this.#stored.length < this.#limit || !this.#rules.has(issue.rule)) this.#stored.push(issue);
      this.#rules.add(issue.rule);
    }
    for (const [key, { total, ...one }] of other.#counts) {
      if (isOut(one.symbol)) continue;
      this.#total += total;
      this.#rejected += one.rejected;
      const count = counts.get(key);
      if (count === undefined) counts.set(key, { ...one, total });
      else {
        count.rejected += one.rejected;
        count.total += total;
      }
    }
  }

  get counts(): readonly Readonly<IssueCount>[] {
    return [...this.#counts.values()].map(({ rule, symbol, rejected }) => ({ rule, symbol, rejected }));
  }

  /** The first `limit` issues, and the first of each rule, in the order in which they were found. */
  get stored(): readonly Issue[] {
    return this.#stored;
  }

  get total(): number {
    return this.#total;
  }

  get rejected(): number {
    return this.#rejected;
  }
}
