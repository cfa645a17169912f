/** Errors that came after another one and because of it, or with it: of an error that was thrown. */
const LATER = new WeakMap<object, unknown[]>();

/**
 * Runs work, and then releases what it used: every release runs, also where the work or another release has failed.
 *
 * @throws the first error, as it was thrown: of the work, or else of the first release that failed.
 *   {@link laterErrors} has those that came after it.
 */
export async function releaseAfter<T>(
  work: () => Promise<T>,
  ...releases: readonly (() => Promise<unknown> | undefined)[]
): Promise<T> {
  const [done] = await Promise.allSettled([work()]);
  const errors: unknown[] = done.status === "rejected" ? [done.reason] : [];
  for (const release of releases) {
    try {
      await release();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw firstOf(errors);
  return (done as PromiseFulfilledResult<T>).value;
}

/** The first of some errors, which knows the others from now on. */
export function firstOf(errors: readonly unknown[]): unknown {
  const [first, ...others] = errors;
  const later = others.filter((error) => error !== first);
  if (typeof first === "object" && first !== null && later.length > 0)
    LATER.set(first, [...laterErrors(first), ...later]);
  return first;
}

/** The errors that came after an error, while what was in use was released. */
export function laterErrors(error: unknown): readonly unknown[] {
  return (typeof error === "object" && error !== null && LATER.get(error)) || [];
}
