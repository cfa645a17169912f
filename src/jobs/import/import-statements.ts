import { UsageError } from "../../core/errors.js";
import { DAY_MS } from "../../core/time.js";
import { ident } from "../../db/quote.js";
import { TempTable } from "../../db/session/session.js";
import { landStatements } from "../../lake/land/land-statements.js";
import type { TableSchema } from "../../schema/column.js";
import { statementFieldsOf } from "../../schema/statements.js";
import { common, fileRules, previewOf, rejectRows, withoutRefused } from "./import-objects.js";
import type { ChosenColumns, FileColumn } from "./plan/choose-columns.js";
import { plainName } from "./plan/field-names.js";
import { unitOfName } from "./plan/named-unit.js";
import { dateOrderOf, isNullWord, readTime, timeFormat } from "./plan/read-time.js";
import {
  exponentOf,
  isReadIn,
  shareExponents,
  sharesFound,
  statedUnits,
  type UnitKind,
  unitRefusal,
  unitRemarks,
} from "./plan/statement-units.js";
import { isMissingSql, isNumberSql, isReadDirectly, textExpression } from "./rows/number-sql.js";
import { ObjectRows } from "./rows/object-rows.js";
import type { OpenGroup } from "./rows/raw-rows.js";
import { addUpQuarters, judgeFlows } from "./rows/statement-flows.js";
import {
  isAmount,
  isFlowTable,
  itemKind,
  snakeName,
  statementFields,
  statementsSql,
} from "./rows/statements.js";
import type { FileVerdict, ImportWork, ReadGroup, TableImport } from "./table-import.js";

/** Names of quarters, halves and years, which do not say their last day: a fiscal year may end in any month. */
const PERIOD_NAME =
  /^(?:fy|q[1-4]|[1-4]q|[hs][12]|[12]h|9m|3m|6m|12m|ttm|annual|annually|quarter|quarterly|(?:fy|cy)?\s?(?:\d{2}|\d{4})[\s_-]?(?:fy|q[1-4]|[hs][12])|(?:fy|q[1-4]|[hs][12])[\s_'-]*(?:\d{2}|\d{4})|(?:\d{4}年?)?(?:第?[一三]季报?|第?[一二三四]季度|中报|半年报|年报|[一三]季度报?告?))$/i;

interface PeriodEnds {
  readonly chosen: ChosenColumns;
  readonly names: FileColumn;
  readonly remarks: readonly string[];
}

/**
 * Where the column of the ends of periods has names of quarters, as that of Financial Modeling Prep, the column with their
 * last days: `date`, if it shows that it has the ends of periods and not the days of announcements.
 *
 * @returns undefined where the chosen column has dates.
 * @throws {UsageError} where no column certainly has them.
 */
async function withPeriodEnds(
  { session, options }: ImportWork,
  open: OpenGroup,
  { chosen, group: { files } }: ReadGroup,
): Promise<PeriodEnds | undefined> {
  const column = chosen.fields.get("period_end");
  if (column === undefined || options.map?.period_end !== undefined) return undefined;
  const sqlOf = ({ index }: FileColumn): string =>
    textExpression(open.columns[index] as (typeof open.columns)[number]);
  const names = await session.json<{ text: string }>(
    `SELECT DISTINCT ${sqlOf(column)} AS text FROM ${open.from} WHERE ${sqlOf(column)} IS NOT NULL LIMIT 1000`,
  );
  const texts = names.map(({ text }) => text).filter((text) => !isNullWord(text));
  if (texts.length === 0 || !texts.every((text) => PERIOD_NAME.test(text.normalize("NFKC").trim())))
    return undefined;
  const [{ path, columns }] = files as [(typeof files)[number]];
  const index = columns.findIndex((name) => plainName(name) === "date");
  const date = index < 0 ? undefined : { index, name: columns[index] as string };
  const announced = chosen.fields.get("announce_date");
  if (date !== undefined) {
    const pairs = await session.json<{ ends: string | null; announced: string | null }>(
      `SELECT DISTINCT ${sqlOf(date)} AS ends, ${announced === undefined ? "NULL" : sqlOf(announced)} AS announced FROM ${open.from}`,
    );
    if (areEnds(pairs, options.dateFormat))
      return {
        chosen: { ...chosen, fields: new Map([...chosen.fields, ["period_end", date]]) },
        names: column,
        remarks: [
          `its column "${column.name}" names periods ("${texts[0]}"): their last days are in "${date.name}"`,
        ],
      };
  }
  throw new UsageError(
    `file ${path}: its column "${column.name}" names periods ("${texts[0]}"), and not their last days`,
    {
      hint:
        date === undefined
          ? `give the column of their last days with \`map: { period_end: "COLUMN" }\`; its columns are ${columns.join(", ")}`
          : `add \`map: { period_end: "${date.name}" }\` if that column has their last days, and not those of the announcements`,
    },
  );
}

/** Whether dates are the ends of periods: all are before their announcements, or the last days of months. */
function areEnds(
  pairs: readonly { readonly ends: string | null; readonly announced: string | null }[],
  format: string | undefined,
): boolean {
  const daysOf = (texts: readonly (string | null)[]): (number | undefined)[] => {
    const given = format === undefined ? undefined : timeFormat(format);
    const order = dateOrderOf(texts.filter((text) => text !== null));
    return texts.map((text) => {
      if (text === null) return undefined;
      const read = given?.(text) ?? readTime(text, order);
      return read.kind === "date" || read.kind === "wall" ? read.day : undefined;
    });
  };
  const ends = daysOf(pairs.map((one) => one.ends));
  const announced = daysOf(pairs.map((one) => one.announced));
  if (ends.length === 0 || ends.includes(undefined)) return false;
  const isLastDay = (day: number): boolean => new Date((day + 1) * DAY_MS).getUTCDate() === 1;
  if (ends.every((day) => isLastDay(day as number))) return true;
  return announced.every((day, i) => day !== undefined && day > (ends[i] as number));
}

/** Valid names of items of statements. A table of statements gets a column for each item. */
const ITEM = /^[A-Za-z_]\w{0,62}$/;

interface GroupItems {
  readonly items: ReadonlyMap<string, FileColumn>;
  readonly remarks: readonly string[];
}

/** The import of a table of statements: every column of numbers lands, under its name or the mapped one. */
export async function importStatements(work: ImportWork, table: TableSchema): Promise<TableImport> {
  const { session, options, rejects } = work;
  const declared = statementFieldsOf(table);
  const texts = declared.filter(({ type }) => type === "string").map(({ name }) => name);
  const numbers = declared.filter(({ type }) => type === "double").map(({ name }) => name);
  const rows = new ObjectRows(session, statementFields(numbers, texts), options);
  const judged = new TempTable(session, "judged_statements");
  const staged = new TempTable(session, "staged_statements");
  const given = new Set<string>();
  const groups = new Map<ReadGroup["group"], GroupItems>();
  await rows.create();
  return {
    ...common(work, rows, judged),
    required: ["symbol", "period_end"],
    hasFileSymbols: true,
    async add(open, found, symbol) {
      const period = await withPeriodEnds(work, open, found);
      const read = period === undefined ? found : { ...found, chosen: period.chosen };
      const { more, remarks } = await itemsOf(work, open, read, {
        declared: new Set(numbers),
        texts: new Set(texts),
        ignored: period?.names.index,
      });
      const { columns } = read.group.files[0] as (typeof read.group.files)[number];
      const items = new Map<string, FileColumn>([
        ...[...read.chosen.fields].filter(([name]) => numbers.includes(name)),
        ...[...more].map(([name, index]): [string, FileColumn] => [
          name,
          { index, name: columns[index] as string },
        ]),
      ]);
      for (const name of [...read.chosen.fields.keys(), ...more.keys()]) given.add(name);
      const shares = shareExponents(items, unitKind, options);
      const money = options.amountUnit === undefined ? 0 : exponentOf(options.amountUnit);
      const scaled = [...items].filter(
        ([name]) => (isAmount(name) && money !== 0) || (shares.get(name) ?? 0) !== 0,
      );
      await rows.expectNoScales(open, read, scaled);
      await rows.add(open, read.chosen, symbol, read.mark, more, shares);
      const fractions = await rows.judgeShares(read, shares);
      groups.set(read.group, { items, remarks: [...(period?.remarks ?? []), ...remarks, ...fractions] });
      const ends = read.chosen.fields.get("period_end");
      return new Map([
        ...more,
        ...(period === undefined || !ends ? [] : [["period_end", ends.index] as const]),
      ]);
    },
    async judge(reads) {
      await rows.read();
      const tomorrow = new Date(work.now + DAY_MS).toISOString().slice(0, 10);
      await judged.fill(statementsSql(rows.rowsSql(), rows.numbers, options, tomorrow));
      const units = fileUnits(reads, groups);
      const exponents = new Set([...units.values()].flatMap(({ money }) => [...money.keys()]));
      const { files, verdicts } = await fileRules(work, judged, reads, (_read, _place, file) => {
        const said = units.get(file);
        return { refusal: said && unitRefusal(said, options, exponents.size > 1) };
      });
      await using _ = files;
      if (isFlowTable(table.name)) await judgeFlows(work, judged, verdicts, rows.numbers);
      for (const read of reads)
        for (const [i, place] of read.group.places.entries()) {
          const verdict = verdicts.get(place) as FileVerdict;
          const file = read.group.files[i] as (typeof read.group.files)[number];
          const { items, remarks } = groups.get(read.group) ?? { items: new Map(), remarks: [] };
          const said = units.get(file);
          verdicts.set(place, {
            ...verdict,
            found: [...verdict.found, ...sharesFound(items, unitKind, options)],
            remarks: [
              ...verdict.remarks,
              ...remarks,
              ...(said === undefined || verdict.refusal !== undefined ? [] : unitRemarks(said, options)),
              ...itemRemarks(items, new Set(numbers), isFlowTable(table.name), options),
            ],
            decided: { amountUnit: options.amountUnit, volumeUnit: options.volumeUnit },
          });
        }
      await withoutRefused(work, judged, verdicts);
      if (options.values === "discrete" && isFlowTable(table.name))
        await addUpQuarters(work, judged, verdicts, rows.numbers);
      await rejectRows(work, table, judged, files);
      const names = rows.numbers.concat(texts).filter((name) => given.has(name));
      await staged.fill(`SELECT symbol, period_end, announce_date, ${names.map((name) => `${ident(name)}, `).join("")}f.path AS source,
          f.first_line + j.file_row AS line, j."row" AS ordinal
        FROM ${judged.name} j JOIN ${files.name} f ON f.file = j.file WHERE verdict IS NULL`);
      const unannounced = await session.json<{ place: number; rows: bigint }>(
        `SELECT file AS place, count(*) AS rows FROM ${judged.name} WHERE verdict IS NULL AND announce_date IS NULL GROUP BY file`,
      );
      for (const { place, rows: count } of unannounced) {
        const verdict = verdicts.get(place);
        if (verdict === undefined || verdict.refusal !== undefined) continue;
        const remark = `${count} ${count === 1n ? "statement has" : "statements have"} no announcement date, so that nothing before this import knows of them: \`announceLagDays: 60\` counts them as known 60 days after their period, \`map: { announce_date: "COLUMN" }\` names a column`;
        verdicts.set(place, { ...verdict, remarks: [...verdict.remarks, remark] });
      }
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

function unitKind(item: string): UnitKind {
  switch (itemKind(item)) {
    case "flow":
    case "balance":
      return "money";
    case "count":
      return "shares";
    case "other":
      return "none";
  }
}

/** What each file says about its units: the lines before the header are its own. */
function fileUnits(
  reads: readonly ReadGroup[],
  groups: ReadonlyMap<ReadGroup["group"], GroupItems>,
): Map<ReadGroup["group"]["files"][number], ReturnType<typeof statedUnits>> {
  return new Map(
    reads.flatMap(({ group }) =>
      group.files.map(
        (file) => [file, statedUnits(file, groups.get(group)?.items ?? new Map(), unitKind)] as const,
      ),
    ),
  );
}

/** What the options do not apply to, among the items that the schema does not name. */
function itemRemarks(
  items: ReadonlyMap<string, FileColumn>,
  declared: ReadonlySet<string>,
  isFlows: boolean,
  { amountUnit, values }: ImportWork["options"],
): string[] {
  const names = [...items.keys()];
  const noMoney = names.filter((name) => !declared.has(name) && !isAmount(name));
  const noFlows = names.filter((name) => itemKind(name) !== "flow");
  return [
    ...(amountUnit !== undefined && amountUnit !== "ones" && noMoney.length > 0
      ? [`\`amountUnit\` does not apply to items that are not amounts of money: ${noMoney.join(", ")}`]
      : []),
    ...(values === "discrete" && isFlows && noFlows.length > 0
      ? [
          `items that are not known to be flows are not added up, and left out: ${noFlows.join(", ")} (\`map: { ITEM: "${items.get(noFlows[0] as string)?.name}" }\` gives one another name)`,
        ]
      : []),
  ];
}

/** The columns of a file that are items and that no field names: those of which most values are numbers. */
async function itemsOf(
  { session, options }: ImportWork,
  open: Parameters<TableImport["add"]>[0],
  { chosen, group, mark }: ReadGroup,
  {
    declared,
    texts,
    ignored,
  }: {
    readonly declared: ReadonlySet<string>;
    readonly texts: ReadonlySet<string>;
    /** Place of a column that is used for nothing, and that another remark names. */
    readonly ignored: number | undefined;
  },
): Promise<{ more: ReadonlyMap<string, number>; remarks: readonly string[] }> {
  const { columns } = group.files[0] as (typeof group.files)[number];
  const taken = new Set([...chosen.fields.values()].map(({ index }) => index));
  const others = columns
    .map((name, index) => ({ name, index }))
    .filter(({ index }) => !taken.has(index) && index !== ignored);
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
  // Items of other tables that the file names, and those that the user names.
  const more = new Map(
    [...chosen.fields]
      .filter(([name]) => !KEY_FIELDS.has(name) && !texts.has(name) && !declared.has(name))
      .map(([name, { index }]): [string, number] => [name, index]),
  );
  const unused = {
    text: [] as string[],
    none: [] as string[],
    unnamed: [] as string[],
    taken: [] as string[],
    unit: [] as string[],
  };
  for (const { name, index } of others) {
    const plain = itemName(name);
    if (plain !== undefined && OWN_COLUMNS.has(plain)) continue;
    const unit = unitOfName(name);
    if (found?.[`n${index}`] !== true) unused.text.push(name);
    else if (plain === undefined) unused.unnamed.push(name);
    else if (NO_ITEM.test(snakeName(plain)) || KEY_FIELDS.has(plain)) unused.none.push(name);
    else if (more.has(plain) || chosen.fields.has(plain)) unused.taken.push(name);
    else if (unit !== undefined && !isReadIn(unit, unitKind(plain))) unused.unit.push(name);
    else more.set(plain, index);
  }
  const told = (what: string, names: readonly string[], advice = ""): string[] =>
    names.length > 0 ? [`${what}: ${names.join(", ")}${advice}`] : [];
  const mapped = (names: readonly string[]): string => ` (\`map: { ITEM: "${names[0]}" }\` lands one)`;
  return {
    more,
    remarks: [
      ...told("columns that are not numbers", unused.text),
      ...told("columns of dates and codes", unused.none),
      ...told("columns whose names give no name of an item", unused.unnamed, mapped(unused.unnamed)),
      ...told("columns of an item that another column has", unused.taken, mapped(unused.taken)),
      ...told("columns in a unit in which their items are not read", unused.unit, mapped(unused.unit)),
    ],
  };
}

/** The name of the item of a column; undefined where letters of other scripts would be lost. */
function itemName(name: string): string | undefined {
  if (ITEM.test(name)) return name;
  const plain = plainName(name);
  if (/[^\P{L}A-Za-z]/u.test(plain)) return undefined;
  const item = plain
    .replaceAll("%", " pct ")
    .replace(/[\W_]+/g, "_")
    .replace(/^_|_$/g, "");
  return ITEM.test(item) ? item : undefined;
}

const KEY_FIELDS = new Set(["symbol", "period_end", "announce_date"]);
/** Columns of our own exports that the lake fills itself. */
const OWN_COLUMNS = new Set(["first_seen_at", "region", "valid_from", "valid_to"]);
/** Names of columns with dates and codes, which may look like numbers. */
const NO_ITEM = /(?:^|_)(?:date|time|code|year|quarter|cik|cusip|sedol|permno|gvkey|id)$/;
