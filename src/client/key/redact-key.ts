/** Shorter keys are parts of ordinary words, without which a text would not say anything. */
const SHORTEST_KEY = 8;

/**
 * Takes a key out of all texts of an error and of its causes: some services repeat the key that they refuse, and errors
 * reach logs, the ledger and other people.
 *
 * @returns the same error.
 */
export function redactKey(error: unknown, apiKey: string): unknown {
  if (apiKey.length < SHORTEST_KEY) return error;
  for (let one = error; one instanceof Error; one = one.cause) {
    const texts = one as unknown as Record<string, unknown>;
    for (const name of Object.getOwnPropertyNames(one)) {
      const text = texts[name];
      if (typeof text === "string" && text.includes(apiKey))
        texts[name] = text.replaceAll(apiKey, "[the key]");
    }
  }
  return error;
}
