/** A statement that has not begun yet misses an interrupt, so the interrupt is repeated. */
const EVERY_MS = 20;

/** Interrupts a session's statements once a signal aborts, also those that begin later, until it is disposed. */
export function interruptOn(session: { interrupt(): void }, signal: AbortSignal | undefined): Disposable {
  let repeated: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    session.interrupt();
    repeated ??= setInterval(() => session.interrupt(), EVERY_MS);
  };
  if (signal?.aborted) interrupt();
  signal?.addEventListener("abort", interrupt, { once: true });
  return {
    [Symbol.dispose]() {
      signal?.removeEventListener("abort", interrupt);
      clearInterval(repeated);
    },
  };
}
