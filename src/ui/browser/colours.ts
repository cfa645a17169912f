import { useEffect, useState } from "preact/hooks";
import { isRegion, REGIONS, type RisingColour } from "../../market/regions.js";

const DARK = "(prefers-color-scheme: dark)";

/** A component that uses this is drawn again when it changes: a chart takes its colours only when it is drawn. */
export function useIsDark(): boolean {
  const [isDark, setDark] = useState(matchMedia(DARK).matches);
  useEffect(() => {
    const dark = matchMedia(DARK);
    const follow = (): void => setDark(dark.matches);
    dark.addEventListener("change", follow);
    return () => dark.removeEventListener("change", follow);
  }, []);
  return isDark;
}

/** The setting of the colour of rising prices: by market, or a fixed colour. */
export type Rising = "auto" | RisingColour;

const KEY = "barlake.rising";

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
