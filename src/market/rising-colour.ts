import { isRegion, REGIONS, type RisingColour } from "./regions.js";
import { regionOf } from "./symbol.js";

/** The column, or the parameter, of a chart's rows with this name, as text; undefined where there is none. */
export type Named = (name: "region" | "symbol") => string | undefined;

/** The colour in which bars rise: that of their region, which they name, or which their symbol belongs to; else green. */
export function risingColour(named: Named): RisingColour {
  const given = named("region");
  const region = given !== undefined && isRegion(given) ? given : regionOf(named("symbol") ?? "");
  return region === undefined ? "green" : REGIONS[region].rising;
}
