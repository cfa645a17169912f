import { UsageError } from "../../core/errors.js";

/** Most bytes of a name. File systems permit 255, and a temporary name is longer by some. */
const MOST_BYTES = 180;

/**
 * Checks the name under which a notebook is saved, which is the name of its file without `.sql`. Permitted are letters,
 * digits, and between them blanks and `. _ - ( ) + ,`. Such a name cannot lead to another folder, is not hidden by any
 * system, and has no special meaning in a shell.
 *
 * @throws {UsageError} with the rule that the name breaks.
 */
export function expectNotebookName(name: string): void {
  const reason = faultOf(name);
  if (reason === undefined) return;
  throw new UsageError(`the name ${JSON.stringify(name.slice(0, 80))} ${reason}`, {
    hint: "letters and digits, and among them blanks and . _ - ( ) + , make a name",
  });
}

function faultOf(name: string): string | undefined {
  if (name === "") return "is empty";
  if (/[/\\]/.test(name)) return "leads to another folder";
  if (name.startsWith(".")) return "begins with a dot";
  if (/\.sql$/i.test(name)) return "ends with .sql, which is added to it";
  if (Buffer.byteLength(name) > MOST_BYTES) return `has more than ${MOST_BYTES} bytes`;
  if (!/^[\p{L}\p{N}_](?:[\p{L}\p{N}\p{M} ._()+,-]*[\p{L}\p{N}\p{M}_)+])?$/u.test(name))
    return "has a character that no name has";
  return undefined;
}
