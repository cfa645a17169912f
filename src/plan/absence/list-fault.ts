/** Facts about a list of reference data, such as the instruments of an exchange or the members of a universe. */
export interface ListFacts {
  readonly usable: number;
  /** Number of elements that cannot land; repeats are not counted. */
  readonly rejected: number;
  /** Number of repeats of usable elements, with the same content. */
  readonly repeats: number;
  /** The number of elements that the response states; undefined where it states none. */
  readonly count: number | undefined;
  /** Number of current rows in the lake that an empty list would end. */
  readonly current: number;
  /** Whether another response also shows that the list is empty. */
  readonly isKnownEmpty: boolean;
}

/**
 * Why a list may lack elements that the service has; then no row ends because the list lacks it. An empty response can
 * be a temporary fault of the service.
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
