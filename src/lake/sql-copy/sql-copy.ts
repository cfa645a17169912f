import { join } from "node:path";
import type { QueryValues } from "../../db/session/named-values.js";
import { hashOf } from "../../db/views/raw-view.js";
import { BARS_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../../schema/statements.js";
import { hashInName } from "../files/data-file.js";
import { rowsOfFiles } from "../files/prune.js";
import type { Snapshot } from "../log/snapshot.js";
import { EX_RULE_TABLES } from "../segments/bar-reader.js";
import type { SegmentPlace } from "../segments/segment-folder.js";
import { type CopiedFiles, copiedMinutes } from "./copied-months.js";

/** Estimated bytes of a daily bar in the copy, with what follows from it. */
const DAY_BYTES = 60;
/** With fewer bars than this, a query of the Parquet files takes no longer than one of a copy. */
const LEAST_ROWS = 200_000;

/**
 * What a copy for SQL has: daily bars with what follows from them and from statements, or bars of minutes, and minutes.
 */
export type CopyKind = "days" | "minutes";

interface CopyNames {
  readonly database: string;
  /** The folder of the copies, within the folder of the lake's segments. */
  readonly folder: string;
}

/** The end of the name of a copy's file, after its key. */
export const COPY_SUFFIX = ".duckdb";
/** It changes whenever copies get other rows or tables of the same lake and the same views. */
export const COPY_FORMAT = "6";

export const COPIES: Readonly<Record<CopyKind, CopyNames>> = {
  days: { database: "barlake_copy", folder: "sql" },
  minutes: { database: "barlake_minutes", folder: "sql-minutes" },
};

/** A view whose rows are in the copy, because computing them takes longer than using them. */
interface CopiedView {
  readonly schema: "main" | "raw";
  readonly name: string;
  /** The order of its rows, so that a query of one symbol reads few of them. */
  readonly order: string;
}

const STATEMENTS = [BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES];

export const COPIED_VIEWS: readonly CopiedView[] = [
  { schema: "main", name: "restated_closes", order: "symbol, trade_date" },
  { schema: "main", name: "ex_events", order: "symbol, ex_date" },
  { schema: "main", name: "price_stretches", order: "symbol, start_date" },
  ...STATEMENTS.map(({ name }) => ({
    schema: "raw" as const,
    name: `known_${name}`,
    order: "symbol, known_from",
  })),
];

const SOURCES: readonly TableSchema[] = [BARS_1D, ...EX_RULE_TABLES, ...STATEMENTS];

export interface SqlCopyFile {
  readonly kind: CopyKind;
  readonly path: string;
  /** A hash of what the copy is made from. The copy of any other state, or with other views, has another hash. */
  readonly key: string;
  readonly rows: number;
  /** Its estimated size. */
  readonly bytes: number;
  /** The table whose rows are in the copy, and the files with these rows; none where it has no minutes. */
  readonly bars: CopiedFiles;
  /** All files that the copy is derived from; those of bars are the first. */
  readonly sources: readonly [CopiedFiles, ...CopiedFiles[]];
}

/**
 * Where the copies for SQL of a state of a lake are, or will be once they are built.
 *
 * @param views a text that identifies the definitions of all views.
 * @param now epoch milliseconds.
 * @returns fewer than one of each kind where a state has no such copy: for a table that cannot be read, files of other
 *   programs, or few bars.
 */
export function sqlCopyFiles(
  snapshots: readonly Snapshot[],
  place: SegmentPlace,
  views: string,
  now: number,
): SqlCopyFile[] {
  const [daily, ...others] = SOURCES.flatMap(({ name }) =>
    snapshots.filter(({ table }) => table.name === name),
  );
  const minutes = copiedMinutes(snapshots, place, now);
  const contents: CopyContent[] = [];
  if (daily !== undefined && others.length === SOURCES.length - 1) {
    const bars = allFiles(daily);
    const bytes = rowsOfFiles(bars.files) * DAY_BYTES;
    contents.push({ kind: "days", bars, sources: [bars, ...others.map(allFiles)], bytes });
  }
  if (minutes !== undefined) {
    const { aggregated, copied, bytes } = minutes;
    contents.push({ kind: "minutes", bars: copied, sources: [aggregated], bytes });
  }
  return contents.flatMap((content) => copyFile(content, place, views));
}

function allFiles(snapshot: Snapshot): CopiedFiles {
  return { snapshot, files: [...snapshot.files.values()] };
}

type CopyContent = Pick<SqlCopyFile, "kind" | "bars" | "sources" | "bytes">;

/** @returns nothing where there is no such copy. */
function copyFile(
  content: CopyContent,
  { folder, copyFrom = LEAST_ROWS }: SegmentPlace,
  views: string,
): SqlCopyFile[] {
  const { kind, bars, sources } = content;
  // Only names of files of this program contain a hash of the content. Another program may write other rows to the same
  // name.
  const isOwn = sources.every(({ files }) => files.every(({ path }) => hashInName(path) !== undefined));
  if (!isOwn) return [];
  const rows = rowsOfFiles(sources[0].files);
  if (rows < copyFrom || !Number.isFinite(rows)) return [];
  const texts = [bars, ...sources].map(({ snapshot: { table, columns }, files }) =>
    JSON.stringify([table.name, columns, files.map(({ path }) => path).sort()]),
  );
  const key = hashOf([COPY_FORMAT, views, ...texts]);
  return [{ ...content, path: join(folder, COPIES[kind].folder, `${key}${COPY_SUFFIX}`), key, rows }];
}

/** SQL does not distinguish capital letters in names, but a period of months is 1M. */
const TABLE = /bars_1m/i;
const PERIOD = /'(?:1|5|10|15|30|60)m'/;

/**
 * Whether a copy of a kind may pay for a query. Minutes take much space, so they are copied only for queries that name
 * them, and not for those of a user's view that reads minutes.
 */
export function asksFor(kind: CopyKind, sql: string, values: QueryValues = {}): boolean {
  const texts = Object.values(values).map((value) => `'${String(value)}'`);
  return kind === "days" || TABLE.test(sql) || [sql, ...texts].some((text) => PERIOD.test(text));
}
