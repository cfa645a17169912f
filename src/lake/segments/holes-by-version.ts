import type { HoleOf } from "../../market/holes.js";
import type { Snapshot } from "../log/snapshot.js";

/** The holes of the newest version of trading days and absences that was read. A failed read is not kept. */
export class HolesByVersion<State> {
  readonly #read: (state: State) => Promise<HoleOf>;
  /** By version of the trading days, then of the absences. */
  readonly #known = new WeakMap<Snapshot, WeakMap<Snapshot, Promise<HoleOf>>>();

  /** @param read reads the holes of a state. */
  constructor(read: (state: State) => Promise<HoleOf>) {
    this.#read = read;
  }

  /** The holes of a state that has these versions. */
  of([tradingDays, absences]: readonly [Snapshot, Snapshot], state: State): Promise<HoleOf> {
    const known = this.#known.get(tradingDays) ?? new WeakMap<Snapshot, Promise<HoleOf>>();
    this.#known.set(tradingDays, known);
    const holes = known.get(absences) ?? this.#read(state);
    known.set(absences, holes);
    holes.catch(() => known.delete(absences));
    return holes;
  }
}
