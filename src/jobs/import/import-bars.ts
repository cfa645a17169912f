import { UsageError } from "../../core/errors.js";
import { firstNames } from "../../core/text-order.js";
import { ident, literal } from "../../db/quote.js";
import { TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { landBars } from "../../lake/land/land-bars.js";
import { landActions } from "../../lake/land/land-versions.js";
import { landTradingDays } from "../../lake/land/trading-days.js";
import type { LandOptions, LandReport } from "../../lake/land/upsert.js";
import { finalEnds } from "../../market/sessions.js";
import { CORPORATE_ACTIONS } from "../../schema/actions.js";
import { BARS_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS } from "../../schema/reference.js";
import { type ImportOptions, UNIT_FACTORS } from "./import-options.js";
import { fieldNames, plainName } from "./plan/field-names.js";
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
import { BESIDE, judgeSplits, type SplitVerdict, stageBarActions, undoSplits } from "./rows/split-bars.js";
import {
  type FileVerdict,
  type ImportWork,
  MOST_ROWS,
  type ReadGroup,
  type Refusal,
  type TableImport,
  undecided,
} from "./table-import.js";
import { stemOf } from "./text/whole-file.js";

export async function importBars(work: ImportWork, table: TableSchema): Promise<TableImport> {
  const rows = new BarRows(work.session, table, work.options, work.now);
  const staged = new TempTable(work.session, "staged_bars");
  const adjusted = new Set<number>();
  const actions: StagedActions = { table: new TempTable(work.session, "staged_actions"), rows: 0 };
  await rows.create();
  return {
    required: ["timestamp", "open", "high", "low", "close", "volume"],
    hasFileSymbols: true,
    add: async (open: OpenGroup, { chosen, group, mark }: ReadGroup, symbol) => {
      await rows.add(open, chosen, symbol, mark);
      if (rows.hasDoubtfulNumbers) await expectOneHeader(work, open, group, chosen);
      await expectOneDate(work, open, group, chosen);
      for (const place of await adjustedFiles(work, open, group)) adjusted.add(place);
      return new Map();
    },
    remove: ({ places }: FileGroup) => rows.remove(places),
    oddRows: async () => Number(rows.hasDoubtfulNumbers),
    judge: (reads) => judgeBars(work, table, rows, staged, reads, adjusted, actions),
    preview: (place, limit) => rows.preview(place, limit),
    land: (lake, options) => landAll(work, table, rows, staged, actions, lake, options),
    async [Symbol.asyncDispose]() {
      await work.session.run(`DROP VIEW IF EXISTS ${ident(staged.name)}`).catch(() => {});
      await actions.table[Symbol.asyncDispose]();
      await rows[Symbol.asyncDispose]();
    },
  };
}

interface StagedActions {
  readonly table: TempTable;
  rows: number;
}

async function judgeBars(
  work: ImportWork,
  table: TableSchema,
  rows: BarRows,
  staged: TempTable,
  reads: readonly ReadGroup[],
  adjusted: ReadonlySet<number>,
  actions: StagedActions,
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
  const areInLots = reads.some(({ group, chosen }) =>
    group.places.some(
      (place) => judgeUnits(units.get(place) ?? NO_UNITS, chosen, options).volumeUnit === "lots",
    ),
  );
  const lots = areInLots ? await boardLots(work, rows) : NO_LOTS;
  const isChinese = (await rows.symbolsOf("CN")).length > 0;
  const rounded = options.roundVolumes === true ? await rows.fractions() : new Map<number, number>();
  const splits =
    table === BARS_1D ? await judgeSplits(rows.source, reads, options) : new Map<number, SplitVerdict>();
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
          ? { ownDates: false, shift: 0, found: [], remarks: [] }
          : table === BARS_1D
            ? judgeDays(seen, known)
            : judgeMinutes(seen, known);
      const unit = judgeUnits(units.get(place) ?? NO_UNITS, chosen, options);
      const inLots = unit.volumeUnit === "lots";
      const missing = inLots && lots.missing.length > 0 ? noLots(lots.missing) : undefined;
      const unread = undecidedFiles.get(place);
      const unsaid = isChinese && isUnsaid(chosen, options) ? VOLUME_UNSAID : undefined;
      const refusal =
        unread === undefined
          ? (times.refusal ??
            unit.refusal ??
            unsaid ??
            missing ??
            (adjusted.has(place) ? ADJUSTED : undefined) ??
            splits.get(place)?.refusal)
          : undecided(unread);
      const noAmount = chosen.fields.has("amount") ? [] : ["no amount: it stays as the lake has it, or is 0"];
      verdicts.set(place, {
        refusal,
        found: [...times.found, ...unit.found, ...(splits.get(place)?.found ?? [])],
        remarks: [
          ...times.remarks,
          ...unit.remarks,
          ...(splits.get(place)?.remarks ?? []),
          ...noAmount,
          ...roundedRemark(rounded.get(place)),
        ],
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
        ownDates: times.ownDates,
        shiftMinutes: times.shift,
        volumeFactor: unit.volumeUnit === "lots" ? undefined : UNIT_FACTORS[unit.volumeUnit],
        amountFactor: UNIT_FACTORS[unit.amountUnit],
      });
    }
  }
  const land = rules.filter(({ isRefused }) => !isRefused);
  const withPrices = (...kinds: readonly SplitVerdict["prices"][]): number[] =>
    land
      .map(({ place }) => place)
      .filter((place) => kinds.some((kind) => splits.get(place)?.prices === kind));
  await undoSplits(rows.source, withPrices("with splits"), withPrices("with splits", "without splits"));
  if (BESIDE.some((name) => rows.source.numbers.has(name)))
    actions.rows = await stageBarActions(rows.source, actions.table, {
      places: land.map(({ place }) => place),
      ownDates: land.filter(({ ownDates }) => ownDates).map(({ place }) => place),
      source: options.source ?? "Yahoo Finance",
    });
  await rows.decide(rules, lots.known);
  if ((await rows.bad()) > 0) await rejects.add(table.name, rows.rejectsSql());
  await session.run(`CREATE OR REPLACE TEMP VIEW ${ident(staged.name)} AS ${rows.stagedSql()}`);
  return verdicts;
}

/** Whether a Chinese name of the volumes says no unit, and nothing else does. */
function isUnsaid({ fields, source, units }: ReadGroup["chosen"], { volumeUnit }: ImportOptions): boolean {
  const isNamed = /[\u4e00-\u9fff]/.test(fields.get("volume")?.name ?? "");
  return (
    isNamed && !fields.has("amount") && source === undefined && (units.volume ?? volumeUnit) === undefined
  );
}

const VOLUME_UNSAID = {
  reason: "its volumes may be of lots or of shares, and it has no amount that shows which",
  hint: 'add `volumeUnit: "lots"` or `volumeUnit: "shares"`',
} as const;

function roundedRemark(volumes: number | undefined): string[] {
  return volumes === undefined ? [] : [`${volumes} volumes with a fraction were rounded`];
}

const ADJUSTED = {
  reason: "it says that its prices are adjusted (in adjustflag, adjusted, its name, or before its table)",
  hint: "fetch them as they were traded: the lake adjusts prices itself, as of any date",
} as const;

/** @throws {UsageError} where a further header, such as of a file that was appended, has the columns in another order. */
async function expectOneHeader(
  { session }: ImportWork,
  open: OpenGroup,
  { files }: FileGroup,
  { fields }: ReadGroup["chosen"],
): Promise<void> {
  const [file] = files;
  const close = open.columns[fields.get("close")?.index ?? -1];
  if (file?.csv === undefined || file.csv.wide !== undefined || close === undefined) return;
  const names = Object.values(fieldNames("bars_1d")).flat();
  const rows = await session.json<Record<string, string | null>>(
    `SELECT DISTINCT ${open.columns.map(({ sql }, i) => `${sql} AS h${i}`).join(", ")} FROM ${open.from}
     WHERE lower(trim(${close.sql})) IN (${names.map(literal).join(", ")}) LIMIT 100`,
  );
  for (const row of rows) {
    const other = file.columns.findIndex((name, i) => plainName(row[`h${i}`] ?? "") !== plainName(name));
    if (other < 0) continue;
    throw new UsageError(
      `file ${file.path}: a further header has ${row[`h${other}`] ?? "nothing"} where the first one has ${file.columns[other]}`,
      { hint: "split it at its headers: each part has its own order of columns" },
    );
  }
}

const DATE_NAMES = new Set(
  fieldNames("bars_1d").timestamp?.filter((name) => /date|日|^day$|^dt$/.test(name)),
);

/** @throws {UsageError} where a column of dates, beside that of the times, has other dates: one of both may be when it was written. */
async function expectOneDate(
  { session, options }: ImportWork,
  open: OpenGroup,
  { files }: FileGroup,
  { fields, source }: ReadGroup["chosen"],
): Promise<void> {
  const time = fields.get("timestamp");
  const [file] = files;
  if (
    time === undefined ||
    file === undefined ||
    source !== undefined ||
    options.map?.timestamp !== undefined
  )
    return;
  const index = file.columns.findIndex(
    (name, at) => at !== time.index && DATE_NAMES.has(plainName(name)) && !/time|时间/.test(plainName(name)),
  );
  const [own, other] = [open.columns[time.index], open.columns[index]];
  if (own === undefined || other === undefined) return;
  // The first digits of a count of seconds may look like a date, too.
  const digits = (sql: string): string =>
    `left(regexp_replace(regexp_extract(CAST(${sql} AS VARCHAR), '^\\s*(?:19|20)\\d\\d[-/.年]?\\d.*'), '[^0-9]', '', 'g'), 8)`;
  // An instant may be on the day before or after.
  const isInstant = `regexp_matches(CAST(${own.sql} AS VARCHAR), 'Z$|UTC|GMT|[+-]\\d\\d:?\\d\\d$')`;
  const daysApart = `abs(date_diff('day', try_strptime(${digits(own.sql)}, '%Y%m%d'), try_strptime(${digits(other.sql)}, '%Y%m%d')))`;
  const [found] = await session.json<{ own: string; other: string }>(
    `SELECT CAST(${own.sql} AS VARCHAR) AS own, CAST(${other.sql} AS VARCHAR) AS other FROM ${open.from}
     WHERE ${daysApart} > CASE WHEN ${isInstant} THEN 1 ELSE 0 END LIMIT 1`,
  );
  if (found === undefined) return;
  const name = file.columns[index] ?? "";
  throw new UsageError(
    `file ${file.path}: its columns ${time.name} (${found.own}) and ${name} (${found.other}) have different dates`,
    {
      hint: `say which one is the bar's: \`map: { timestamp: "${name}" }\` or \`map: { timestamp: "${time.name}" }\``,
    },
  );
}

/** What text before a table says of adjusted prices. */
const ADJUSTED_TEXT = /前复权|后复权/;
const ADJUSTED_NAME = /前复权|后复权|(?:^|[^a-z])[qh]fq(?:[^a-z]|$)/i;

/** The files that say that their prices are adjusted: in rows as baostock's and Polygon's, or before them as Tongdaxin's. */
async function adjustedFiles(
  { session }: ImportWork,
  open: OpenGroup,
  { files, places }: FileGroup,
): Promise<number[]> {
  const said = places.filter(
    (_, i) =>
      ADJUSTED_NAME.test(stemOf(files[i]?.path ?? "")) ||
      files[i]?.csv?.preamble.some((line) => ADJUSTED_TEXT.test(line)),
  );
  for (const [name, values] of [
    ["adjustflag", "('1', '2')"],
    ["adjusted", "('true', 't', '1', 'yes')"],
  ] as const) {
    const column = open.columns[files[0]?.columns.findIndex((one) => plainName(one) === name) ?? -1];
    if (column === undefined) continue;
    const rows = await session.json<{ file: number }>(
      `SELECT DISTINCT file FROM ${open.from} WHERE lower(trim(CAST(${column.sql} AS VARCHAR))) IN ${values}`,
    );
    said.push(...rows.map(({ file }) => file));
  }
  return said;
}

const NO_UNITS: UnitEvidence = { rows: 0, agreeing: new Map() };

interface BoardLots {
  readonly known: ReadonlyMap<string, number>;
  readonly missing: readonly string[];
}

const NO_LOTS: BoardLots = { known: new Map(), missing: [] };

/** Board lots of Hong Kong: each instrument has its own, which the lake's instruments say. */
async function boardLots({ session, reference }: ImportWork, rows: BarRows): Promise<BoardLots> {
  const symbols = await rows.symbolsOf("HK");
  if (symbols.length === 0) return NO_LOTS;
  const live = await parquetRelation(session, reference.filesOf(await reference.snapshot(INSTRUMENTS)));
  const found = await session.json<{ symbol: string; lot: number }>(
    `SELECT symbol, lot_size AS lot FROM (${live}) WHERE valid_to IS NULL AND region = 'HK' AND lot_size > 0`,
  );
  const known = new Map(found.map(({ symbol, lot }) => [symbol, lot]));
  return { known, missing: symbols.filter((symbol) => !known.has(symbol)) };
}

function noLots(symbols: readonly string[]): Refusal {
  return {
    reason: `the board lot of ${firstNames(symbols, 3)} is not known`,
    hint: "each instrument of Hong Kong has its own: import instruments with lot_size first",
  };
}

async function* landAll(
  { session, rejects }: ImportWork,
  table: TableSchema,
  rows: BarRows,
  staged: TempTable,
  actions: StagedActions,
  lake: Lake,
  options: LandOptions,
): AsyncGenerator<LandReport, void, undefined> {
  // The record of a file is committed with its bars, which land last: an import that was killed before lands all again.
  if (actions.rows > 0)
    yield await landActions(session, lake, CORPORATE_ACTIONS, actions.table.name, {
      ...options,
      progress: undefined,
    });
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
