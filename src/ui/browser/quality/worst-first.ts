import type { FaultReport } from "../../page-data.js";
import type { RuleCount, RuleReport } from "../../quality/quality-data.js";

/** The state of counting a rule's findings. */
export type CountState =
  | { readonly kind: "waiting" }
  | { readonly kind: "counting" }
  | { readonly kind: "counted"; readonly count: RuleCount }
  | { readonly kind: "fault"; readonly fault: FaultReport };

/** Number of findings of a rule in a region; undefined where it is not known. @param region "" for all regions */
export function findingsIn(state: CountState | undefined, region: string): number | undefined {
  if (state?.kind !== "counted" || state.count.unknown !== null) return undefined;
  return state.count.counts
    .filter((one) => region === "" || (one.region ?? "-") === region)
    .reduce((sum, { findings }) => sum + findings, 0);
}

const SEVERITIES = ["error", "warning", "info"];

/**
 * The rules in the order of the list: those with findings, by severity and then by number of findings; then those whose
 * number is not known yet; then those without findings.
 */
export function worstFirst(
  rules: readonly RuleReport[],
  counts: ReadonlyMap<string, CountState>,
  region: string,
): RuleReport[] {
  const keyOf = ({ name, severity }: RuleReport): readonly number[] => {
    const findings = findingsIn(counts.get(name), region);
    const group = findings === undefined ? 1 : findings > 0 ? 0 : 2;
    return [group, SEVERITIES.indexOf(severity), -(findings ?? 0)];
  };
  return [...rules].sort((a, b) => {
    const [left, right] = [keyOf(a), keyOf(b)];
    const at = left.findIndex((value, nth) => value !== right[nth]);
    return at < 0 ? 0 : (left[at] as number) - (right[at] as number);
  });
}
