import { ident } from "../../db/quote.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { landBars } from "../../lake/land/land-bars.js";
import { landTradingDays } from "../../lake/land/trading-days.js";
import type { LandOptions, LandReport } from "../../lake/land/upsert.js";
import { finalEnds } from "../../market/sessions.js";
import { BARS_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS } from "../../schema/reference.js";
import { type ImportOptions, UNIT_FACTORS } from "./import-options.js";
import { plainName } from "./plan/field-names.js";
import {
  judgeDays,
  judgeMinutes,
  judgeUnits,
  type TimeVerdict,
  type UnitEvidence,
} from "./plan/judge-bars.js";
import { fileEvidence, unitEvidence } from "./rows/bar-evidence.js";
import { BarRows, type FileRule } from "./rows/bar-rows.js";
import type { FileGroup, OpenGroup } from "./rows/raw-rows.js";
import {
  type FileVerdict,
  type ImportWork,
  MOST_ROWS,
  type ReadGroup,
  type TableImport,
  undecided,
} from "./table-import.js";

/** The import of bars. */
export async function importBars(work: ImportWork, table: TableSchema): Promise<TableImport> {
  const rows = new BarRows(work.session, table, work.options, work.now);
  const staged = new TempTable(work.session, "staged_bars");
  const adjusted = new Set<number>();
  await rows.create();
  return {
    required: ["timestamp", "open", "high", "low", "close", "volume"],
    hasFileSymbols: true,
    add: async (open: OpenGroup, { chosen, group, mark }: ReadGroup, symbol) => {
      await rows.add(open, chosen, symbol, mark);
      for (const place of await adjustedFiles(work, open, group)) adjusted.add(place);
      return new Map();
    },
    remove: ({ places }: FileGroup) => rows.remove(places),
    oddRows: ({ places }: FileGroup) => rows.oddRows(places),
    judge: (reads) => judgeBars(work, table, rows, staged, reads, adjusted),
    preview: (place, limit) => rows.preview(place, limit),
    land: (lake, options) => landAll(work, table, rows, staged, lake, options),
    async [Symbol.asyncDispose]() {
      await work.session.run(`DROP VIEW IF EXISTS ${ident(staged.name)}`).catch(() => {});
      await rows[Symbol.asyncDispose]();
    },
  };
}

async function judgeBars(
  work: ImportWork,
  table: TableSchema,
  rows: BarRows,
  staged: TempTable,
  reads: readonly ReadGroup[],
  adjusted: ReadonlySet<number>,
): Promise<Map<number, FileVerdict>> {
  const { options, session, rejects } = work;
  await rows.read();
  const undecidedFiles = await rows.undecided(MOST_ROWS);
  const evidence = await fileEvidence(rows.source);
  const withAmount = reads.filter(({ chosen }) => chosen.fields.has("amount"));
  const units = await unitEvidence(
    rows.source,
    withAmount.flatMap(({ group }) => group.places),
  );
  const lots = await boardLots(work, rows);
  const rules: FileRule[] = [];
  const verdicts = new Map<number, FileVerdict>();
  for (const { group, chosen } of reads) {
    for (const [i, place] of group.places.entries()) {
      const file = group.files[i] as (typeof group.files)[number];
      const seen = evidence.get(place);
      // The lake's own exports are of its own forms.
      const known: ImportOptions =
        chosen.source?.name === "barlake"
          ? { ...options, barLabel: options.barLabel ?? "end", period: table === BARS_1D ? "1d" : "1m" }
          : options;
      const times: TimeVerdict =
        seen === undefined
          ? { utcDates: false, shift: 0, found: [], remarks: [] }
          : table === BARS_1D
            ? judgeDays(seen, known)
            : judgeMinutes(seen, known);
      const unit = judgeUnits(units.get(place) ?? NO_UNITS, chosen, options);
      const inLots = unit.volumeUnit === "lots";
      const missing = inLots && lots.missing.length > 0 ? noLots(lots.missing) : undefined;
      const unread = undecidedFiles.get(place);
      const refusal =
        unread === undefined
          ? (times.refusal ?? unit.refusal ?? missing ?? (adjusted.has(place) ? ADJUSTED : undefined))
          : undecided(unread);
      const noAmount = chosen.fields.has("amount") ? [] : ["no amount: it stays as the lake has it, or is 0"];
      verdicts.set(place, {
        refusal,
        found: [...times.found, ...unit.found],
        remarks: [...times.remarks, ...unit.remarks, ...noAmount],
        decided: {
          volumeUnit: unit.volumeUnit,
          amountUnit: unit.amountUnit,
          ...(table === BARS_1D ? {} : { barLabel: times.shift === 0 ? "end" : "start" }),
        },
      });
      rules.push({
        place,
        path: file.path,
        firstLine: file.csv?.dialect.firstLine ?? 1,
        isRefused: refusal !== undefined,
        utcDates: times.utcDates,
        shiftMinutes: times.shift,
        volumeFactor: unit.volumeUnit === "lots" ? undefined : UNIT_FACTORS[unit.volumeUnit],
        amountFactor: UNIT_FACTORS[unit.amountUnit],
      });
    }
  }
  await rows.decide(rules, lots.known);
  if ((await rows.bad()) > 0) await rejects.add(table.name, rows.rejectsSql());
  await session.run(`CREATE OR REPLACE TEMP VIEW ${ident(staged.name)} AS ${rows.stagedSql()}`);
  return verdicts;
}

const ADJUSTED = {
  reason: "its column adjustflag says that prices are adjusted (1 or 2)",
  hint: "fetch them with adjustflag 3: the lake adjusts prices itself, as of any date",
} as const;

/** The files whose rows say that their prices are adjusted, as those of baostock do. */
async function adjustedFiles(
  { session }: ImportWork,
  open: OpenGroup,
  { files }: FileGroup,
): Promise<number[]> {
  const index = files[0]?.columns.findIndex((name) => plainName(name) === "adjustflag") ?? -1;
  const column = open.columns[index];
  if (column === undefined) return [];
  const rows = await session.json<{ file: number }>(
    `SELECT DISTINCT file FROM ${open.from} WHERE trim(CAST(${column.sql} AS VARCHAR)) IN ('1', '2')`,
  );
  return rows.map(({ file }) => file);
}

const NO_UNITS: UnitEvidence = { rows: 0, agreeing: new Map() };

/** Board lots of Hong Kong: each instrument has its own, which the lake's instruments say. */
async function boardLots(
  { session, reference, options }: ImportWork,
  rows: BarRows,
): Promise<{ known: ReadonlyMap<string, number>; missing: readonly string[] }> {
  if (options.volumeUnit !== "lots") return { known: new Map(), missing: [] };
  const symbols = await rows.symbolsOf("HK");
  if (symbols.length === 0) return { known: new Map(), missing: [] };
  const live = await parquetRelation(session, reference.filesOf(await reference.snapshot(INSTRUMENTS)));
  const found = await session.json<{ symbol: string; lot: number }>(
    `SELECT symbol, lot_size AS lot FROM (${live}) WHERE valid_to IS NULL AND region = 'HK' AND lot_size > 0`,
  );
  const known = new Map(found.map(({ symbol, lot }) => [symbol, lot]));
  return { known, missing: symbols.filter((symbol) => !known.has(symbol)) };
}

function noLots(symbols: readonly string[]): NonNullable<FileVerdict["refusal"]> {
  const more = symbols.length > 3 ? ` and ${symbols.length - 3} more` : "";
  return {
    reason: `the board lot of ${symbols.slice(0, 3).join(", ")}${more} is not known`,
    hint: "each instrument of Hong Kong has its own: import instruments with lot_size first",
  };
}

async function* landAll(
  { session, rejects }: ImportWork,
  table: TableSchema,
  rows: BarRows,
  staged: TempTable,
  lake: Lake,
  options: LandOptions,
): AsyncGenerator<LandReport, void, undefined> {
  const finalEnd = finalEnds(options.now);
  const onCopied = () => rows.drop();
  yield await landBars(session, lake, table, staged.name, {
    ...options,
    rejects,
    finalEnd,
    merge: "keep",
    onCopied,
  });
  if (table !== BARS_1D) return;
  const days = await landTradingDays(session, lake, options);
  if (days.inserted + days.updated > 0) yield days;
}
