/** Parts of a path that browsers take for a step between folders, also where they are encoded. */
const STEP = /^~*\.{1,2}$/;

/** Any text as one part of an address's path; `.` and `..` get a `~`. */
export function pathPart(text: string): string {
  return encodeURIComponent(STEP.test(text) ? `~${text}` : text);
}

/** The text of a part of a path; one that cannot be decoded is taken unchanged. */
export function textOfPart(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    return part;
  }
  return text.startsWith("~") && STEP.test(text) ? text.slice(1) : text;
}
