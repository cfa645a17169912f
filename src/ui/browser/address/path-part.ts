/** Parts of a path that browsers resolve as steps between folders, even where they are encoded. */
const STEP = /^~*\.{1,2}$/;

/** Encodes any text as one part of an address's path; `.` and `..` get a `~` in front. */
export function pathPart(text: string): string {
  return encodeURIComponent(STEP.test(text) ? `~${text}` : text);
}

/** The text of a part of a path. A part that cannot be decoded is used unchanged. */
export function textOfPart(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    return part;
  }
  return text.startsWith("~") && STEP.test(text) ? text.slice(1) : text;
}
