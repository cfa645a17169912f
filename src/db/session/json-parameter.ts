/** An escape of JSON; its group is a surrogate. JSON.stringify escapes only those surrogates that are not in a pair. */
const ESCAPE = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/gs;

/**
 * A value as JSON that DuckDB can parse. A surrogate without its other half, which JSON and JavaScript permit, has no
 * UTF-8: it becomes U+FFFD.
 *
 * @param names of the members that are written. @default all
 */
export function jsonParameter(value: unknown, names?: string[]): string {
  const text = JSON.stringify(value, names);
  if (!text.includes("\\ud")) return text;
  return text.replace(ESCAPE, (escape, surrogate?: string) => (surrogate === undefined ? escape : "\ufffd"));
}
