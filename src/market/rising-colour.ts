import { isRegion, REGIONS, type RisingColour } from "./regions.js";
import { regionOf } from "./symbol.js";

/** Returns the value of a column, or a parameter, of a chart's rows, as text; undefined where it does not exist. */
export type Named = (name: "region" | "symbol") => string | undefined;

/** The colour of rising bars: that of the region that the rows name, or of the symbol's region; else green. */
export function risingColour(named: Named): RisingColour {
  const given = named("region");
  const region = given !== undefined && isRegion(given) ? given : regionOf(named("symbol") ?? "");
  return region === undefined ? "green" : REGIONS[region].rising;
}
