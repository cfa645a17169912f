import { MINUTE_MS } from "../../../core/time.js";

/**
 * Permits that become free within this time, in milliseconds, rest as one group, for as long as the last of them must.
 */
const STEP_MS = 1000;

/** A group of recently used permits, and how long they rest. */
interface Rest {
  readonly permits: number;
  readonly forMs: number;
}

/**
 * When the permits of a process were used in the last minute, in milliseconds of a monotonic clock. It is a class
 * because it owns a ring buffer: a use allocates nothing once the ring is large enough.
 */
export class PermitUses {
  #times = new Float64Array(16);
  #first = 0;
  #count = 0;
  /** The number of uses that have expired or were forgotten, which is the number of the oldest remaining use. */
  #gone = 0;

  /** The number of uses in the last minute. */
  countAt(ticks: number): number {
    while (this.#count > 0 && this.#at(0) <= ticks - MINUTE_MS) this.#leave(1);
    return this.#count;
  }

  add(ticks: number): void {
    if (this.#count === this.#times.length) {
      const grown = new Float64Array(2 * this.#count);
      for (let n = 0; n < this.#count; n++) grown[n] = this.#at(n);
      [this.#times, this.#first] = [grown, 0];
    }
    this.#times[(this.#first + this.#count) % this.#times.length] = ticks;
    this.#count++;
  }

  /** When there will be fewer than `permits` uses in the last minute; `ticks` if that is already so. */
  freeAt(permits: number, ticks: number): number {
    const count = this.countAt(ticks);
    return count < permits ? ticks : this.#at(count - permits) + MINUTE_MS;
  }

  /**
   * How long the permits of the oldest uses rest if they are given up. They form groups, each with the longest wait in
   * it.
   */
  restOf(permits: number, ticks: number): Rest[] {
    const rests: Rest[] = [];
    let group: { permits: number; forMs: number; since: number } | undefined;
    for (let n = 0; n < Math.min(permits, this.countAt(ticks)); n++) {
      const forMs = this.#at(n) + MINUTE_MS - ticks;
      if (group === undefined || forMs > group.since + STEP_MS) {
        group = { permits: 0, forMs, since: forMs };
        rests.push(group);
      }
      group.permits++;
      group.forMs = forMs;
    }
    return rests.map((rest) => ({ permits: rest.permits, forMs: rest.forMs }));
  }

  /** The number of the use that follows the given number of oldest uses. The first use of the process has number 0. */
  numberAfter(oldest: number): number {
    return this.#gone + Math.min(oldest, this.#count);
  }

  /** Forgets the uses before a number, whose permits were given up. */
  forgetUntil(number: number): void {
    this.#leave(Math.min(this.#count, Math.max(0, number - this.#gone)));
  }

  #leave(uses: number): void {
    this.#first = (this.#first + uses) % this.#times.length;
    this.#count -= uses;
    this.#gone += uses;
  }

  #at(n: number): number {
    return this.#times[(this.#first + n) % this.#times.length] as number;
  }
}
