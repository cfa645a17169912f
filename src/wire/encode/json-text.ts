import { doubleText } from "./double-text.js";

/** Most names of members whose text is cached. Records have some hundred; symbols as names come in larger numbers. */
const MOST_NAMES = 1024;
const names = new Map<string, string>();

/**
 * The JSON text of a plain value, in which the numbers of some members are written as {@link doubleText} does: with a
 * fraction also where it is zero. Members that are undefined are left out. A universe of quotes is 5,000 small objects:
 * the text is concatenated without arrays of its parts, which takes half the time.
 *
 * @param isDouble whether a member's numbers are doubles; the others are written as JSON.stringify does.
 */
export function jsonText(value: unknown, isDouble: (member: string) => boolean): string {
  return textOf(value, false, isDouble);
}

function textOf(value: unknown, asDouble: boolean, isDouble: (member: string) => boolean): string {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return "null";
    return asDouble ? doubleText(value) : String(value);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === "" ? "" : ","}${textOf(item, asDouble, isDouble)}`;
    return `[${text}]`;
  }
  for (const name of Object.keys(value)) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${nameText(name)}${textOf(member, isDouble(name), isDouble)}`;
  }
  return `{${text}}`;
}

/** A member's name as it is written before its value. */
function nameText(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const text = `${JSON.stringify(name)}:`;
  if (names.size < MOST_NAMES) names.set(name, text);
  return text;
}
