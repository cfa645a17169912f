import { useEffect, useState } from "preact/hooks";
import type { RuleCount, RuleReport } from "../../quality/quality-data.js";
import { apiAddress, askJson, faultOf } from "../fetch-data.js";
import type { CountState } from "./worst-first.js";

/**
 * Counts the findings of the rules, one rule after another, so that other requests of the page need not wait.
 *
 * @param mostMs milliseconds after which the count of a rule is given up. @default the limit of the workspace
 */
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
