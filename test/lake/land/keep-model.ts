import { ident, literal } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { landBars } from "../../../src/lake/land/land-bars.js";
import type { Rejects } from "../../../src/lake/land/rejects.js";
import type { LandReport } from "../../../src/lake/land/upsert.js";
import { KLINE_COLUMNS } from "../../../src/schema/bars.js";
import { DUCKDB_TYPE, type TableSchema } from "../../../src/schema/column.js";
import { liveRows, T0 } from "../temporary-lake.js";

/** Columns that a file may lack. */
export const OPTIONAL = ["amount", "open_interest", "prev_close", "settlement_price"] as const;
type Optional = (typeof OPTIONAL)[number];

/** One row of a file; what it does not say is missing. */
export interface FileBar extends Readonly<Partial<Record<Optional, number>>> {
  readonly symbol: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly close: number;
  readonly volume: number;
  readonly lot: number;
}

/** The values of a bar of the lake. */
export interface KeptBar extends Readonly<Record<Optional, number | null>> {
  readonly close: number;
  readonly volume: number;
  readonly lot: number;
  readonly isFinal: boolean;
}

export type Kept = ReadonlyMap<string, KeptBar>;

const keyOf = ({ symbol, at }: Pick<FileBar, "symbol" | "at">): string => `${symbol} ${at}`;

/** What landing the rows of files does, row by row: the files in their order, each with its rows in their order. */
export function keptAfter(
  before: Kept,
  files: readonly (readonly FileBar[])[],
  isFinal: (at: number) => boolean,
): { readonly after: Kept; readonly report: Partial<LandReport>; readonly replaced: readonly string[] } {
  const all = files.flatMap((rows, file) =>
    rows.map((row, line) => ({ ...row, source: `file ${file}`, line })),
  );
  const byKey = new Map<string, typeof all>();
  for (const row of all) byKey.set(keyOf(row), [...(byKey.get(keyOf(row)) ?? []), row]);
  const after = new Map(before);
  const report = { inserted: 0, updated: 0, unchanged: 0 };
  const replaced: string[] = [];
  for (const [key, rows] of byKey) {
    const last = rows.at(-1) as (typeof rows)[number];
    const said = Object.assign({}, ...rows) as FileBar;
    for (const row of rows.slice(0, -1)) {
      const isOther =
        row.close !== said.close ||
        row.volume * row.lot !== last.volume * last.lot ||
        OPTIONAL.some((name) => row[name] !== undefined && row[name] !== said[name]);
      if (isOther) replaced.push(`${row.source} ${row.line}`);
      else report.unchanged += 1;
    }
    const known = before.get(key);
    const isSame = known !== undefined && known.volume * known.lot === last.volume * last.lot;
    const { volume, lot } = isSame ? known : last;
    const others = Object.fromEntries(OPTIONAL.map((name) => [name, said[name] ?? known?.[name] ?? null]));
    const bar: KeptBar = {
      ...(others as Record<Optional, number | null>),
      amount: said.amount ?? known?.amount ?? 0,
      close: said.close,
      volume,
      lot,
      isFinal: known?.isFinal === true || isFinal(last.at),
    };
    after.set(key, bar);
    if (known === undefined) report.inserted += 1;
    else if (JSON.stringify(toRow(bar)) === JSON.stringify(toRow(known))) report.unchanged += 1;
    else report.updated += 1;
  }
  return { after, report, replaced: replaced.sort() };
}

/** The values of a bar in one order. */
function toRow(bar: KeptBar): unknown[] {
  return [bar.close, bar.volume, bar.lot, bar.isFinal, ...OPTIONAL.map((name) => bar[name])];
}

/** Lands the rows of files as an import does. @param lacking the columns that no file has. */
export async function landFiles(
  session: Session,
  lake: Lake,
  table: TableSchema,
  files: readonly (readonly FileBar[])[],
  options: {
    readonly rejects: Rejects;
    /** Epoch milliseconds. */
    readonly finalEnd: number;
    readonly lacking?: readonly string[];
    readonly now?: number;
  },
): Promise<LandReport> {
  const names = KLINE_COLUMNS.filter(({ name }) => options.lacking?.includes(name) !== true);
  const ddl = names.map(({ name, type }) => `${ident(name)} ${DUCKDB_TYPE[type]}`);
  await session.run(`CREATE OR REPLACE TEMP TABLE "files" (symbol VARCHAR, region VARCHAR, timestamp TIMESTAMPTZ, trade_date DATE,
    ${ddl.join(", ")}, lot INTEGER, source VARCHAR, line BIGINT, ordinal BIGINT)`);
  const rows = files.flatMap((bars, file) =>
    bars.map((bar, line) => {
      const number = (name: string): string => String(bar[name as Optional] ?? "NULL");
      const values = names.map(({ name }) => {
        if (name === "open" || name === "close") return number("close");
        if (name === "high") return "20";
        return name === "low" ? "1" : number(name);
      });
      const at = `make_timestamptz(${bar.at * 1000}::BIGINT)`;
      const date = `CAST(timezone('Asia/Shanghai', ${at}) AS DATE)`;
      return `(${literal(bar.symbol)}, 'CN', ${at}, ${date}, ${values.join(", ")}, ${bar.lot}, 'file ${file}', ${line}, ${file * 1e6 + line})`;
    }),
  );
  // The rows are in another order than the files: only the ordinal says which one is later.
  if (rows.length > 0) await session.run(`INSERT INTO "files" VALUES ${rows.toReversed().join(", ")}`);
  const { rejects, finalEnd, now = T0 } = options;
  return landBars(session, lake, table, "files", {
    operation: "TEST",
    runId: "test",
    now,
    finalEnd: { CN: finalEnd, HK: finalEnd, US: finalEnd },
    rejects,
    merge: "keep",
  });
}

/** The bars of the lake. @throws where a key occurs twice. */
export async function keptIn(session: Session, lake: Lake, table: TableSchema): Promise<Kept> {
  const rows = await liveRows<KeptBar & { symbol: string; at: number }>(
    session,
    lake,
    table,
    `SELECT symbol, epoch_ms(timestamp)::DOUBLE AS at, close, volume::DOUBLE AS volume, lot, is_final AS "isFinal", ${OPTIONAL.join(", ")} FROM live`,
  );
  const kept = new Map(rows.map(({ symbol, at, ...bar }) => [keyOf({ symbol, at }), bar]));
  if (kept.size !== rows.length) throw new Error("a key occurs twice");
  return kept;
}
