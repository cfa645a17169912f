import type { RestoredLake } from "../../jobs/maintenance/restore-lake.js";
import type { HistoryEntry } from "../../lake/log/history.js";
import type { RestoreReport } from "../../lake/maintenance/restore-table.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { REQUESTS } from "../../schema/runs.js";
import { count, paint, table } from "../text.js";

/**
 * The command that undoes a commit: the table gets the rows again that it had before. The first commit of a table has
 * nothing before it, so the table becomes empty.
 *
 * @param made the table, and the version that the commit made. A landing that changed nothing has made none: its report
 *   has no added file.
 */
export function undoCommand({
  table: name,
  version,
}: {
  readonly table: string;
  readonly version: number;
}): string {
  return `barlake restore ${name} ${version === 0 ? "--empty" : `--version ${version - 1}`}`;
}

interface RestoreSummary {
  /** The tables whose rows differ from those of the target. */
  readonly changed: readonly RestoreReport[];
  /** What a restore of these tables alone leaves as it is, and what the next run does. */
  readonly notes: readonly string[];
  /** The command that restores the rest of the lake, too; undefined where nothing is left. */
  readonly restoreAll: string | undefined;
  /** The commands that undo the restore; none where nothing was changed. */
  readonly undo: readonly string[];
}

export function restoreSummary({
  reports,
  related,
}: Pick<RestoredLake, "reports" | "related">): RestoreSummary {
  const changed = reports.filter(isChanged);
  return {
    changed,
    notes: notesOf(changed, related.changes),
    restoreAll:
      related.asOf === undefined
        ? undefined
        : `barlake restore --as-of ${new Date(related.asOf).toISOString()}`,
    undo: undoCommands(changed),
  };
}

/** One command for several tables, where a time lies between the versions before and after. */
function undoCommands(changed: readonly RestoreReport[]): readonly string[] {
  const made = changed.flatMap(({ table: name, version }) =>
    version === undefined ? [] : [undoCommand({ table: name, version })],
  );
  const before = Math.max(...changed.map(({ replacedAt = Number.NaN }) => replacedAt));
  const after = Math.min(...changed.map(({ restoredAt = Number.NaN }) => restoredAt));
  return made.length > 1 && before < after
    ? [`barlake restore --as-of ${new Date(before).toISOString()}`]
    : made;
}

function isChanged({ filesAdded, filesRemoved }: RestoreReport): boolean {
  return filesAdded + filesRemoved > 0;
}

function notesOf(
  changed: readonly RestoreReport[],
  related: RestoredLake["related"]["changes"],
): readonly string[] {
  const notes: string[] = [];
  if (related.length > 0) {
    const tables = related.map(({ table: name, commits }) => `${name} (${versionsOf(commits)})`);
    notes.push(
      `the same runs have also changed ${tables.join(", ")}; this leaves ${related.length === 1 ? "it" : "them"} as before`,
    );
  }
  const names = changed.map(({ table: name }) => name);
  if (related.some(({ table: name }) => name === REQUESTS.name))
    notes.push(
      "the ledger (requests) still has the responses of these runs: barlake run does not ask for them again, until the ledger is restored, too",
    );
  if (names.includes(REQUESTS.name))
    notes.push(
      "the ledger (requests) is what it was: the next barlake run asks again for what it no longer has, and lands what differs",
    );
  const isImport = changed.some(
    ({ table: name, undone }) =>
      [BARS_1D.name, BARS_1M.name].includes(name) && undone.some(({ operation }) => operation === "IMPORT"),
  );
  if (isImport) notes.push("the imported files can be imported again, with the same result");
  return notes;
}

function versionsOf(commits: readonly HistoryEntry[]): string {
  const versions = commits.map(({ version }) => version).toReversed();
  if (versions.length === 1) return `version ${versions[0]}`;
  return versions.length <= 4
    ? `versions ${versions.join(", ")}`
    : `${versions.length} versions, ${versions[0]} to ${versions.at(-1)}`;
}

export function restoreText({ changed, notes, restoreAll, undo }: RestoreSummary, isDry: boolean): string {
  const rows = changed.map((one) => [
    one.table,
    one.from,
    one.to ?? "empty",
    `${rowsText(one.rowsBefore)} -> ${rowsText(one.rowsAfter)}`,
    `+${rowsText(one.rowsAdded)} -${rowsText(one.rowsRemoved)}`,
    `+${count(one.filesAdded)} -${count(one.filesRemoved)}`,
    undoneText(one.undone),
  ]);
  const lines = [
    table(["table", "version", "restored", "rows", "rows in files", "files", "undone"], rows),
    "",
  ];
  lines.push(...notes);
  if (restoreAll !== undefined) lines.push(`to restore that, too: ${paint("cyan", restoreAll)}`);
  if (isDry) lines.push("nothing was changed: this was a dry run");
  else lines.push(`undo: ${undo.map((command) => paint("cyan", command)).join("; ")}`);
  return lines.join("\n");
}

function rowsText(rows: number | undefined): string {
  return rows === undefined ? "?" : count(rows);
}

/** The kinds of the undone commits: `2 INGEST, 1 IMPORT`. */
function undoneText(undone: readonly HistoryEntry[]): string {
  const kinds = new Map<string, number>();
  for (const { operation = "other" } of undone) kinds.set(operation, (kinds.get(operation) ?? 0) + 1);
  return [...kinds].map(([kind, n]) => `${count(n)} ${kind}`).join(", ");
}
