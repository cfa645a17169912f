/** A user of a key, and the largest part of the quota that it asks for, above 0, up to 1. */
export interface Asker {
  readonly holder: string;
  readonly ask: number;
}

/**
 * Divides a quota among the users of a key: equal parts, but nobody gets more than it asks for, and the others divide
 * what that leaves. Every user calculates the same parts from the same list, in any order.
 *
 * @returns the part of each holder; they add up to at most 1.
 */
export function divideQuota(askers: readonly Asker[]): ReadonlyMap<string, number> {
  const parts = new Map<string, number>();
  let rest = 1;
  for (const [index, { holder, ask }] of [...askers].sort(byAsk).entries()) {
    const part = Math.min(ask, rest / (askers.length - index));
    parts.set(holder, part);
    rest -= part;
  }
  return parts;
}

function byAsk(a: Asker, b: Asker): number {
  return a.ask - b.ask || (a.holder < b.holder ? -1 : 1);
}
