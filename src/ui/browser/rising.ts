import { isRegion, REGIONS, type RisingColour } from "../../market/regions.js";

/** The setting of the colour of rising prices: by market, or a fixed colour. */
export type Rising = "auto" | RisingColour;

const KEY = "barlake.rising";

/** The setting, which this browser stores. */
export function risingSetting(): Rising {
  const stored = localStorage.getItem(KEY);
  return stored === "red" || stored === "green" ? stored : "auto";
}

export function setRising(rising: Rising): void {
  if (rising === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, rising);
}

/** The colour of rising prices in a region: red in mainland China, green elsewhere, unless the setting fixes it. */
export function risingColour(region: string | null): RisingColour {
  const setting = risingSetting();
  if (setting !== "auto") return setting;
  return region !== null && isRegion(region) ? REGIONS[region].rising : "green";
}

/** The class of an element in which `up` and `down` have the colours of a region. */
export function risingClass(region: string | null): string {
  return `rising-${risingColour(region)}`;
}
