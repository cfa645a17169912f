import { parseISO } from "date-fns/parseISO";
import { UsageError } from "../core/errors.js";
import { parseTradingDate, type TradingDate } from "../core/time.js";
import type { KnownAt } from "../market/known-at.js";

/** An instant: epoch milliseconds, a Date, or ISO 8601 text, which is in UTC where it names no zone. */
export type TimeInput = number | Date | string;

const DATE = /^\d{4}-?\d{2}-?\d{2}$/;
const ZONE = /(?:Z|[+-]\d{2}(?::?\d{2})?)$/i;

/** Whether a text is a date without a time. */
export function isDateText(time: TimeInput): boolean {
  return typeof time === "string" && DATE.test(time);
}

/** Epoch milliseconds of an instant. @param name of the option. @throws {UsageError} naming the option. */
export function epochMsOf(name: string, time: TimeInput): number {
  const ms = typeof time === "string" ? textMs(time) : Number(time);
  if (Number.isInteger(ms)) return ms;
  const given = typeof time === "string" ? JSON.stringify(time.slice(0, 64)) : String(time);
  throw new UsageError(`${name}: ${given} is no time`, {
    hint: "give epoch milliseconds, a Date, or a text like 2026-11-20T08:30:00Z",
  });
}

/** An instant, or a date without a time. @param name of the option. @throws {UsageError} naming the option. */
export function knownAtOf(name: string, time: TimeInput): KnownAt {
  return typeof time === "string" && isDateText(time) ? dateOption(name, time) : epochMsOf(name, time);
}

/** Epoch milliseconds of ISO text; NaN where it is none. */
export function textMs(text: string): number {
  if (isDateText(text)) return parseISO(`${text}T00:00:00Z`).getTime();
  return parseISO(ZONE.test(text.replace(/^\d{4}-?\d{2}-?\d{2}/, "")) ? text : `${text}Z`).getTime();
}

/** A date of an option. @param name of the option, with its subject. @throws {UsageError} naming the option. */
export function dateOption(name: string, date: string): TradingDate {
  try {
    return parseTradingDate(date);
  } catch (cause) {
    const given = JSON.stringify(date.slice(0, 64));
    throw new UsageError(`${name}: ${given} is not a date`, { hint: "write it as YYYY-MM-DD", cause });
  }
}

/**
 * Refuses options that do not exist: `asof` instead of `asOf` would read the newest data without a warning.
 * TypeScript checks only objects that are written in the call itself.
 *
 * @param what names the call in the error.
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
