import type { Adjustment } from "../../../market/period.js";
import { text } from "../texts.js";

/**
 * How the prices of a chart are adjusted, in words: where no ex-event of a symbol is known, as traded. Undefined until
 * it is known. @param adjusted symbols of which an ex-event is known; undefined: not known yet.
 */
export function adjustmentText(
  adjust: Adjustment,
  shown: readonly string[],
  adjusted: readonly string[] | undefined,
): string | undefined {
  if (adjust === "none") return text("noneSays");
  if (adjusted === undefined) return undefined;
  const others = shown.filter((symbol) => !adjusted.includes(symbol));
  if (others.length === shown.length) return text("unadjustedSays");
  const says = text(`${adjust}Says`);
  return others.length === 0 ? says : `${says} · ${text("unadjustedOf")} ${others.join(", ")}`;
}
