/** For an error that was thrown: the errors that followed it, or occurred together with it. */
const LATER = new WeakMap<object, unknown[]>();

type Release = () => Promise<unknown> | undefined;

/**
 * Runs work, and then releases what it used: every release runs, also where the work or another release has failed.
 *
 * @throws the first error, as it was thrown: of the work, or else of the first release that failed.
 *   {@link laterErrors} has those that came after it.
 */
export async function releaseAfter<T>(work: () => Promise<T>, ...releases: readonly Release[]): Promise<T> {
  let value: T;
  try {
    value = await work();
  } catch (error) {
    return throwAfter(error, ...releases);
  }
  await releaseAll(...releases);
  return value;
}

/** Releases what failed work has used, and then throws its error; {@link laterErrors} has those of the releases. */
export async function throwAfter(error: unknown, ...releases: readonly Release[]): Promise<never> {
  throw firstOf([error, ...(await errorsOf(releases))]);
}

/** Runs every release, also where another one has failed. @throws the first error. */
export async function releaseAll(...releases: readonly Release[]): Promise<void> {
  const errors = await errorsOf(releases);
  if (errors.length > 0) throw firstOf(errors);
}

async function errorsOf(releases: readonly Release[]): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const release of releases) {
    try {
      await release();
    } catch (error) {
      errors.push(error);
    }
  }
  return errors;
}

/** The first of some errors, which knows the others from now on. */
export function firstOf(errors: readonly unknown[]): unknown {
  const [first, ...others] = errors;
  const later = others.filter((error) => error !== first);
  if (typeof first === "object" && first !== null && later.length > 0)
    LATER.set(first, [...laterErrors(first), ...later]);
  return first;
}

export function laterErrors(error: unknown): readonly unknown[] {
  return (typeof error === "object" && error !== null && LATER.get(error)) || [];
}
