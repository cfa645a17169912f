import { VERSION } from "../../core/version.js";
import type { NamedValues } from "../../db/session/named-values.js";
import { rowCount } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { Notebook } from "../notebook.js";
import type { CellRun, MostRows } from "../run-notebook.js";
import type { PageContent } from "./notebook-page.js";

/** Most rows of results that a page contains. */
export const PAGE_ROWS: MostRows = { table: (asked) => asked, chart: 50_000 };

/** The inputs of a page of a notebook. */
interface PageSource {
  readonly values: NamedValues;
  readonly runs: readonly CellRun[];
  readonly snapshots: readonly Snapshot[];
  /** The point in time of the lake, in epoch milliseconds; undefined: its newest version. */
  readonly asOf: number | undefined;
  /** When the page is created, in epoch milliseconds. */
  readonly madeAt: number;
}

/** The content of a page for a notebook that has run. */
export function pageContent(
  { title, path }: Notebook,
  { values, runs, snapshots, asOf, madeAt }: PageSource,
): PageContent {
  const tables = snapshots.map((snapshot) => ({
    name: snapshot.table.name,
    version: snapshot.version,
    rows: rowCount(snapshot),
  }));
  return { title, path, parameters: parameterTexts(values), runs, tables, asOf, madeAt, version: VERSION };
}

/** The values of parameters as texts. */
export function parameterTexts(values: NamedValues): [name: string, value: string][] {
  return [...values].map(([name, { value }]) => [name, value === null ? "null" : String(value)]);
}
