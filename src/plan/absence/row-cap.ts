import type { LandedPeriod } from "../../market/period.js";
import { LIMITS } from "../../wire/endpoints.js";

/**
 * Most bars of one symbol that a plan expects in a response before the cap of the service was measured. The interface
 * documents 10,000, but one service was found to return at most 5,000 one-minute bars.
 */
export const ASSUMED_CAP: Readonly<Record<LandedPeriod, number>> = { "1d": LIMITS.maxCount, "1m": 5000 };

/** Number of responses that must be cut at the same number of bars before this number counts as a cap. */
const RESPONSES_OF_A_CAP = 2;

/** The bars of one symbol in a response. */
export interface SymbolRows {
  readonly symbol: string;
  /** Number of received bars, including those that were set aside. */
  readonly rows: number;
  /** Whether the oldest bar is later than the first expected bar of the window. */
  readonly beginsLate: boolean;
}

/**
 * The most bars of a symbol that a service returns, as learned from its responses. A service does not report that it
 * left something out.
 *
 * The cap only decides how long the planned windows are. It never proves that a response is complete: a service can
 * return fewer bars today than yesterday.
 */
export class RowCap {
  #cap: number | undefined;
  /** Number of responses that were cut, by the number of bars at which they were cut. */
  readonly #cuts = new Map<number, number>();
  /** Numbers of bars that seemed to be a cap, but were not. */
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
   * The symbols of a response that may lack older bars of the window.
   *
   * A symbol whose bars begin where the window's bars are expected to begin is complete, unless it has as many bars as
   * the cap. A symbol that begins late is complete only if another symbol in the same response has more bars, because a
   * cap cuts the symbols with the most bars first.
   */
  suspects<Rows extends SymbolRows>(response: readonly Rows[]): Rows[] {
    const most = response.reduce((max, { rows }) => Math.max(max, rows), 0);
    return response.filter(({ rows, beginsLate }) => this.#isFull(rows) || (beginsLate && rows === most));
  }

  /** Whether suspects seem to be cut by a cap. This is examined before more is requested. */
  looksLikeCap(suspects: readonly SymbolRows[]): boolean {
    const [first] = suspects;
    if (first === undefined) return false;
    return this.#isFull(first.rows) || (suspects.length > 1 && !this.#cleared.has(first.rows));
  }

  /**
   * Learns from a request for older bars whether an earlier response with `rows` bars of a symbol was cut. A cap can
   * only become lower. A single response may be incomplete for another reason, so two must agree, unless the number is
   * a known cap of services.
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

  /**
   * Learns from a complete response with `rows` bars of a symbol. If no cap was measured, the documented cap applies.
   */
  sawWhole(rows: number): void {
    if (this.#cap === undefined && rows > ASSUMED_CAP["1m"]) this.#cap = LIMITS.maxCount;
  }

  /**
   * Whether a response with a number of bars may be cut: it has as many as the measured cap, or at least as many as the
   * documented one.
   */
  #isFull(rows: number): boolean {
    return rows === this.#cap || rows >= LIMITS.maxCount;
  }
}
