import type { LandedPeriod } from "../../market/period.js";
import { LIMITS } from "../../wire/endpoints.js";

/**
 * Most bars of one symbol that a plan expects of a service before a measurement: the interface documents 10,000, but a
 * service was measured to stop at 5,000 one-minute bars.
 */
export const ASSUMED_CAP: Readonly<Record<LandedPeriod, number>> = { "1d": LIMITS.maxCount, "1m": 5000 };

/** Number of responses that must be cut at the same number of bars before that number counts as a cap. */
const RESPONSES_OF_A_CAP = 2;

/** The bars of one symbol in a response. */
export interface SymbolRows {
  readonly symbol: string;
  /** Received bars, including those set aside. */
  readonly rows: number;
  /** Whether the oldest bar is later than the first one expected in the window. */
  readonly beginsLate: boolean;
}

/**
 * The most bars of a symbol that a service gives, as learned from its responses. A service does not report that it left
 * something out.
 *
 * The cap only decides how long the planned windows are. It never proves that a response is whole: a service can give
 * fewer bars today than it gave yesterday.
 */
export class RowCap {
  #cap: number | undefined;
  /** Responses that were cut at a number of bars. */
  readonly #cuts = new Map<number, number>();
  /** Numbers of bars that looked like a cap, but were not. */
  readonly #cleared = new Set<number>();

  /** @param known the cap that was measured before. */
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

  /** Whether suspects seem to be cut by a cap: this is then examined before more is requested. */
  looksLikeCap(suspects: readonly SymbolRows[]): boolean {
    const [first] = suspects;
    if (first === undefined) return false;
    return this.#isFull(first.rows) || (suspects.length > 1 && !this.#cleared.has(first.rows));
  }

  /**
   * Learns what a request for older bars has shown about a response with `rows` bars of a symbol. A cap is only ever
   * lowered. A single response may be incomplete for another reason, so two must agree, unless the number is a known
   * cap of services.
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

  /** Learns from a whole response with `rows` bars of a symbol: if no cap was measured, the documented one applies. */
  sawWhole(rows: number): void {
    if (this.#cap === undefined && rows > ASSUMED_CAP["1m"]) this.#cap = LIMITS.maxCount;
  }

  /** Whether a response may be cut at a number of bars: the measured cap, or the documented one and more. */
  #isFull(rows: number): boolean {
    return rows === this.#cap || rows >= LIMITS.maxCount;
  }
}
