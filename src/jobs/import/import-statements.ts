import { DAY_MS } from "../../core/time.js";
import { ident } from "../../db/quote.js";
import { TempTable } from "../../db/session/temp-table.js";
import { landStatements } from "../../lake/land/land-statements.js";
import type { TableSchema } from "../../schema/column.js";
import { statementFieldsOf } from "../../schema/statements.js";
import { common, fileRules, previewOf, type Refusal, rejectRows, withoutRefused } from "./import-objects.js";
import { plainName } from "./plan/field-names.js";
import { type Flow, flowKind } from "./plan/judge-flows.js";
import { isReadDirectly } from "./rows/column-sql.js";
import { isMissingSql, isNumberSql } from "./rows/number-sql.js";
import { ObjectRows } from "./rows/object-rows.js";
import { isAmount, statementFields, statementsSql } from "./rows/statements.js";
import type { FileVerdict, ImportWork, ReadGroup, TableImport } from "./table-import.js";

/** Valid names of items of statements. A table of statements gets a column for each item. */
const ITEM = /^[A-Za-z_]\w{0,62}$/;

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
    "revenue",
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
