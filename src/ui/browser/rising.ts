import { isRegion, REGIONS, type RisingColour } from "../../market/regions.js";

/** The colour of what rises: by market, or as the user has set it. */
export type Rising = "auto" | RisingColour;

const KEY = "barlake.rising";

/** The setting, which is stored in this browser. */
export function risingSetting(): Rising {
  const stored = localStorage.getItem(KEY);
  return stored === "red" || stored === "green" ? stored : "auto";
}

export function setRising(rising: Rising): void {
  if (rising === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, rising);
}

/** The colour of what rises in a region: red in mainland China, green elsewhere, unless the setting says otherwise. */
export function risingColour(region: string | null): RisingColour {
  const setting = risingSetting();
  if (setting !== "auto") return setting;
  return region !== null && isRegion(region) ? REGIONS[region].rising : "green";
}

/** The class of an element whose `up` and `down` have a region's colours. */
export function risingClass(region: string | null): string {
  return `rising-${risingColour(region)}`;
}
