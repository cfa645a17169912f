import { ident } from "../db/quote.js";
import type { ViewBranch, ViewedTable } from "../db/views/raw-view.js";
import type { Lake } from "./lake.js";
import type { DataFile, Snapshot } from "./log/snapshot.js";
import { COPIES, type SqlCopyFile } from "./sql-copy/sql-copy.js";
import { branchOf, type FileBranch, viewBranches } from "./view-branches.js";

/** The source of a table's view: its live files, in branches by time where that makes queries faster. */
export function viewOf(lake: Lake, snapshot: Snapshot): ViewedTable {
  const branches = viewBranches(snapshot, isInStore(lake));
  if (branches === undefined) return lake.filesOf(snapshot);
  return {
    ...emptyView(lake, snapshot),
    branches: branches.map((branch) => fileRows(lake, snapshot, branch)),
  };
}

/**
 * The source of a table's view in a session that has attached a copy for SQL: the copied rows, and the files that are
 * not in the copy. These are of older or of newer months, so that a query of copied months reads no rows of them.
 */
export function copiedView(
  lake: Lake,
  snapshot: Snapshot,
  { kind, bars }: Pick<SqlCopyFile, "kind" | "bars">,
): ViewedTable {
  const columns = snapshot.columns.map(({ name }) => ident(name)).join(", ");
  const copied = `SELECT ${columns} FROM ${COPIES[kind].database}.${ident(snapshot.table.name)}`;
  const empty = emptyView(lake, snapshot);
  if (bars.files.length === snapshot.files.size) return { ...empty, copied };
  const own = branchOf(snapshot.table, bars.files);
  const inCopy = new Set(bars.files.map(({ path }) => path));
  const others = [...snapshot.files.values()].filter(({ path }) => !inCopy.has(path));
  const filesOf = (isPart: (file: DataFile) => boolean): ViewBranch[] => {
    const files = others.filter(isPart);
    if (files.length === 0) return [];
    const part = { ...snapshot, files: new Map(files.map((file) => [file.path, file])) };
    const branches = viewBranches(part, isInStore(lake)) ?? [branchOf(snapshot.table, files)];
    return branches.map((branch) => fileRows(lake, snapshot, branch));
  };
  const [first] = bars.files.map(monthOf).sort();
  const isOlder = (file: DataFile): boolean => monthOf(file) < (first ?? "");
  const branches = [
    ...filesOf(isOlder),
    { rows: copied, where: own.where },
    ...filesOf((file) => !isOlder(file)),
  ];
  return { ...empty, branches };
}

/** Whether a table has exactly the columns that this version knows: another version may have added some. */
export function hasColumnsOfSchema({ table, columns }: Pick<ViewedTable, "table" | "columns">): boolean {
  return (
    columns.length === table.columns.length &&
    columns.every(
      ({ name, type }, at) => name === table.columns[at]?.name && type === table.columns[at]?.type,
    )
  );
}

/** The source of a view without rows. */
export function emptyView(lake: Lake, snapshot: Snapshot): ViewedTable {
  return lake.filesOf(snapshot, []);
}

function fileRows(lake: Lake, snapshot: Snapshot, { files, where }: FileBranch): ViewBranch {
  return { rows: lake.filesOf(snapshot, files), where };
}

function monthOf({ partitionValues }: DataFile): string {
  return partitionValues.month ?? "";
}

function isInStore(lake: Lake): boolean {
  return lake.storage.access !== undefined;
}
