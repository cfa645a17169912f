/** A line of a text, and its line end, which is empty for the last line. */
type Line = readonly [content: string, ending: string];

/**
 * A text after a change in an editor that uses only `\n` as line end. Unchanged lines retain their line ends; new lines
 * get the line end of the first line.
 *
 * @param before the text before the change.
 * @param edited the text from the editor.
 */
export function editedText(before: string, edited: string): string {
  const old = linesOf(before);
  const now = linesOf(edited);
  const isSame = (a: Line | undefined, b: Line | undefined): boolean => a !== undefined && a[0] === b?.[0];
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && isSame(old[head], now[head])) head++;
  let tail = 0;
  while (tail < shorter - head && isSame(old[old.length - 1 - tail], now[now.length - 1 - tail])) tail++;
  const usual = old[0]?.[1] || "\n";
  return now
    .map(([content, ending], at) => {
      if (ending === "") return content;
      const was =
        at < head ? old[at] : at >= now.length - tail ? old[at - now.length + old.length] : undefined;
      return content + (was?.[1] || usual);
    })
    .join("");
}

function linesOf(text: string): Line[] {
  return [...text.matchAll(/(.*?)(\r\n?|\n|$)/gsy)]
    .map(([, content = "", ending = ""]): Line => [content, ending])
    .filter(([content, ending], at, all) => content + ending !== "" || at === all.length - 1);
}
