/** Characters that have a meaning in a regular expression. */
const SPECIAL = /[.*+?^${}()|[\]\\/]/g;

/**
 * The names that a pattern means: `*` is any text and `?` any character within a folder's name or a file's, `**` any
 * number of folders, `{a,b}` one of several. Names that begin with a dot are meant only by a pattern that begins with
 * one: programs that copy files call them so until they are whole.
 *
 * @returns whether a name, relative to the folder and with `/` between its parts, is meant.
 */
export function namePattern(pattern: string): (name: string) => boolean {
  const parts = pattern.split("/");
  const sources = parts.map((part, i) => {
    const isLast = i === parts.length - 1;
    if (part === "**") return isLast ? `(?:${VISIBLE}/)*${VISIBLE}` : `(?:${VISIBLE}/)*`;
    return `${partSource(part)}${isLast ? "" : "/"}`;
  });
  const expression = new RegExp(`^${sources.join("")}$`, "u");
  return (name) => expression.test(name);
}

/** Why a text is no pattern; undefined where it is one. */
export function patternFault(pattern: string): string | undefined {
  if (pattern === "") return "must name files, such as *.csv.gz";
  if (
    pattern.startsWith("/") ||
    pattern.split("/").some((part) => part === ".." || part === "." || part === "")
  )
    return "must be relative to the folder, such as *.csv.gz or **/*.csv.gz";
  if (/[{}]/.test(pattern.replaceAll(/\{[^{}/]*\}/g, "")))
    return "has a brace that is not closed, or in another one";
  return undefined;
}

/** A part of a name that does not begin with a dot. */
const VISIBLE = "(?!\\.)[^/]+";

function partSource(part: string): string {
  const pieces = part.split(/(\{[^{}]*\}|\*+|\?)/).filter((piece) => piece !== "");
  const source = pieces.map((piece) => {
    if (/^\*+$/.test(piece)) return "[^/]*";
    if (piece === "?") return "[^/]";
    if (/^\{.*\}$/.test(piece)) return `(?:${piece.slice(1, -1).split(",").map(partSource).join("|")})`;
    return piece.replaceAll(SPECIAL, "\\$&");
  });
  return `${/^[*?{]/.test(part) ? "(?!\\.)" : ""}${source.join("")}`;
}
