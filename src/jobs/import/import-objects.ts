import { DAY_MS } from "../../core/time.js";
import { ident, literal } from "../../db/quote.js";
import { TempTable } from "../../db/session/temp-table.js";
import { landStatements } from "../../lake/land/land-statements.js";
import { landVersions } from "../../lake/land/land-versions.js";
import type { TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { INCOME_FLOWS, statementFieldsOf } from "../../schema/statements.js";
import { landExchangeCounts } from "../ingest/land-exchange-counts.js";
import { plainName } from "./plan/field-names.js";
import { type Flow, flowKind } from "./plan/judge-flows.js";
import { isReadDirectly } from "./rows/column-sql.js";
import { INSTRUMENT_FIELDS, instrumentColumnsSql, instrumentsSql } from "./rows/instruments.js";
import { isMissingSql, isNumberSql } from "./rows/number-sql.js";
import { ObjectRows } from "./rows/object-rows.js";
import type { FileGroup } from "./rows/raw-rows.js";
import { isAmount, statementFields, statementsSql } from "./rows/statements.js";
import { membersSql, memberTextsSql, UNIVERSE_FIELDS } from "./rows/universes.js";
import {
  type FileVerdict,
  type ImportWork,
  MOST_ROWS,
  type ReadGroup,
  type TableImport,
  undecided,
} from "./table-import.js";

/** Valid names of items of statements. A table of statements gets a column for each item. */
const ITEM = /^[A-Za-z_]\w{0,62}$/;

/** The import of instruments. */
export async function importInstruments(work: ImportWork): Promise<TableImport> {
  const rows = new ObjectRows(work.session, INSTRUMENT_FIELDS, work.options);
  const judged = new TempTable(work.session, "judged_instruments");
  const staged = new TempTable(work.session, "staged_instruments");
  await rows.create();
  return {
    ...common(work, rows, judged),
    required: ["symbol"],
    hasFileSymbols: false,
    add: async (open, { chosen, mark }, symbol) => {
      await rows.add(open, chosen, symbol, mark);
      return new Map();
    },
    async judge(reads) {
      await rows.read();
      await judged.fill(instrumentsSql(rows.rowsSql()));
      const { files, verdicts } = await fileRules(work, judged, reads);
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
      previewOf(work, judged, place, limit, [
        "symbol",
        "name",
        "kind",
        "listing_date",
        "total_shares",
        "float_shares",
        "lot_size",
      ]),
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

/** The variant of `ext` that a service would use for an instrument of a region with members of it. */
const EXT_TYPE = `CASE WHEN coalesce(CAST(s.float_shares AS VARCHAR), CAST(s.total_shares AS VARCHAR), CAST(s.limit_up AS VARCHAR),
  CAST(s.limit_down AS VARCHAR), CAST(s.tick_size AS VARCHAR), CAST(s.lot_size AS VARCHAR), CAST(s.listing_date AS VARCHAR), s.name_en) IS NOT NULL
  THEN lower(s.region) || '_equity' END`;

/** The import of universes with their members. */
export async function importUniverses(work: ImportWork): Promise<TableImport> {
  const rows = new ObjectRows(work.session, UNIVERSE_FIELDS, work.options);
  const judged = new TempTable(work.session, "judged_members");
  const staged = new TempTable(work.session, "staged_universes");
  const members = new TempTable(work.session, "staged_members");
  await rows.create();
  return {
    ...common(work, rows, judged),
    required: ["id", "symbols"],
    hasFileSymbols: false,
    add: async (open, { chosen, mark }) => {
      await rows.add(open, chosen, undefined, mark);
      return new Map();
    },
    async judge(reads) {
      await rows.read(memberTextsSql());
      await judged.fill(membersSql(rows.raw, rows.symbols));
      const { files, verdicts } = await fileRules(work, judged, reads);
      await using _ = files;
      await withoutRefused(work, judged, verdicts);
      await rejectRows(work, UNIVERSE_MEMBERS, judged, files);
      const newest = ["name", "category", "description"].map((name) => `arg_max(${name}, "row") AS ${name}`);
      await staged.fill(`SELECT id, ${newest.join(", ")}, coalesce(arg_max(region, "row"), mode(symbol_region)) AS region, count(DISTINCT symbol) AS symbol_count
        FROM ${judged.name} WHERE verdict IS NULL GROUP BY id`);
      await members.fill(
        `SELECT DISTINCT m.id, m.symbol, u.region FROM ${judged.name} m JOIN ${staged.name} u USING (id) WHERE m.verdict IS NULL`,
      );
      return verdicts;
    },
    preview: (place, limit) => previewOf(work, judged, place, limit, ["id", "name", "symbol"]),
    async *land(lake, options) {
      const defaults = { name: "s.id", category: "'imported'" };
      yield await landVersions(work.session, lake, UNIVERSES, staged.name, {
        ...options,
        merge: "keep",
        defaults,
      });
      const complete = `c.id IN (SELECT id FROM ${staged.name})`;
      yield await landVersions(work.session, lake, UNIVERSE_MEMBERS, members.name, { ...options, complete });
    },
  };
}

/** The import of a table of statements: every column of numbers lands, under its name or the mapped one. */
export async function importStatements(work: ImportWork, table: TableSchema): Promise<TableImport> {
  const { session, options, rejects } = work;
  const declared = statementFieldsOf(table);
  const texts = declared.filter(({ type }) => type === "string").map(({ name }) => name);
  const fields = statementFields(
    declared.filter(({ type }) => type === "double").map(({ name }) => name),
    texts,
  );
  const rows = new ObjectRows(session, fields, options);
  const judged = new TempTable(session, "judged_statements");
  const staged = new TempTable(session, "staged_statements");
  const given = new Set<string>();
  const unusedOf = new Map<ReadGroup, readonly string[]>();
  await rows.create();
  return {
    ...common(work, rows, judged),
    required: ["symbol", "period_end"],
    hasFileSymbols: true,
    async add(open, read, symbol) {
      const { more, unused } = await itemsOf(work, open, read);
      unusedOf.set(read, unused);
      for (const name of [...read.chosen.fields.keys(), ...more.keys()]) given.add(name);
      await rows.add(open, read.chosen, symbol, read.mark, more);
      return more;
    },
    async judge(reads) {
      await rows.read();
      const tomorrow = new Date(work.now + DAY_MS).toISOString().slice(0, 10);
      await judged.fill(statementsSql(rows.rowsSql(), rows.numbers, options, tomorrow));
      const { files, verdicts } = await fileRules(work, judged, reads, (read) => moneyUnit(read, options));
      await using _ = files;
      await judgeFlows(work, table, judged, verdicts, rows.numbers);
      for (const read of reads)
        for (const place of read.group.places) {
          const verdict = verdicts.get(place) as FileVerdict;
          const unused = unusedOf.get(read) ?? [];
          const remarks = unused.length > 0 ? [`columns that are not numbers: ${unused.join(", ")}`] : [];
          verdicts.set(place, { ...verdict, remarks: [...verdict.remarks, ...remarks] });
        }
      await withoutRefused(work, judged, verdicts);
      if (options.values === "discrete" && isFlowTable(table)) await cumulate(work, judged, rows.numbers);
      await rejectRows(work, table, judged, files);
      const names = rows.numbers.concat(texts).filter((name) => given.has(name));
      await staged.fill(`SELECT symbol, period_end, announce_date, ${names.map((name) => `${ident(name)}, `).join("")}f.path AS source,
          f.first_line + j.file_row AS line, j."row" AS ordinal
        FROM ${judged.name} j JOIN ${files.name} f ON f.file = j.file WHERE verdict IS NULL`);
      return verdicts;
    },
    preview: (place, limit) =>
      previewOf(work, judged, place, limit, [
        "symbol",
        "period_end",
        "announce_date",
        ...rows.numbers.filter((name) => given.has(name)).slice(0, 4),
      ]),
    async *land(lake, landOptions) {
      yield await landStatements(session, lake, table, staged.name, {
        ...landOptions,
        rejects,
        merge: "keep",
      });
    },
  };
}

/** What the imports of all these tables have in common. */
function common(
  work: ImportWork,
  rows: ObjectRows,
  judged: TempTable,
): Pick<TableImport, "remove" | "oddRows"> & AsyncDisposable {
  const places = (group: FileGroup): string => group.places.join(", ");
  return {
    async remove(group) {
      await work.session.run(`DELETE FROM ${rows.raw} WHERE file IN (${places(group)})`);
    },
    async oddRows(group) {
      const [found] = await work.session.json<{ n: number }>(
        `SELECT count(odd)::DOUBLE AS n FROM ${rows.raw} WHERE file IN (${places(group)})`,
      );
      return found?.n ?? 0;
    },
    async [Symbol.asyncDispose]() {
      await judged[Symbol.asyncDispose]();
      await rows[Symbol.asyncDispose]();
    },
  };
}

type Refusal = FileVerdict["refusal"];

/** Deletes the rows of refused files. */
async function withoutRefused(
  { session }: ImportWork,
  judged: TempTable,
  verdicts: ReadonlyMap<number, FileVerdict>,
): Promise<void> {
  const refused = [...verdicts].filter(([, { refusal }]) => refusal !== undefined).map(([place]) => place);
  if (refused.length > 0)
    await session.run(`DELETE FROM ${judged.name} WHERE file IN (${refused.join(", ")})`);
}

/** A table of the files with their paths and first lines, and a verdict on each file. */
async function fileRules(
  { session }: ImportWork,
  judged: TempTable,
  reads: readonly ReadGroup[],
  refusalOf: (read: ReadGroup) => Refusal = () => undefined,
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
      const { path, csv } = read.group.files[i] as (typeof read.group.files)[number];
      values.push(`(${place}, ${literal(path)}, ${csv?.dialect.firstLine ?? 1})`);
      verdicts.set(place, {
        refusal: refusalOf(read) ?? undecidedFiles.get(place),
        found: [],
        remarks: [],
        decided: {},
      });
    }
  await files.fill(
    values.length > 0
      ? `SELECT * FROM (VALUES ${values.join(", ")}) AS t(file, path, first_line)`
      : `SELECT NULL::INTEGER AS file, NULL::VARCHAR AS path, NULL::INTEGER AS first_line WHERE false`,
  );
  return { files, verdicts };
}

/** Adds the rows with a verdict to the rejects. */
async function rejectRows(
  { session, rejects }: ImportWork,
  table: TableSchema,
  judged: TempTable,
  files: TempTable,
): Promise<void> {
  const [found] = await session.json<{ n: number }>(`SELECT count(verdict)::DOUBLE AS n FROM ${judged.name}`);
  if (found?.n === 0) return;
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
  const [found] = await session.json<{ n: number }>(
    `SELECT count(*)::DOUBLE AS n FROM (SELECT ${names} FROM ${judged.name} j WHERE verdict IS NULL GROUP BY ALL HAVING count(*) > 1)`,
  );
  if (found?.n === 0) return;
  await rejects.add(
    table.name,
    `SELECT f.path AS source, f.first_line + j.file_row AS line, j.symbol, NULL AS timestamp, 'duplicate_key' AS rule,
       j.symbol || ' is repeated; of each column the later row counts that has a value' AS reason, NULL AS row
     FROM ${judged.name} j JOIN ${files.name} f ON f.file = j.file WHERE j.verdict IS NULL
     QUALIFY row_number() OVER (PARTITION BY ${names} ORDER BY j."row" DESC) > 1`,
  );
}

function previewOf(
  { session }: ImportWork,
  judged: TempTable,
  place: number,
  limit: number,
  columns: readonly string[],
): Promise<Record<string, unknown>[]> {
  const list = columns.map(
    (name) => `CAST(${ident(name)} AS VARCHAR) AS ${ident(name === "kind" ? "type" : name)}`,
  );
  return session.json(
    `SELECT ${list.join(", ")} FROM ${judged.name} WHERE file = ${place} AND verdict IS NULL ORDER BY "row" LIMIT ${limit}`,
  );
}

/** The columns of a file that are items and that no field names: those of which most values are numbers. */
async function itemsOf(
  { session, options }: ImportWork,
  open: Parameters<TableImport["add"]>[0],
  { chosen, group, mark }: ReadGroup,
): Promise<{ more: ReadonlyMap<string, number>; unused: readonly string[] }> {
  const { columns } = group.files[0] as (typeof group.files)[number];
  const taken = new Set([...chosen.fields.values()].map(({ index }) => index));
  const others = columns.map((name, index) => ({ name, index })).filter(({ index }) => !taken.has(index));
  const tests = others.map(({ index }) => {
    const column = open.columns[index] as (typeof open.columns)[number];
    if (isReadDirectly(column)) return `true AS n${index}`;
    if (column.type !== "VARCHAR") return `false AS n${index}`;
    const given = `NOT ${isMissingSql(column.sql)}`;
    return `coalesce(2 * count(*) FILTER (${given} AND ${isNumberSql(column.sql, options.decimal ?? mark)}) > count(*) FILTER (${given}), false) AS n${index}`;
  });
  const [found] =
    tests.length > 0
      ? await session.json<Record<string, boolean>>(`SELECT ${tests.join(", ")} FROM ${open.from}`)
      : [{}];
  const more = new Map<string, number>();
  const unused: string[] = [];
  for (const { name, index } of others) {
    const plain = ITEM.test(name) ? name : plainName(name).replace(/\W+/g, "_");
    const isOwn = OWN_COLUMNS.has(plain);
    if (
      !isOwn &&
      !NO_ITEM.test(plain) &&
      found?.[`n${index}`] === true &&
      ITEM.test(plain) &&
      !more.has(plain)
    )
      more.set(plain, index);
    else if (!isOwn) unused.push(name);
  }
  return { more, unused };
}

/** Columns of our own exports that the lake fills itself. */
const OWN_COLUMNS = new Set(["first_seen_at", "region", "valid_from", "valid_to"]);
/** Names of columns with dates, which may look like numbers. */
const NO_ITEM = /(?:^|_)(?:date|time|code|year|quarter)$/;

/** A unit of money in a column's name, or in a line before the header. */
const MONEY_UNIT = /(万元|千元|百万元|亿元|\bthousands?\b|\bmillions?\b|\(000s?\))/i;

function moneyUnit({ group }: ReadGroup, options: ImportWork["options"]): Refusal {
  if (options.amountUnit !== undefined) return undefined;
  const file = group.files[0] as (typeof group.files)[number];
  const texts = [...file.columns, ...(file.csv?.preamble ?? [])];
  const found = texts.map((text) => MONEY_UNIT.exec(text)?.[1]).find((unit) => unit !== undefined);
  if (found === undefined) return undefined;
  const unit =
    /万元/.test(found) && !/百/.test(found)
      ? "ten-thousands"
      : /亿/.test(found)
        ? "hundred-millions"
        : /百万|million/i.test(found)
          ? "millions"
          : "thousands";
  return {
    reason: `it says that amounts are in units of "${found}"`,
    hint: `add \`amountUnit: "${unit}"\`, or \`amountUnit: "ones"\` if the numbers are of single units`,
  };
}

const isFlowTable = ({ name }: TableSchema): boolean => name === "income" || name === "cash_flow";

/** A share of companies from which the whole file is judged. */
const SOME = 0.1;

/** Judges whether the flows of files cumulate. Companies of mainland China must report so. */
async function judgeFlows(
  { session, options }: ImportWork,
  table: TableSchema,
  judged: TempTable,
  verdicts: Map<number, FileVerdict>,
  numbers: readonly string[],
): Promise<void> {
  if (!isFlowTable(table) || options.values !== undefined) return;
  const flow = [
    ...INCOME_FLOWS.filter((name) => name === "revenue"),
    "net_income_attributable",
    "net_income",
    "operating_cost",
    "net_operating_cash_flow",
    "net_cash_change",
  ].filter((name) => numbers.includes(name));
  if (flow.length === 0) return;
  const value = `coalesce(${flow.map(ident).join(", ")})`;
  const rows = await session.json<{
    file: number;
    symbol: string;
    region: string;
    month: number;
    value: number;
  }>(
    `SELECT any_value(file) AS file, symbol, any_value(region) AS region, month, arg_max(value, "row") AS value FROM (
       SELECT *, (year(period_end + 10) * 12 + month(period_end + 10) - 2)::DOUBLE AS month, ${value} AS value
       FROM ${judged.name} WHERE verdict IS NULL) WHERE value IS NOT NULL GROUP BY symbol, month ORDER BY symbol, month`,
  );
  const bySymbol = groupBySymbol(rows);
  const kinds = { cumulative: 0, discrete: 0, mixed: 0, unknown: 0 };
  let example: { symbol: string; values: string } | undefined;
  let open: string | undefined;
  for (const [symbol, own] of bySymbol) {
    const flows: Flow[] = own.map(({ month, value: one }) => ({ month, value: one }));
    const kind = flowKind(flows);
    kinds[kind] += 1;
    if (kind === "discrete" || kind === "mixed")
      example ??= {
        symbol,
        values: flows
          .slice(0, 4)
          .map((one) => one.value)
          .join(", "),
      };
    const hasQuarters = flows.some((one, i) => i > 0 && one.month - (flows[i - 1] as Flow).month === 3);
    if (kind === "unknown" && hasQuarters && own[0]?.region !== "CN") open ??= symbol;
  }
  const wrong = kinds.discrete + kinds.mixed;
  const judgedSymbols = wrong + kinds.cumulative;
  const refusal = ((): Refusal => {
    if (wrong > 0 && wrong >= judgedSymbols * SOME) {
      const what =
        kinds.mixed > kinds.discrete ? "quarters alone and of whole years in turn" : "quarters alone";
      return {
        reason: `its flows look like those of ${what} (${example?.symbol}: ${example?.values}), and the lake's are of the fiscal year so far`,
        hint:
          kinds.mixed > kinds.discrete
            ? 'subtract the three quarters from each year and add `values: "discrete"`; `values: "cumulative"` takes them as they are'
            : '`values: "discrete"` adds up the quarters of each year; `values: "cumulative"` takes them as they are',
      };
    }
    if (open !== undefined && kinds.cumulative === 0)
      return {
        reason: `it does not show whether its flows (of ${open}, for example) are of quarters alone or of the fiscal year so far`,
        hint: 'add `values: "discrete"` or `values: "cumulative"`',
      };
    return undefined;
  })();
  const found =
    kinds.cumulative > 0
      ? [`flows cumulate over the fiscal year (${kinds.cumulative} of ${bySymbol.size} companies show it)`]
      : [];
  for (const [place, verdict] of verdicts)
    verdicts.set(place, {
      ...verdict,
      refusal: verdict.refusal ?? refusal,
      found: [...verdict.found, ...found],
    });
}

function groupBySymbol<Row extends { readonly symbol: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const own = groups.get(row.symbol);
    if (own === undefined) groups.set(row.symbol, [row]);
    else own.push(row);
  }
  return groups;
}

/**
 * Adds up the flows of quarters from January. A quarter whose year lacks an earlier one is set aside; items a share
 * cannot be added, and become null.
 */
async function cumulate(
  { session }: ImportWork,
  judged: TempTable,
  numbers: readonly string[],
): Promise<void> {
  const summed = numbers.map((name) =>
    isAmount(name)
      ? `sum(${ident(name)}) OVER quarters AS ${ident(name)}`
      : `CAST(NULL AS DOUBLE) AS ${ident(name)}`,
  );
  const month = "month(period_end + 10 - INTERVAL 1 MONTH)";
  const year = "year(period_end + 10 - INTERVAL 1 MONTH)";
  await using before = new TempTable(session, "discrete_statements");
  await before.fill(`SELECT * FROM ${judged.name}`);
  await judged.fill(`SELECT * REPLACE (${summed.join(", ")},
      CASE WHEN verdict IS NOT NULL THEN verdict WHEN count(*) OVER quarters <> (${month} + 2) // 3
        THEN ['null_in_required', 'an earlier quarter of the year is missing, or repeated: quarters are added up from January'] END AS verdict)
    FROM ${before.name}
    WINDOW quarters AS (PARTITION BY symbol, verdict IS NULL, ${year} ORDER BY period_end)`);
}
