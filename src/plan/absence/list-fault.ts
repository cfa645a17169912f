/** Facts about a list of reference data, such as the instruments of an exchange or the members of a universe. */
export interface ListFacts {
  /** Different elements that can be landed. */
  readonly usable: number;
  /** Elements that cannot be landed; repeats do not count. */
  readonly rejected: number;
  /** Repeats of usable elements, with the same content. */
  readonly repeats: number;
  /** The number of elements that the response itself gives; undefined where it gives none. */
  readonly count: number | undefined;
  /** Current rows of the lake that would end with an empty list. */
  readonly current: number;
  /** Whether another response also says that the list is empty. */
  readonly isKnownEmpty: boolean;
}

/**
 * Why a list may lack elements that the service has: then nothing ends because the list lacks it. An empty response can
 * be a passing fault of the service.
 *
 * @returns undefined where the list seems complete.
 */
export function listFault(facts: ListFacts): string | undefined {
  const { usable, rejected, repeats, count, current, isKnownEmpty } = facts;
  if (rejected > 0) return `${rejected} of its ${usable + rejected} elements cannot be landed`;
  if (count !== undefined && count !== usable && count !== usable + repeats)
    return `it has ${usable} elements, and the response gives their number as ${count}`;
  if (usable === 0 && current > 0 && !isKnownEmpty) return `it is empty, and the lake has ${current}`;
  return undefined;
}
