import { UsageError } from "../core/errors.js";

/**
 * Refuses options that do not exist: `asof` instead of `asOf` would read the newest data without a warning.
 * TypeScript checks only objects that are written in the call itself.
 *
 * @param what names the call in the error. @param known names of its options.
 * @throws {UsageError} for another name, with those that exist.
 */
export function expectOptions(what: string, options: object, known: readonly string[]): void {
  const stranger = Object.keys(options).find((name) => !known.includes(name));
  if (stranger !== undefined)
    throw new UsageError(`${what}: there is no option ${JSON.stringify(stranger.slice(0, 64))}`, {
      hint: `options: ${known.join(", ")}`,
    });
}

/** Refuses a first argument that is no text, as in a call from JavaScript that leaves it out. @throws {UsageError} */
export function expectText(what: string, value: unknown, hint: string): void {
  if (typeof value !== "string") throw new UsageError(`${what}: the first argument is not a text`, { hint });
}

/** Refuses an option that is given and is not a list of texts. @throws {UsageError} */
export function expectTexts(what: string, option: string, value: unknown): void {
  if (value === undefined) return;
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return;
  throw new UsageError(`${what}: ${option} is not a list of texts`, {
    hint: `write it as a list, such as ${option}: ["…"]`,
  });
}
