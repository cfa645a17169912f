/**
 * Works on several items at once, and gives the results in the order of the items. At most `concurrency` results are
 * computed or wait, however slow the consumer is.
 */
export async function* inOrder<T, R>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const iterator = items[Symbol.iterator]();
  const running: Promise<R>[] = [];
  const start = (): void => {
    const next = iterator.next();
    if (next.done === true) return;
    const result = work(next.value);
    // A failure is thrown when its result is due, or never if the consumer has stopped before.
    result.catch(() => {});
    running.push(result);
  };
  for (let n = 0; n < concurrency; n++) start();
  for (let next = running.shift(); next !== undefined; next = running.shift()) {
    const value = await next;
    yield value;
    start();
  }
}
