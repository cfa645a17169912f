import type { LandedPeriod } from "../../market/period.js";
import { LIMITS } from "../../wire/endpoints.js";

/**
 * Bars of one symbol that a plan takes a service to give at most, until it was measured: the interface documents 10,000,
 * and a service was measured to stop at 5,000 one-minute bars.
 */
export const ASSUMED_CAP: Readonly<Record<LandedPeriod, number>> = { "1d": LIMITS.maxCount, "1m": 5000 };

/** Responses that must be cut at the same number of bars before that number is taken for a cap. */
const RESPONSES_OF_A_CAP = 2;

/** What one symbol of a response had. */
export interface SymbolRows {
  readonly symbol: string;
  /** Bars received, those set aside included. */
  readonly rows: number;
  /** Whether the oldest of them is later than the first that is expected of the window. */
  readonly beginsLate: boolean;
}

/**
 * How many bars of a symbol a service gives at most, as learned from its responses. A service does not say that it left
 * something out.
 *
 * The cap only decides how long the planned windows are. It never proves that a response is whole: a service can give
 * fewer bars today than it gave yesterday.
 */
export class RowCap {
  #cap: number | undefined;
  /** Responses that were cut at a number of bars. */
  readonly #cuts = new Map<number, number>();
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

  /**
   * Symbols of a response that may lack older bars of the window.
   *
   * A symbol that begins where the window's bars are expected to begin is whole, unless it has as many bars as the cap.
   * A symbol that begins late is whole only if another symbol of the same response has more bars: a cap cuts those with
   * the most bars first.
   */
  suspects<Rows extends SymbolRows>(response: readonly Rows[]): Rows[] {
    const most = response.reduce((max, { rows }) => Math.max(max, rows), 0);
    return response.filter(({ rows, beginsLate }) => this.#isFull(rows) || (beginsLate && rows === most));
  }

  /** Whether suspects look as if a cap had cut them: it is then worth knowing before more is asked for. */
  looksLikeCap(suspects: readonly SymbolRows[]): boolean {
    const [first] = suspects;
    if (first === undefined) return false;
    return this.#isFull(first.rows) || (suspects.length > 1 && !this.#cleared.has(first.rows));
  }

  /**
   * Takes note of what a request for older bars has shown of a response with `rows` bars of a symbol. A cap is only ever
   * lowered. One response alone may have been incomplete for another reason, so two must agree, unless the number is one
   * that services are known for.
   */
  learn(rows: number, wasCut: boolean): void {
    if (!wasCut) {
      this.#cleared.add(rows);
      return;
    }
    const cuts = (this.#cuts.get(rows) ?? 0) + 1;
    this.#cuts.set(rows, cuts);
    const isUsual = Object.values(ASSUMED_CAP).includes(rows);
    if (isUsual || cuts >= RESPONSES_OF_A_CAP) this.#cap = Math.min(rows, this.#cap ?? rows);
  }

  /** Takes note of a whole response with `rows` bars of a symbol: a cap that was never measured is the documented one. */
  sawWhole(rows: number): void {
    if (this.#cap === undefined && rows > ASSUMED_CAP["1m"]) this.#cap = LIMITS.maxCount;
  }

  /** Whether so many bars are just what the service gives at most; more than that were not cut at the cap. */
  #isFull(rows: number): boolean {
    return rows === this.#cap || rows >= LIMITS.maxCount;
  }
}
