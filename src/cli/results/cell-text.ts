import type { PlainValue } from "../../db/row-reader.js";

/** A value as a text on one line; undefined for a missing one. Characters that a terminal would obey are escaped. */
export function cellText(value: PlainValue | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  return String(value).replace(CONTROL, escaped);
}

const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return NAMED[character] ?? `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Whether values of a type in SQL are numbers, which are set to the right. */
export function isNumeric(type: string): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|BIGNUM)$/.test(type);
}

/** Whether values of a type in SQL are dates or moments. */
export function isTemporal(type: string): boolean {
  return /^(DATE|TIMESTAMP.*)$/.test(type);
}
