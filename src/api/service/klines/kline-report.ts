import { BarlakeError } from "../../../core/errors.js";
import { type Issue, type IssueCount, IssueLog } from "../../../core/issue.js";
import type { TimeRange } from "../../../core/time.js";
import { isLoss } from "../../../lake/land/rejects.js";

/** A window of a symbol about which no response says whether its bars are complete. */
export interface OpenWindow {
  readonly symbol: string;
  /** Epoch milliseconds; the end is exclusive. */
  readonly window: TimeRange;
  /**
   * `set_aside`: bars came, but could not be used; `other_period`: they are of another period; `unexplained`: responses
   * lack older bars, or bars that came before.
   */
  readonly reason: "set_aside" | "other_period" | "unexplained";
}

/** What the responses to a request for K-lines contained in addition to the bars. */
export interface KlineReport {
  /** Bars, columns and symbols that were set aside, each with its rule: the first 1000, and the first of each rule. */
  readonly issues: readonly Issue[];
  /** All issues, counted by rule and symbol. */
  readonly counts: readonly Readonly<IssueCount>[];
  /** Number of bars that were set aside. */
  readonly rejected: number;
  /** Requested symbols, or universes, that the service does not know. */
  readonly unknown: readonly string[];
  /** Requested symbols that the service knows, and that have no bar in the window. */
  readonly empty: readonly string[];
  readonly open: readonly OpenWindow[];
  /** Requests that were sent. */
  readonly requests: number;
}

/** Collects what responses show. It is a class because it grows with each response. */
export class GrowingReport implements KlineReport {
  readonly log = new IssueLog();
  readonly open: OpenWindow[] = [];
  /** Symbols of which a bar came. */
  readonly came = new Set<string>();
  unknown: readonly string[] = [];
  empty: readonly string[] = [];
  requests = 0;

  get issues(): readonly Issue[] {
    return this.log.stored;
  }

  get counts(): readonly Readonly<IssueCount>[] {
    return this.log.counts;
  }

  get rejected(): number {
    return this.log.rejected;
  }

  /** The report of all responses so far, without the state that collects them. */
  get current(): KlineReport {
    const { issues, counts, rejected, unknown, empty, open, requests } = this;
    return { issues, counts, rejected, unknown, empty, open, requests };
  }

  /** @throws {IncompleteError} where something of the request is missing. */
  expectComplete(): void {
    const lost = this.counts.filter(({ rule, rejected }) => isLoss({ rule, rows: rejected }));
    const parts = [
      ...(this.unknown.length > 0 ? [`the service does not know ${named(this.unknown)}`] : []),
      ...lost.map(
        ({ rule, symbol, rejected }) => `${symbol ?? "?"}: ${rejected} bars were set aside (${rule})`,
      ),
      ...this.open.map(({ symbol, reason }) => `${symbol}: a part of the window is open (${reason})`),
    ];
    if (parts.length > 0) throw new IncompleteError(parts, this.current);
  }
}

/** The result is not complete; `report` says what is missing. */
export class IncompleteError extends BarlakeError {
  readonly report: KlineReport;

  constructor(parts: readonly string[], report: KlineReport) {
    const more = parts.length > 3 ? `; and ${parts.length - 3} more` : "";
    super(`klines: ${parts.slice(0, 3).join("; ")}${more}`, {
      hint: "the error's report has all of it; without strict the bars that are sound are returned",
    });
    this.report = report;
  }
}

function named(symbols: readonly string[]): string {
  return symbols.slice(0, 5).join(", ") + (symbols.length > 5 ? ` and ${symbols.length - 5} more` : "");
}
