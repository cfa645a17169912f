import { useEffect, useState } from "preact/hooks";
import type { FaultReport } from "../../page-data.js";
import type { RuleCount, RuleReport } from "../../quality/quality-data.js";
import { apiAddress, askJson, faultOf } from "../fetch-data.js";

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

/** Rules with findings, by severity, then number; then those whose number is not known yet; then those without. */
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

/** One rule after another, so that other requests need not wait. @param mostMs for each. @default the workspace's limit */
export function useRuleCounts(
  rules: readonly RuleReport[] | undefined,
  state: string | undefined,
  mostMs?: number,
): { readonly counts: ReadonlyMap<string, CountState>; readonly again: (rule: string) => void } {
  const [counts, setCounts] = useState<ReadonlyMap<string, CountState>>(new Map());
  const set = (rule: string, count: CountState): void => setCounts((now) => new Map(now).set(rule, count));
  const countOne = async (rule: string, of: string, signal?: AbortSignal): Promise<void> => {
    set(rule, { kind: "counting" });
    try {
      const ends = [signal, mostMs && AbortSignal.timeout(mostMs)].filter(
        (end) => end instanceof AbortSignal,
      );
      const address = apiAddress("quality/count", { state: of, rule });
      const count = await askJson<RuleCount>(address, AbortSignal.any(ends));
      if (!signal?.aborted) set(rule, { kind: "counted", count });
    } catch (error) {
      if (!signal?.aborted) set(rule, { kind: "fault", fault: faultOf(error) });
    }
  };
  useEffect(() => {
    if (rules === undefined || state === undefined) return;
    const stop = new AbortController();
    setCounts(new Map());
    const countAll = async (): Promise<void> => {
      for (const { name } of rules) if (!stop.signal.aborted) await countOne(name, state, stop.signal);
    };
    void countAll();
    return () => stop.abort();
  }, [rules, state]);
  return { counts, again: (rule) => void (state !== undefined && countOne(rule, state)) };
}
