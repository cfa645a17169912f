import type { PlainValue } from "../../db/result/row-reader.js";

/** A value as text on one line; undefined for a missing value. Control characters for terminals are escaped. */
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

/** Whether values of an SQL type are numbers, which are aligned right. */
export function isNumeric(type: string): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|BIGNUM)$/.test(type);
}

/** Whether values of an SQL type are dates or times. */
export function isTemporal(type: string): boolean {
  return /^(DATE|TIMESTAMP.*)$/.test(type);
}
