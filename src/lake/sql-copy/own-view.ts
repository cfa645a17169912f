import { basename } from "node:path";
import { OWN_VIEWS, readViewTree } from "../../db/views/view-files.js";

/** The statements of a file of `sql/views`. */
interface OwnView {
  /** Creates the view or macro. */
  readonly create: string;
  /** The comments on it, after a line break. */
  readonly comments: string;
}

/** The statements that create one of the program's own views or macros. @throws {Error} where there is none. */
export function ownView(name: string): OwnView {
  const file = readViewTree(OWN_VIEWS).find(({ path }) => basename(path, ".sql") === name);
  if (file === undefined) throw new Error(`sql/views has no ${name}`);
  const at = file.sql.indexOf("\nCOMMENT ON");
  return { create: file.sql.slice(0, at), comments: file.sql.slice(at) };
}

/** The statement of the comments on one of the program's own views or macros, after a line break. */
export function commentOf(name: string): string {
  return ownView(name).comments;
}
