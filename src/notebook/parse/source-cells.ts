import { directiveOn, parameterIn } from "./directive-line.js";

/**
 * Divides a notebook's text into the pieces that a user edits. Each piece begins at a line `-- %%`; declarations of
 * parameters belong to the cell above them. The joined pieces equal the text, byte for byte.
 */
export function sourceCells(text: string): string[] {
  const starts: number[] = [];
  let at = 0;
  for (const line of text.split("\n")) {
    const shown = at === 0 ? line.replace(/^\uFEFF/, "") : line;
    const directive = directiveOn(shown.replace(/\r$/, ""));
    if (at === 0 || (directive !== undefined && parameterIn(directive) === undefined)) starts.push(at);
    at += line.length + 1;
  }
  return starts.map((start, index) => text.slice(start, starts[index + 1]));
}
