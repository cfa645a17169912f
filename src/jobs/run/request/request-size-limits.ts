import { isTooManySymbols, symbolLimitOf } from "../../../client/response-error.js";
import type { LandedPeriod } from "../../../market/period.js";
import { RowCap } from "../../../plan/absence/older-bars.js";
import { LIMITS, type SizedRequests } from "../../../wire/endpoints.js";

/** Limits that a service has shown, in addition to the documented ones. */
interface ServiceFacts {
  readonly rowCap?: Readonly<Partial<Record<LandedPeriod, number>>>;
  readonly symbolsPerRequest?: Readonly<Partial<Record<SizedRequests, number>>>;
  /** Tables that the service does not offer to the key, with the HTTP status of the refusal. */
  readonly refusedTables?: Readonly<Record<string, number>>;
}

export class RequestSizeLimits {
  readonly #caps: Readonly<Record<LandedPeriod, RowCap>>;
  readonly #symbols: Partial<Record<SizedRequests, number>>;
  readonly #refused: Readonly<Record<string, number>>;
  readonly #onLearned: (facts: ServiceFacts) => void;

  /** @param known what earlier runs have learned. @param onLearned called with each new limit. */
  constructor(known: ServiceFacts = {}, onLearned: (facts: ServiceFacts) => void = () => {}) {
    this.#caps = { "1d": new RowCap(known.rowCap?.["1d"]), "1m": new RowCap(known.rowCap?.["1m"]) };
    this.#symbols = { ...known.symbolsPerRequest };
    this.#refused = known.refusedTables ?? {};
    this.#onLearned = onLearned;
  }

  rowCap(period: LandedPeriod): RowCap {
    return this.#caps[period];
  }

  symbolsPerRequest(group: SizedRequests): number {
    return Math.min(this.#symbols[group] ?? LIMITS.symbolsPerRequest, LIMITS.symbolsPerRequest);
  }

  /** The HTTP status with which an earlier run was refused a table; undefined where it was not refused. */
  refusalOf(table: string): number | undefined {
    return this.#refused[table];
  }

  /** Records that the service does not offer a table to the key. */
  learnedRefusal(table: string, status: number): void {
    this.#onLearned({ refusedTables: { [table]: status } });
  }

  learnedCap(period: LandedPeriod, rows: number): void {
    this.#onLearned({ rowCap: { [period]: rows } });
  }

  /**
   * Whether a request was refused because of the number of its symbols, and one for fewer may be answered. Then later
   * requests have as many as the service states, or else half as many.
   */
  takesFewer(group: SizedRequests, error: unknown, symbols: number): boolean {
    if (symbols <= 1 || !isTooManySymbols(error)) return false;
    const stated = symbolLimitOf(error);
    const fewer = stated !== undefined && stated < symbols ? stated : Math.max(1, Math.floor(symbols / 2));
    this.#symbols[group] = Math.min(fewer, this.symbolsPerRequest(group));
    this.#onLearned({ symbolsPerRequest: { [group]: this.#symbols[group] } });
    return true;
  }
}
