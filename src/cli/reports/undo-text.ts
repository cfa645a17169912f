/**
 * The command that undoes a commit: the table gets the rows again that it had before. The first commit of a table has
 * nothing before it, so the table becomes empty.
 *
 * @param made the table, and the version that the commit made. A landing that changed nothing has made none: its report
 *   has no added file.
 */
export function undoCommand({
  table,
  version,
}: {
  readonly table: string;
  readonly version: number;
}): string {
  return `barlake restore ${table} ${version === 0 ? "--empty" : `--version ${version - 1}`}`;
}
