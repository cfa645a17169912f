import { doubleText } from "./byte-writer.js";

/** Most names of members whose text is cached. Records have a few hundred names; symbols as names are more numerous. */
const MOST_NAMES = 1024;
const names = new Map<string, string>();

/**
 * The JSON text of a plain value. The numbers of members that are doubles are written as by {@link doubleText}, others
 * as by JSON.stringify. Undefined members are left out. It makes no arrays of parts: the quotes of a universe are 5,000
 * small objects.
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

function nameText(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const text = `${JSON.stringify(name)}:`;
  if (names.size < MOST_NAMES) names.set(name, text);
  return text;
}
