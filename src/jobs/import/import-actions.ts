import { UsageError } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { landActions } from "../../lake/land/land-versions.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../schema/actions.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS } from "../../schema/reference.js";
import { common, fileRules, previewOf, rejectRows, withoutRefused } from "./import-objects.js";
import { DELISTING_DATES, plainName } from "./plan/field-names.js";
import {
  ACTION_FIELDS,
  actionsSql,
  brokenChainsSql,
  CHANGED_SYMBOL_TEXTS,
  circularSql,
  EX_CATEGORIES,
  FACTOR_FIELDS,
  factorsSql,
  SYMBOL_CHANGE_FIELDS,
  singleEventsSql,
  symbolChangesSql,
} from "./rows/actions.js";
import { textExpression } from "./rows/number-sql.js";
import { ObjectRows } from "./rows/object-rows.js";
import type { FileGroup, OpenGroup, SourceColumn } from "./rows/raw-rows.js";
import type { ImportWork, ReadGroup, Refusal, TableImport } from "./table-import.js";

export async function importActions(work: ImportWork): Promise<TableImport> {
  const rows = new ObjectRows(work.session, ACTION_FIELDS, work.options);
  const withKind: number[] = [];
  const forTen: number[] = [];
  const withCategory: number[] = [];
  const inSharesOfToday: number[] = [];
  const sources = new Map<number, string>();
  const foundIn = new Map<FileGroup, readonly string[]>();
  const made = await importSeen(
    work,
    ACTIONS,
    rows,
    (known) =>
      actionsSql(
        rows.rowsSql(),
        { withKind, forTen, withCategory, inSharesOfToday },
        known,
        sourceSql(sources),
      ),
    foundIn,
  );
  return {
    ...made,
    add: async (open, read, symbol) => {
      const { group, chosen } = read;
      expectValues(read);
      expectSplits(work, read);
      const combined = withCombined(open, read);
      await rows.add(combined.open, combined.chosen, symbol, read.mark);
      for (const place of group.places) sources.set(place, sourceOf(work, read));
      if (chosen.fields.has("kind")) withKind.push(...group.places);
      if (chosen.source?.name === "Yahoo Finance" && work.options.prices !== "traded") {
        inSharesOfToday.push(...group.places);
        foundIn.set(group, [
          "cash in shares of the download: it lands times the later splits of the file, for a share of then",
        ]);
      }
      if (chosen.source?.forShares === 10) {
        forTen.push(...group.places);
        foundIn.set(group, [`cash and shares are for ten shares, as ${chosen.source.name} writes them`]);
      }
      if (chosen.source?.name === "Tongdaxin") {
        withCategory.push(...group.places);
        foundIn.set(group, await foundInTongdaxin(work, open, read));
      }
      return new Map();
    },
  };
}

export async function importFactors(work: ImportWork): Promise<TableImport> {
  const rows = new ObjectRows(work.session, FACTOR_FIELDS, work.options);
  const sources = new Map<number, string>();
  const cumulated: number[] = [];
  const foundIn = new Map<FileGroup, readonly string[]>();
  const made = await importSeen(
    work,
    FACTORS,
    rows,
    (known) => factorsSql(singleEventsSql(rows.rowsSql(), cumulated), known, sourceSql(sources)),
    foundIn,
    () => brokenChains(work, rows, cumulated),
  );
  return {
    ...made,
    required: ["symbol", "ex_date"],
    add: async (open, read, symbol) => {
      const { fields, source } = read.chosen;
      if (!fields.has("factor") && source?.name !== "LEAN")
        throw new UsageError(`file ${read.group.files[0]?.path}: has no column for factor`, {
          hint: `give it with \`map: { factor: "COLUMN" }\`; its columns are ${read.group.files[0]?.columns.join(", ")}`,
        });
      await rows.add(open, read.chosen, symbol, read.mark);
      for (const place of read.group.places) sources.set(place, sourceOf(work, read));
      if (source?.name !== "LEAN") return new Map();
      cumulated.push(...read.group.places);
      foundIn.set(read.group, [
        "a row holds up to its date: the factor of the event after it is the next row's product divided by its own, on the weekday after",
      ]);
      return new Map();
    },
  };
}

/** The refusals of files of LEAN of which a row cannot be read. */
async function brokenChains(
  { session }: ImportWork,
  rows: ObjectRows,
  cumulated: readonly number[],
): Promise<ReadonlyMap<number, Refusal>> {
  if (cumulated.length === 0) return new Map();
  const found = await session.json<{ file: number; broken: string | null }>(
    brokenChainsSql(rows.rowsSql(), cumulated),
  );
  return new Map(
    found.map(({ file, broken }) => [
      file,
      {
        reason: `${broken ?? "two rows have one date"}, and the factors of the rows around depend on it`,
        hint: "correct it in the file",
      },
    ]),
  );
}

/** A table of subjects with the time of their first sight, and how its rows are named. */
interface SeenTable {
  readonly table: TableSchema;
  readonly date: string;
  /** SQL of what a row of `j` is, for a reason. */
  readonly label: string;
  readonly notes: readonly string[];
  /** SQL of the texts of symbols. @default the column */
  readonly symbolTexts?: string;
}

const ACTIONS: SeenTable = { table: CORPORATE_ACTIONS, date: "ex_date", label: "j.kind", notes: [] };
const FACTORS: SeenTable = { table: EX_FACTORS, date: "ex_date", label: "'factor'", notes: [] };

/** What the imports of tables of subjects with the time of their first sight have in common. */
async function importSeen(
  work: ImportWork,
  seen: SeenTable,
  rows: ObjectRows,
  judgedSql: (known: string) => string,
  foundIn: ReadonlyMap<FileGroup, readonly string[]>,
  refusals: () => Promise<ReadonlyMap<number, Refusal>> = async () => new Map(),
  setAside: (judged: string) => Promise<unknown> = async () => {},
): Promise<Omit<TableImport, "add">> {
  const { session, options } = work;
  const { table, notes, symbolTexts } = seen;
  const judged = new TempTable(session, "judged_actions");
  const staged = new TempTable(session, "staged_actions");
  const known = new TempTable(session, "known_symbols");
  const subject = table.key.filter((name) => name !== "first_seen_at");
  const fields = table.columns
    .map(({ name }) => name)
    .filter((name) => name !== "first_seen_at" && !subject.includes(name));
  await rows.create();
  const base = common(work, rows, judged);
  return {
    ...base,
    required: ["symbol"],
    hasFileSymbols: true,
    notes,
    async judge(reads) {
      await rows.read(symbolTexts);
      await fillKnown(work, known, rows.symbols);
      await judged.fill(judgedSql(`symbol IN (SELECT symbol FROM ${known.name})`));
      const refused = await refusals();
      const { files, verdicts } = await fileRules(work, judged, reads, (read, place) => ({
        refusal: refused.get(place),
        found: [...foundSource(work, read), ...(foundIn.get(read.group) ?? [])],
        decided: { source: options.source },
      }));
      await using _ = files;
      await withoutRefused(work, judged, verdicts);
      await setAside(judged.name);
      await setAsideSeveral(work, judged, seen, subject);
      await rejectRows(work, table, judged, files);
      await rejectEarlierFiles(work, seen, judged, files, subject);
      const last = fields.map((name) => `arg_max(${ident(name)}, "row") AS ${ident(name)}`);
      await staged.fill(
        `SELECT ${[...subject.map(ident), ...last].join(", ")} FROM ${judged.name} WHERE verdict IS NULL GROUP BY ALL`,
      );
      return verdicts;
    },
    preview: (place, limit) =>
      previewOf(work, judged, place, limit, [...subject, ...fields.filter((name) => name !== "region")]),
    async *land(lake, landing) {
      yield await landActions(session, lake, table, staged.name, landing);
    },
    async [Symbol.asyncDispose]() {
      for (const one of [staged, known]) await one[Symbol.asyncDispose]();
      await base[Symbol.asyncDispose]();
    },
  };
}

function sourceOf({ options }: ImportWork, { chosen }: ReadGroup): string {
  return options.source ?? chosen.source?.name ?? "file";
}

function foundSource(work: ImportWork, read: ReadGroup): string[] {
  if (read.chosen.fields.has("source")) return [];
  const other = work.options.source === undefined ? ': `source: "NAME"` gives it another one' : "";
  return [`the rows have the source "${sourceOf(work, read)}"${other}`];
}

async function foundInTongdaxin(
  { session }: ImportWork,
  open: OpenGroup,
  { chosen }: ReadGroup,
): Promise<string[]> {
  const category = open.columns[chosen.fields.get("category")?.index as number] as SourceColumn;
  const isOther = `${textExpression(category)} NOT IN ${EX_CATEGORIES}`;
  const others = await countRows(session, `${open.from} WHERE ${isOther}`);
  return [
    "cash, bonus shares and rights are for ten shares, as Tongdaxin writes them, also of funds",
    ...(others === 0 ? [] : [`${others} rows of other categories than 1 and 11 are no ex-events`]),
  ];
}

function sourceSql(sources: ReadonlyMap<number, string>): string {
  const cases = [...sources].map(([place, name]) => `WHEN ${place} THEN ${literal(name)}`);
  return cases.length === 0 ? "NULL::VARCHAR" : `CASE file ${cases.join(" ")} END`;
}

/** @throws {UsageError} where no column says what an action does, or which kind it is of. */
function expectValues({ chosen, group }: ReadGroup): void {
  const { fields } = chosen;
  const [file] = group.files;
  const has = (...names: readonly string[]): boolean => names.some((name) => fields.has(name));
  const hint = `its columns are ${file?.columns.join(", ")}`;
  if (!has("ex_date") && !["year", "month", "day"].every((name) => fields.has(name)))
    throw new UsageError(`file ${file?.path}: has no column for ex_date`, {
      hint: `give it with \`map: { ex_date: "COLUMN" }\`; ${hint}`,
    });
  const isWide = has("cash", "split", "stock_dividend", "rights", "split_to");
  if (!has("kind") && !isWide && has("ratio"))
    throw new UsageError(
      `file ${file?.path}: its ratio "${fields.get("ratio")?.name}" may be of splits, of stock dividends or of rights`,
      { hint: 'say which one with `map: { split: "COLUMN" }` or another field, or give each row its kind' },
    );
  if (!isWide && !has("ratio"))
    throw new UsageError(`file ${file?.path}: has no column of cash, splits, stock dividends or rights`, {
      hint: `give one with \`map: { cash: "COLUMN" }\`; ${hint}`,
    });
}

/**
 * Dividends of Yahoo Finance are for a share after all later splits, and without these nobody knows for which one.
 *
 * @throws {UsageError} for a file without splits, unless its dividends are said to be for a share of then.
 */
function expectSplits({ options }: ImportWork, { chosen, group }: ReadGroup): void {
  if (chosen.source?.name !== "Yahoo Finance" || chosen.fields.has("split") || options.prices === "traded")
    return;
  throw new UsageError(
    `file ${group.files[0]?.path}: has dividends as Yahoo Finance writes them, for a share after all later splits, and no column "Stock Splits"`,
    {
      hint: 'download both (`ticker.actions`), or say with `prices: "traded"` that they are for a share of their day',
    },
  );
}

/** A group with columns that are made of several: a date of year, month and day, a ratio of the shares after and before. */
function withCombined(
  open: OpenGroup,
  { chosen }: ReadGroup,
): { readonly open: OpenGroup; readonly chosen: ReadGroup["chosen"] } {
  const columns = [...open.columns];
  const fields = new Map(chosen.fields);
  const combine = (field: string, parts: readonly string[], mark: string): void => {
    if (fields.has(field) || !parts.every((part) => fields.has(part))) return;
    const texts = parts.map((part) =>
      textExpression(open.columns[fields.get(part)?.index as number] as SourceColumn),
    );
    fields.set(field, { index: columns.length, name: parts.join(` ${mark} `) });
    columns.push({ sql: texts.join(` || ${literal(mark)} || `), type: "VARCHAR" });
  };
  combine("ex_date", ["year", "month", "day"], "-");
  combine("split", ["split_to", "split_from"], ":");
  const all: OpenGroup = {
    from: open.from,
    columns,
    malformed: () => open.malformed(),
    [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
  };
  return { open: all, chosen: { ...chosen, fields } };
}

/**
 * Fills a table with the symbols that may have actions: those of which the lake has an instrument or bars, and all those of
 * a region of which it has neither.
 */
async function fillKnown(
  { session, reference }: ImportWork,
  known: TempTable,
  symbols: string,
): Promise<void> {
  const of = async (table: TableSchema): Promise<string> =>
    parquetRelation(session, reference.filesOf(await reference.snapshot(table)));
  await known.fill(
    `SELECT DISTINCT symbol, region FROM ${symbols} WHERE symbol IN (SELECT symbol FROM (${await of(INSTRUMENTS)}))`,
  );
  const regions = new Set<string>();
  for (const table of [INSTRUMENTS, BARS_1D, BARS_1M]) {
    const { files } = await reference.snapshot(table);
    for (const { partitionValues } of files.values()) regions.add(partitionValues.region ?? "");
  }
  const isOpen = `region NOT IN (${[...regions, ""].map(literal).join(", ")})`;
  await session.run(
    `INSERT INTO ${known.name} SELECT DISTINCT symbol, region FROM ${symbols} WHERE ${isOpen}`,
  );
  for (const table of [BARS_1D, BARS_1M]) {
    const left = `${symbols} WHERE symbol NOT IN (SELECT symbol FROM ${known.name})`;
    if ((await countRows(session, left)) === 0) return;
    await session.run(`INSERT INTO ${known.name} SELECT DISTINCT symbol, region FROM (${await of(table)})
      WHERE symbol IN (SELECT symbol FROM ${left})`);
  }
}

/** Sets aside all rows of one file that say different things of one subject: which one is right, or whether both are, is not known. */
async function setAsideSeveral(
  { session }: ImportWork,
  judged: TempTable,
  { table, date, label }: SeenTable,
  subject: readonly string[],
): Promise<void> {
  const values = table.columns
    .map(({ name }) => name)
    .filter((name) => name !== "first_seen_at" && name !== "region" && !subject.includes(name));
  await session.run(`UPDATE ${judged.name} AS j SET verdict = ['several_actions',
      j.symbol || ' has several rows ' || ${label} || ' of ' || j.${ident(date)} || ', which differ: write one row, or a correction in a later file']
    FROM (SELECT file, ${subject.map(ident).join(", ")} FROM ${judged.name} WHERE verdict IS NULL GROUP BY ALL
      HAVING count(DISTINCT row(${values.map(ident).join(", ")})) > 1) AS d
    WHERE j.verdict IS NULL AND j.file = d.file AND ${subject.map((name) => `j.${ident(name)} = d.${ident(name)}`).join(" AND ")}`);
}

/** Of several files that speak of one subject the later one counts; rows of earlier ones are listed. */
async function rejectEarlierFiles(
  { session, rejects }: ImportWork,
  { table, date }: SeenTable,
  judged: TempTable,
  files: TempTable,
  subject: readonly string[],
): Promise<void> {
  const key = subject.map((name) => `j.${ident(name)}`).join(", ");
  const earlier = `FROM ${judged.name} j JOIN ${files.name} f ON f.file = j.file WHERE j.verdict IS NULL
    QUALIFY j.file < max(j.file) OVER (PARTITION BY ${key})`;
  if ((await countRows(session, `(SELECT 1 ${earlier})`)) === 0) return;
  await rejects.add(
    table.name,
    `SELECT f.path AS source, f.first_line + j.file_row AS line, j.symbol, CAST(j.${ident(date)} AS VARCHAR) AS timestamp, 'duplicate_key' AS rule,
       j.symbol || ' ' || j.${ident(date)} || ' is repeated; of each column the later file counts that has a value' AS reason, NULL AS row ${earlier}`,
  );
}

const CHANGES: SeenTable = {
  table: SYMBOL_CHANGES,
  date: "from_date",
  label: "j.kind",
  notes: [
    "history(...), reads of the library, datasets and the workspace follow renames; views and the service have symbols as they are stored",
  ],
  symbolTexts: CHANGED_SYMBOL_TEXTS,
};

/** The import of renames, mergers, codes that were given to other companies, and delistings. */
export async function importSymbolChanges(work: ImportWork): Promise<TableImport> {
  const { session, reference } = work;
  const rows = new ObjectRows(session, SYMBOL_CHANGE_FIELDS, work.options);
  const sources = new Map<number, string>();
  const delistings: number[] = [];
  const maps: number[] = [];
  const foundIn = new Map<FileGroup, readonly string[]>();
  const live = await parquetRelation(session, reference.filesOf(await reference.snapshot(SYMBOL_CHANGES)));
  const made = await importSeen(
    work,
    CHANGES,
    rows,
    () => symbolChangesSql(rows, { delistings, maps }, sourceSql(sources)),
    foundIn,
    undefined,
    (judged) => session.run(circularSql(judged, live)),
  );
  return {
    ...made,
    required: ["symbol", "from_date"],
    add: async (open, read, symbol) => {
      const { group, chosen } = read;
      if (chosen.source?.name === "LEAN") {
        maps.push(...group.places);
        foundIn.set(group, ["a row has the symbol up to its date: it changes on the weekday after"]);
      } else if (isOfDelistings(read)) delistings.push(...group.places);
      await rows.add(open, chosen, symbol, read.mark);
      for (const place of group.places) sources.set(place, sourceOf(work, read));
      return new Map();
    },
  };
}

/** Whether a file has dates of delistings alone. @throws {UsageError} where nothing says what its rows are. */
function isOfDelistings({ chosen: { fields }, group }: ReadGroup): boolean {
  if (fields.has("kind")) return false;
  const isDelisting = DELISTING_DATES.includes(plainName(fields.get("from_date")?.name ?? ""));
  if (isDelisting || fields.has("new_symbol")) return isDelisting && !fields.has("new_symbol");
  throw new UsageError(`file ${group.files[0]?.path}: has neither new symbols nor a kind of change`, {
    hint: `give them with \`map: { new_symbol: "COLUMN" }\` or \`map: { kind: "COLUMN" }\`; its columns are ${group.files[0]?.columns.join(", ")}`,
  });
}
