import type { LandedPeriod } from "../../../market/period.js";
import type { Region } from "../../../market/regions.js";

/** The regions for which a run has received minutes. Many services have minutes only for Chinese instruments. */
export class MinuteRegions {
  readonly #withMinutes = new Set<Region>();
  readonly #withoutMinutes = new Set<Region>();
  readonly #period: LandedPeriod;

  constructor(period: LandedPeriod) {
    this.#period = period;
  }

  /** Records that bars of a region were received. */
  came(region: Region): void {
    this.#withMinutes.add(region);
  }

  /** Records that no bars of a region were received, although they were requested twice. */
  didNotCome(region: Region): void {
    this.#withoutMinutes.add(region);
  }

  /** Whether the service may have no minutes of a region: it has at least not returned any in this run. */
  mayLack(region: Region): boolean {
    return this.#period === "1m" && region !== "CN" && !this.#withMinutes.has(region);
  }

  /** Whether the service was found to have no minutes of a region. */
  lack(region: Region): boolean {
    return this.#withoutMinutes.has(region);
  }
}
