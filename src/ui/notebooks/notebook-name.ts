import { UsageError } from "../../core/errors.js";

/** Bytes that file systems permit in a name are 255; a temporary name adds some to it. */
const MOST_BYTES = 180;

/**
 * Checks the name of a notebook that is to be saved, which is its file's name without `.sql`: letters, digits, and among
 * them blanks and `. _ - ( ) + ,`. So it leads to no other folder, is hidden by no system, and means the same in a shell.
 *
 * @throws {UsageError} with the rule.
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
