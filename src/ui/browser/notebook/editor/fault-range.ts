/** The part of a line that is underlined: the word at the column, else the whole line without blanks at its ends. */
export function faultRange(
  line: string,
  column: number | null,
): { readonly from: number; readonly to: number } {
  if (column === null) {
    const from = line.length - line.trimStart().length;
    return { from, to: Math.max(from, line.trimEnd().length) };
  }
  const from = Math.min(column, line.length);
  const [word = ""] = /^(?:[\p{L}\p{N}_$.]+|[^\s]?)/u.exec(line.slice(from)) ?? [];
  // At the end of a line, its last character is underlined.
  return word === "" ? { from: Math.max(0, from - 1), to: from } : { from, to: from + word.length };
}
