/** What the flows of one company's periods show. */
export type FlowKind = "cumulative" | "discrete" | "mixed" | "unknown";

/** A period of one company with a flow, such as revenue. */
export interface Flow {
  /** Months from year 0 to the period's end. */
  readonly month: number;
  readonly value: number;
}

/** Fewest quarters in a row from which a kind is concluded. */
const FEW_QUARTERS = 5;

/**
 * Judges whether quarterly flows are of the quarter alone, or of the fiscal year so far: a flow that cumulates falls once a
 * year, at the same quarter, and rises three times; flows of quarters stay near each other. A year in place of its
 * last quarter is `mixed`.
 *
 * @param flows of one company, one a period, in the order of time.
 */
export function flowKind(flows: readonly Flow[]): FlowKind {
  const steps: { readonly phase: number; readonly ratio: number }[] = [];
  for (let i = 1; i < flows.length; i++) {
    const [before, after] = [flows[i - 1] as Flow, flows[i] as Flow];
    if (after.month - before.month !== 3 || before.value <= 0 || after.value <= 0) continue;
    steps.push({ phase: after.month % 12, ratio: after.value / before.value });
  }
  if (steps.length < FEW_QUARTERS - 1) return "unknown";
  const phases = [...new Set(steps.map(({ phase }) => phase))];
  const at = (phase: number): number[] =>
    steps.filter((one) => one.phase === phase).map(({ ratio }) => ratio);
  const others = (phase: number): number[] =>
    steps.filter((one) => one.phase !== phase).map(({ ratio }) => ratio);
  for (const phase of phases) {
    if (at(phase).every((ratio) => ratio < 0.65) && others(phase).every((ratio) => ratio > 1.1))
      return "cumulative";
  }
  if (steps.every(({ ratio }) => ratio > 0.4 && ratio < 2.5)) return "discrete";
  for (const phase of phases) {
    const next = (phase + 3) % 12;
    const rest = steps.filter((one) => one.phase !== phase && one.phase !== next).map(({ ratio }) => ratio);
    const isYear = at(phase).every((ratio) => ratio > 2.5) && at(next).every((ratio) => ratio < 0.5);
    if (isYear && at(phase).length > 0 && rest.every((ratio) => ratio > 0.4 && ratio < 2.5)) return "mixed";
  }
  return "unknown";
}
