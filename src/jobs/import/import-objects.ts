import { DAY_MS } from "../../core/time.js";
import { codeSql, exchangeSql, localMidnightSql, tradeDateSql } from "../../db/market/region-sql.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import {
  beginsBeforeSql,
  landMemberRanges,
  landVersions,
  membersOf,
  overlapsSql,
} from "../../lake/land/land-versions.js";
import type { TableSchema } from "../../schema/column.js";
import {
  EXCHANGES,
  INSTRUMENT_EXT,
  INSTRUMENTS,
  UNIVERSE_MEMBERS,
  UNIVERSES,
} from "../../schema/reference.js";
import { landExchangeCounts } from "../ingest/counted-lists.js";
import {
  shareExponents,
  sharesFound,
  statedUnits,
  type UnitKind,
  unitRefusal,
} from "./plan/statement-units.js";
import {
  dateTests,
  NUMBER_TEST,
  type ObjectFields,
  ObjectRows,
  SHARE_FIELDS,
  SYMBOL_TESTS,
  sharesTests,
} from "./rows/object-rows.js";
import type { FileGroup } from "./rows/raw-rows.js";
import {
  type FileVerdict,
  type ImportWork,
  MOST_ROWS,
  type ReadGroup,
  type TableImport,
  undecided,
} from "./table-import.js";
import type { TextFile } from "./text/text-file.js";

const numbers = INSTRUMENT_EXT.filter(({ type }) => type === "double").map(({ name }) => name);

const INSTRUMENT_FIELDS: ObjectFields = {
  texts: ["name", "type", "name_en", "ext_type", "ext_other"],
  dates: ["listing_date"],
  numbers,
};

/** Kinds of instruments by the words that sources use, in lower case. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  stock: ["stock", "stocks", "equity", "common stock", "cs", "share", "股票", "个股", "a股", "1"],
  etf: ["etf", "etfs", "exchange traded fund"],
  index: ["index", "indices", "idx", "指数", "2"],
  bond: ["bond", "bonds", "convertible bond", "债券", "可转债"],
  fund: ["fund", "funds", "lof", "reit", "基金"],
  futures: ["futures", "future", "期货"],
  options: ["options", "option", "期权"],
  other: ["other", "其他", "其它"],
};

/** What a row of instruments becomes: its columns, and `verdict`, the rule and the reason for which it is set aside. */
function instrumentsSql(rows: string): string {
  const kinds = Object.entries(KINDS).map(
    ([kind, words]) => `WHEN lower(trim(type)) IN (${words.map(literal).join(", ")}) THEN ${literal(kind)}`,
  );
  const kind = `CASE WHEN type IS NULL THEN NULL ${kinds.join(" ")} END`;
  const tests = [
    ...SYMBOL_TESTS,
    ...dateTests("listing_date", false),
    NUMBER_TEST,
    ...sharesTests([...SHARE_FIELDS]),
    "WHEN lot_size < 0 THEN ['out_of_range', 'lot_size ' || lot_size || ' is below 0']",
    "WHEN tick_size < 0 THEN ['out_of_range', 'tick_size ' || tick_size || ' is below 0']",
    `WHEN type IS NOT NULL AND kind IS NULL THEN ['unparsable', 'type "' || left(type, 40) || '" is none of ${Object.keys(KINDS).join(", ")}']`,
  ];
  return `SELECT *, CASE ${tests.join(" ")} END AS verdict FROM (SELECT *, ${kind} AS kind FROM ${rows})`;
}

/** The columns of the staged instruments, from rows without a verdict. */
function instrumentColumnsSql(): string {
  const own: Readonly<Record<string, string>> = {
    code: codeSql("symbol"),
    exchange: exchangeSql("symbol"),
    type: "kind",
  };
  return INSTRUMENTS.columns
    .filter(({ name }) => !name.startsWith("valid_"))
    .map(({ name }) => `${own[name] ?? ident(name)} AS ${ident(name)}`)
    .join(", ");
}

const UNIVERSE_FIELDS: ObjectFields = {
  texts: ["id", "name", "category", "region", "description", "symbols", "source"],
  dates: ["from_date", "to_date"],
  numbers: [],
};

/** SQL of the texts of members: each of a list, or of a text with separators, or the symbol of the row. */
function memberTextsSql(): string {
  const list = `list_filter(string_split_regex(regexp_replace(symbols, '[\\[\\]"''“”‘’]', '', 'g'), '[,;|，；｜、\\s\\p{Z}]+'), lambda one : one <> '')`;
  return `unnest(CASE WHEN symbols IS NOT NULL THEN ${list} ELSE [symbol] END)`;
}

/**
 * Members of universes, one a row, with `verdict`.
 *
 * @param dated places of files whose memberships have dates: `from_date`, and `to_date` where it has ended.
 * @param tomorrow the first date that is in the future.
 */
function membersSql(rows: ObjectRows, dated: readonly number[], tomorrow: string): string {
  const { columns, joins } = rows.datesSql();
  const isDated = dated.length === 0 ? "false" : `file IN (${dated.join(", ")})`;
  const only = (test: string): string => test.replace("WHEN ", `WHEN ${isDated} AND `);
  const tests = [
    `WHEN id IS NULL THEN ['null_in_required', 'id is empty']`,
    ...SYMBOL_TESTS,
    ...dateTests("from_date", true).map(only),
    ...dateTests("to_date", false).map(only),
    ...[
      `WHEN from_date >= DATE ${literal(tomorrow)} THEN ['out_of_range', 'from_date ' || from_date || ' is in the future']`,
      `WHEN to_date >= DATE ${literal(tomorrow)} THEN ['out_of_range', 'to_date ' || to_date || ' is in the future']`,
      `WHEN to_date <= from_date THEN ['out_of_range', 'to_date ' || to_date || ' is not after from_date ' || from_date]`,
    ].map(only),
  ];
  return `SELECT *, CASE ${tests.join(" ")} END AS verdict
    FROM (SELECT r.* EXCLUDE (from_date, to_date), s.symbol, s.region AS symbol_region, s.reason AS symbol_reason, ${columns.join(", ")}
      FROM (SELECT file, form, rowid AS "row", rowid - min(rowid) OVER (PARTITION BY file) AS file_row, id, name, category, region, description, source,
        from_date, to_date, ${memberTextsSql()} AS symbol_text FROM ${rows.raw}) r
      LEFT JOIN ${rows.symbols} s ON s.text = r.symbol_text ${joins})`;
}

/** SQL of the instant at which a date begins in a region; null for null. */
function instantSql(date: string): string {
  return `CASE WHEN ${date} IS NOT NULL THEN make_timestamptz(CAST(${localMidnightSql(date, "region")} AS BIGINT) * 1000) END`;
}

/** The columns of ranges of members, as they land. @param members a table expression with dates, source and the universe's region. */
function rangesSql(members: string): string {
  return `SELECT DISTINCT id, symbol, region, ${instantSql("from_date")} AS valid_from, ${instantSql("to_date")} AS valid_to, source FROM ${members}`;
}

/**
 * SQL that sets aside memberships that overlap: others of their member in the files, and those that were imported before.
 * Those that begin on the same day as one before are its correction.
 *
 * @param isDated SQL of whether a row has dates. @param before a query of what was imported before, with dates.
 */
function overlappingSql(judged: string, isDated: string, before: string): string {
  const own = `(SELECT "row", file, verdict, id, symbol, from_date AS valid_from, to_date AS valid_to FROM ${judged} WHERE ${isDated})`;
  const differ = "(a.valid_from <> b.valid_from OR a.valid_to IS DISTINCT FROM b.valid_to)";
  const overlap = `a.id = b.id AND a.symbol = b.symbol AND ${differ}
    AND a.valid_from < coalesce(b.valid_to, 'infinity') AND b.valid_from < coalesce(a.valid_to, 'infinity')`;
  return `UPDATE ${judged} AS j SET verdict = ['overlapping_members', j.symbol || ' in ' || j.id || ' from ' || j.from_date || coalesce(' to ' || j.to_date, '')
      || ' overlaps its membership from ' || o.other_from || coalesce(' to ' || o.other_to, '') || o.place]
    FROM (
      SELECT a."row", a.symbol, min(b.valid_from) AS other_from, arg_min(b.valid_to, b.valid_from) AS other_to, ' in the files' AS place
      FROM ${own} a JOIN ${own} b ON ${overlap} WHERE a.verdict IS NULL AND b.verdict IS NULL GROUP BY ALL
      UNION ALL
      SELECT a."row", a.symbol, min(b.valid_from), arg_min(b.valid_to, b.valid_from), ' that was imported before'
      FROM ${own} a JOIN (${before}) b ON ${overlapsSql("a", "b")} WHERE a.verdict IS NULL GROUP BY ALL) AS o
    WHERE j.verdict IS NULL AND j."row" = o."row" AND j.symbol = o.symbol`;
}

export async function importInstruments(work: ImportWork): Promise<TableImport> {
  const rows = new ObjectRows(work.session, INSTRUMENT_FIELDS, work.options);
  const judged = new TempTable(work.session, "judged_instruments");
  const staged = new TempTable(work.session, "staged_instruments");
  const remarksOf = new Map<FileGroup, readonly string[]>();
  await rows.create();
  return {
    ...common(work, rows, judged),
    required: ["symbol"],
    hasFileSymbols: false,
    add: async (open, read, symbol) => {
      const shares = shareExponents(read.chosen.fields, instrumentUnit, work.options);
      const scaled = [...read.chosen.fields].filter(([name]) => (shares.get(name) ?? 0) !== 0);
      await rows.expectNoScales(open, read, scaled);
      await rows.add(open, read.chosen, symbol, read.mark, new Map(), shares);
      remarksOf.set(read.group, await rows.judgeShares(read, shares));
      return new Map();
    },
    async judge(reads) {
      await rows.read();
      await judged.fill(instrumentsSql(rows.rowsSql()));
      const { files, verdicts } = await fileRules(work, judged, reads, ({ chosen, group }, _place, file) => ({
        refusal: unitRefusal(statedUnits(file, chosen.fields, instrumentUnit), work.options, false),
        found: sharesFound(chosen.fields, instrumentUnit, work.options),
        remarks: remarksOf.get(group) ?? [],
        decided: { volumeUnit: work.options.volumeUnit },
      }));
      await using _ = files;
      await withoutRefused(work, judged, verdicts);
      await rejectRows(work, INSTRUMENTS, judged, files);
      await rejectReplaced(work, INSTRUMENTS, judged, files, ["symbol"]);
      const columns = INSTRUMENTS.columns
        .map(({ name }) => name)
        .filter((name) => !name.startsWith("valid_"));
      const newest = columns
        .filter((name) => name !== "symbol")
        .map((name) => `arg_max(${ident(name)}, "row") AS ${ident(name)}`);
      await staged.fill(`SELECT symbol, ${newest.join(", ")}
        FROM (SELECT "row", ${instrumentColumnsSql()} FROM ${judged.name} WHERE verdict IS NULL) GROUP BY symbol`);
      return verdicts;
    },
    preview: (place, limit) =>
      previewOf(
        work,
        judged,
        place,
        limit,
        ["symbol", "name", "kind", "listing_date", "total_shares", "float_shares", "lot_size"],
        { kind: "type" },
      ),
    async *land(lake, options) {
      const defaults = { type: "'other'", ext_type: EXT_TYPE };
      yield await landVersions(work.session, lake, INSTRUMENTS, staged.name, {
        ...options,
        merge: "keep",
        defaults,
      });
      yield await landExchangeCounts(work.session, lake, EXCHANGES, { ...options, progress: undefined });
    },
  };
}

function instrumentUnit(field: string): UnitKind {
  return SHARE_FIELDS.has(field) ? "shares" : "none";
}

/** The variant of `ext` that a service would use for an instrument of a region with members of it. */
const EXT_TYPE = `CASE WHEN coalesce(CAST(s.float_shares AS VARCHAR), CAST(s.total_shares AS VARCHAR), CAST(s.limit_up AS VARCHAR),
  CAST(s.limit_down AS VARCHAR), CAST(s.tick_size AS VARCHAR), CAST(s.lot_size AS VARCHAR), CAST(s.listing_date AS VARCHAR), s.name_en) IS NOT NULL
  THEN lower(s.region) || '_equity' END`;

/** The import of universes with their members: those of today, or with the dates between which they were. */
export async function importUniverses(work: ImportWork): Promise<TableImport> {
  const { session } = work;
  const rows = new ObjectRows(session, UNIVERSE_FIELDS, work.options);
  const judged = new TempTable(session, "judged_members");
  const staged = new TempTable(session, "staged_universes");
  const members = new TempTable(session, "staged_members");
  const ranges = new TempTable(session, "staged_ranges");
  const dated: number[] = [];
  let notes: readonly string[] = [];
  await rows.create();
  const isDated = (): string => (dated.length === 0 ? "false" : `file IN (${dated.join(", ")})`);
  return {
    ...common(work, rows, judged),
    required: ["id", "symbols"],
    hasFileSymbols: false,
    get notes() {
      return notes;
    },
    add: async (open, { chosen, mark, group }) => {
      await rows.add(open, chosen, undefined, mark);
      if (chosen.fields.has("from_date") || chosen.fields.has("to_date")) dated.push(...group.places);
      return new Map();
    },
    async judge(reads) {
      await rows.read(memberTextsSql());
      const tomorrow = new Date(work.now + DAY_MS).toISOString().slice(0, 10);
      await judged.fill(membersSql(rows, dated, tomorrow));
      const { files, verdicts } = await fileRules(work, judged, reads, ({ chosen }) =>
        chosen.fields.has("from_date")
          ? {
              found: ["memberships with dates: to_date is the first day on which it is no member"],
              decided: { source: work.options.source },
            }
          : {},
      );
      await using _ = files;
      await withoutRefused(work, judged, verdicts);
      const before = await membersOf(
        session,
        work.reference,
        await work.reference.snapshot(UNIVERSE_MEMBERS),
      );
      if (dated.length > 0) {
        const importedBefore = `SELECT id, symbol, ${tradeDateSql("valid_from", "region")} AS valid_from, ${tradeDateSql("valid_to", "region")} AS valid_to
          FROM ${before} WHERE source IS NOT NULL`;
        await session.run(overlappingSql(judged.name, isDated(), importedBefore));
      }
      await rejectRows(work, UNIVERSE_MEMBERS, judged, files);
      const newest = ["name", "category", "description"].map((name) => `arg_max(${name}, "row") AS ${name}`);
      // Of a universe whose members have dates, nothing is known of today but them.
      await staged.fill(`SELECT id, ${newest.join(", ")}, coalesce(arg_max(region, "row"), mode(symbol_region)) AS region,
          count(DISTINCT symbol) FILTER (to_date IS NULL) AS symbol_count, bool_and(${isDated()}) AS is_dated
        FROM ${judged.name} WHERE verdict IS NULL GROUP BY id`);
      const own = `${judged.name} m JOIN ${staged.name} u USING (id)`;
      await members.fill(
        `SELECT DISTINCT m.id, m.symbol, u.region FROM ${own} WHERE m.verdict IS NULL AND NOT u.is_dated`,
      );
      const regionOf = `coalesce((SELECT min(region) FROM ${before} b WHERE b.id = m.id), u.region)`;
      const source = `coalesce(nullif(trim(m.source), ''), ${literal(work.options.source ?? "file")})`;
      await ranges.fill(
        rangesSql(`(SELECT m.id, m.symbol, ${regionOf} AS region, from_date, to_date, ${source} AS source
          FROM ${own} WHERE m.verdict IS NULL AND ${isDated()})`),
      );
      notes = await rangeNotes(work, ranges, before);
      return verdicts;
    },
    preview: (place, limit) =>
      previewOf(work, judged, place, limit, ["id", "name", "symbol", "from_date", "to_date"]),
    async *land(lake, options) {
      const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSES)));
      await session.run(`DELETE FROM ${staged.name} WHERE is_dated AND id IN (SELECT id FROM (${live}))`);
      const defaults = { name: "s.id", category: "'imported'" };
      yield await landVersions(session, lake, UNIVERSES, staged.name, {
        ...options,
        merge: "keep",
        defaults,
      });
      if (dated.length > 0) yield await landMemberRanges(session, lake, ranges.name, options);
      const complete = `c.id IN (SELECT id FROM ${members.name})`;
      if (dated.length === 0 || (await countRows(session, members.name)) > 0)
        yield await landVersions(session, lake, UNIVERSE_MEMBERS, members.name, { ...options, complete });
    },
  };
}

/** What memberships with dates change, by universe: what the lake saw stays, and what it assumed ends. */
async function rangeNotes(
  { session }: ImportWork,
  ranges: TempTable,
  before: string,
): Promise<readonly string[]> {
  const found = await session.json<{ id: string; seen: string; from: string; kept: number }>(
    `SELECT r.id, CAST(any_value(${tradeDateSql("since", "s.region")}) AS VARCHAR) AS seen, CAST(min(${tradeDateSql("r.valid_from", "r.region")}) AS VARCHAR) AS "from",
       count(*) FILTER (NOT ${beginsBeforeSql("r")})::DOUBLE AS kept
     FROM ${ranges.name} r JOIN (SELECT id, min(valid_from) AS since, min(region) AS region FROM ${before} WHERE source IS NULL GROUP BY id) s USING (id)
     GROUP BY r.id ORDER BY r.id`,
  );
  return found.map(({ id, seen, from, kept }) => {
    const stays = kept > 0 ? `, and ${kept} of them, which begin later, do not land` : "";
    return `${id}: from ${from} until ${seen}, when this lake first saw it, its members are those that were imported; since then it stays as it was seen${stays}`;
  });
}

export function common(
  work: ImportWork,
  rows: ObjectRows,
  judged: TempTable,
): Pick<TableImport, "remove" | "oddRows"> & AsyncDisposable {
  const places = (group: FileGroup): string => group.places.join(", ");
  return {
    async remove(group) {
      await work.session.run(`DELETE FROM ${rows.raw} WHERE file IN (${places(group)})`);
    },
    oddRows: (group) =>
      countRows(work.session, `${rows.raw} WHERE odd IS NOT NULL AND file IN (${places(group)})`),
    async [Symbol.asyncDispose]() {
      await judged[Symbol.asyncDispose]();
      await rows[Symbol.asyncDispose]();
    },
  };
}

export async function withoutRefused(
  { session }: ImportWork,
  judged: TempTable,
  verdicts: ReadonlyMap<number, FileVerdict>,
): Promise<void> {
  const refused = [...verdicts].filter(([, { refusal }]) => refusal !== undefined).map(([place]) => place);
  if (refused.length > 0)
    await session.run(`DELETE FROM ${judged.name} WHERE file IN (${refused.join(", ")})`);
}

/**
 * A table of the files with their paths and first lines, and a verdict on each file. @param factsOf what the table says of a
 * file; one of which most rows are undecided is refused in any case.
 */
export async function fileRules(
  { session }: ImportWork,
  judged: TempTable,
  reads: readonly ReadGroup[],
  factsOf: (read: ReadGroup, place: number, file: TextFile) => Partial<FileVerdict>,
): Promise<{ files: TempTable; verdicts: Map<number, FileVerdict> }> {
  const found = await session.json<{ file: number; reason: string }>(
    `SELECT file, first(verdict[2]) FILTER (contains(verdict[2], chr(96))) AS reason FROM ${judged.name}
     GROUP BY file HAVING count(*) FILTER (contains(verdict[2], chr(96))) > count(*) * ${MOST_ROWS}`,
  );
  const undecidedFiles = new Map(found.map(({ file, reason }) => [file, undecided(reason)]));
  const files = new TempTable(session, "import_files");
  const verdicts = new Map<number, FileVerdict>();
  const values: string[] = [];
  for (const read of reads)
    for (const [i, place] of read.group.places.entries()) {
      const file = read.group.files[i] as TextFile;
      values.push(`(${place}, ${literal(file.path)}, ${file.csv?.dialect.firstLine ?? 1})`);
      const { refusal = undecidedFiles.get(place), ...facts } = factsOf(read, place, file);
      verdicts.set(place, { found: [], remarks: [], decided: {}, ...facts, refusal });
    }
  await files.fill(
    values.length > 0
      ? `SELECT * FROM (VALUES ${values.join(", ")}) AS t(file, path, first_line)`
      : `SELECT NULL::INTEGER AS file, NULL::VARCHAR AS path, NULL::INTEGER AS first_line WHERE false`,
  );
  return { files, verdicts };
}

export async function rejectRows(
  { session, rejects }: ImportWork,
  table: TableSchema,
  judged: TempTable,
  files: TempTable,
): Promise<void> {
  if ((await countRows(session, `${judged.name} WHERE verdict IS NOT NULL`)) === 0) return;
  await rejects.add(
    table.name,
    `SELECT f.path AS source, f.first_line + j.file_row AS line, coalesce(j.symbol, j.symbol_text) AS symbol, NULL AS timestamp,
       j.verdict[1] AS rule, j.verdict[2] AS reason, NULL AS row
     FROM ${judged.name} j JOIN ${files.name} f ON f.file = j.file WHERE j.verdict IS NOT NULL`,
  );
}

/** Of rows with the same key the later one counts; those before it are listed. */
async function rejectReplaced(
  { rejects, session }: ImportWork,
  table: TableSchema,
  judged: TempTable,
  files: TempTable,
  key: readonly string[],
): Promise<void> {
  const names = key.map((name) => `j.${ident(name)}`).join(", ");
  const repeated = `(SELECT ${names} FROM ${judged.name} j WHERE verdict IS NULL GROUP BY ALL HAVING count(*) > 1)`;
  if ((await countRows(session, repeated)) === 0) return;
  await rejects.add(
    table.name,
    `SELECT f.path AS source, f.first_line + j.file_row AS line, j.symbol, NULL AS timestamp, 'duplicate_key' AS rule,
       j.symbol || ' is repeated; of each column the later row counts that has a value' AS reason, NULL AS row
     FROM ${judged.name} j JOIN ${files.name} f ON f.file = j.file WHERE j.verdict IS NULL
     QUALIFY row_number() OVER (PARTITION BY ${names} ORDER BY j."row" DESC) > 1`,
  );
}

export function previewOf(
  { session }: ImportWork,
  judged: TempTable,
  place: number,
  limit: number,
  columns: readonly string[],
  shownAs: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>[]> {
  const list = columns.map((name) => `CAST(${ident(name)} AS VARCHAR) AS ${ident(shownAs[name] ?? name)}`);
  return session.json(
    `SELECT ${list.join(", ")}, file_row::DOUBLE AS "row" FROM ${judged.name} WHERE file = ${place} AND verdict IS NULL ORDER BY "row" LIMIT ${limit}`,
  );
}
