import type { LandedPeriod } from "../../../market/period.js";
import type { Region } from "../../../market/regions.js";

/** What a run has seen of the minutes of regions: many services have minutes of Chinese instruments only. */
export class MinuteRegions {
  readonly #withMinutes = new Set<Region>();
  readonly #withoutMinutes = new Set<Region>();
  readonly #period: LandedPeriod;

  constructor(period: LandedPeriod) {
    this.#period = period;
  }

  /** Notes that bars of a region came. */
  came(region: Region): void {
    this.#withMinutes.add(region);
  }

  /** Notes that no bars of a region came, although they were requested twice. */
  didNotCome(region: Region): void {
    this.#withoutMinutes.add(region);
  }

  /** Whether a service may have only daily bars of a region, and no minutes of it came in this run. */
  mayLack(region: Region): boolean {
    return this.#period === "1m" && region !== "CN" && !this.#withMinutes.has(region);
  }

  /** Whether the service was found to have no minutes of a region. */
  lack(region: Region): boolean {
    return this.#withoutMinutes.has(region);
  }
}
