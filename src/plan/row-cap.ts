import type { LandedPeriod } from "../core/period.js";
import { LIMITS } from "../wire/endpoints.js";

/**
 * Bars of one symbol that a plan takes a service to give at most, until it was measured: the interface documents 10,000,
 * and a service was measured to stop at 5,000 one-minute bars.
 */
export const ASSUMED_CAP: Readonly<Record<LandedPeriod, number>> = { "1d": LIMITS.maxCount, "1m": 5000 };

/** Fewest bars at which two symbols of one answer with equal numbers are taken for cut ones. */
const FEWEST_OF_A_CAP = 500;

/** What one symbol of an answer had. */
export interface SymbolRows {
  readonly symbol: string;
  /** Bars received, those set aside included. */
  readonly rows: number;
  /** Whether the oldest of them is later than the first that the symbol can have had. */
  readonly beginsLate: boolean;
}

/**
 * How many bars of a symbol a service gives at most, as learned from its answers. No service says that it has left
 * something out: what looks cut is asked for further back, and that shows whether it was.
 */
export class RowCap {
  #cap: number | undefined;
  /** Numbers of bars that looked like a cap, and were none. */
  readonly #cleared = new Set<number>();

  /** @param known as measured before. */
  constructor(known?: number) {
    this.#cap = known;
  }

  /** The cap, if it was measured. */
  get known(): number | undefined {
    return this.#cap;
  }

  /** Symbols whose answer may have been cut. */
  suspects(answer: readonly SymbolRows[]): SymbolRows[] {
    const most = answer.reduce((max, { rows }) => Math.max(max, rows), 0);
    const shared = answer.filter(({ rows }) => rows === most).length > 1 && most >= FEWEST_OF_A_CAP;
    const looksCut = ({ rows, beginsLate }: SymbolRows): boolean => {
      if (rows >= Math.min(this.#cap ?? LIMITS.maxCount, LIMITS.maxCount)) return true;
      if (!beginsLate || rows < most || this.#cleared.has(rows)) return false;
      return shared || (this.#cap === undefined && rows >= FEWEST_OF_A_CAP);
    };
    return answer.filter(looksCut);
  }

  /** Takes note of what a page further back showed of an answer of `rows` bars: whether it had been cut. */
  learn(rows: number, wasCut: boolean): void {
    if (wasCut) this.#cap = Math.min(rows, this.#cap ?? rows);
    else this.#cleared.add(rows);
  }

  /** Takes note of a whole answer of `rows` bars of a symbol: the cap is no lower. */
  sawWhole(rows: number): void {
    if (this.#cap === undefined && rows > ASSUMED_CAP["1m"]) this.#cap = LIMITS.maxCount;
    else if (this.#cap !== undefined && rows > this.#cap) this.#cap = LIMITS.maxCount;
  }
}
