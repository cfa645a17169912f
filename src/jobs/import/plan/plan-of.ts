import type { Session } from "../../../db/session/session.js";
import type { ImportOptions } from "../import-options.js";
import { type OpenGroup, openGroup } from "../rows/raw-rows.js";
import type { FileVerdict, ReadGroup, TableImport } from "../table-import.js";
import { stemOf } from "../text/whole-file.js";
import type { FieldPlan, FormPlan } from "./import-plan.js";

/** Fields that come first in a plan, whether or not the user mapped others. */
const FIRST: readonly string[] = ["symbol", "period_end", "announce_date"];

/** Options that are in a plan as the user gave them. */
const GIVEN = [
  "encoding",
  "skip",
  "dateFormat",
  "zone",
  "exchange",
  "roundVolumes",
  "announceLagDays",
  "period",
  "prices",
  "values",
] as const;

/** How the files of each form were read, with an example of each field. */
export async function planOf(
  session: Session,
  reads: readonly ReadGroup[],
  verdicts: ReadonlyMap<number, FileVerdict>,
  options: ImportOptions,
  rows: TableImport,
): Promise<FormPlan[]> {
  const forms: FormPlan[] = [];
  for (const read of reads) {
    const { group, chosen, mark } = read;
    const [place = 0] = group.places;
    const file = group.files[0] as (typeof group.files)[number];
    const verdict = verdicts.get(place);
    const [after] = verdict?.refusal === undefined ? await rows.preview(place, 1) : [];
    // Both sides of the example are of one row: the first that lands.
    await using open = await openGroup(session, { files: [file], places: [place] });
    const before = await textsOf(session, open, Number(after?.row ?? 0));
    const fields: FieldPlan[] = [];
    for (const name of FIRST.concat([...chosen.fields.keys()])) {
      const column = chosen.fields.get(name);
      if (column === undefined || fields.some(({ field }) => field === name)) continue;
      fields.push({
        field: name,
        column: column.name,
        readAs: readAs(name, verdict, options, mark),
        before: before[column.index],
        after: shown(after?.[name]),
      });
    }
    if (!chosen.fields.has("symbol") && !chosen.fields.has("symbols") && after?.symbol !== undefined)
      fields.unshift({
        field: "symbol",
        column: undefined,
        readAs:
          file.csv?.wide !== undefined
            ? "the header's second level"
            : options.symbol !== undefined
              ? "the option"
              : "the file's name",
        before: stemOf(file.path),
        after: shown(after.symbol),
      });
    forms.push({
      files: group.files.map(({ path }) => path),
      source: chosen.source?.name,
      fields,
      found: [...file.found, ...(mark === "," ? ["decimal commas"] : []), ...(verdict?.found ?? [])],
      unused: chosen.unused.map(({ name, advice }) => ({ column: name, advice })),
      columns: file.columns,
      decided: withoutUndefined({
        map: {
          ...Object.fromEntries([...chosen.fields].map(([name, column]) => [name, column.name])),
          ...options.map,
        },
        ...Object.fromEntries(GIVEN.map((name) => [name, options[name]])),
        decimal: mark,
        ...verdict?.decided,
      }),
    });
  }
  return forms;
}

function readAs(
  field: string,
  verdict: FileVerdict | undefined,
  { zone, exchange }: ImportOptions,
  mark: string,
): string {
  const { decided } = verdict ?? {};
  switch (field) {
    case "symbol":
      return exchange === undefined ? "symbol" : `symbol, of ${exchange} where it names no exchange`;
    case "symbols":
      return exchange === undefined ? "symbols" : `symbols, of ${exchange} where they name no exchange`;
    case "timestamp":
      if (decided?.barLabel !== undefined)
        return `minute, labelled at its ${decided.barLabel}${zone === undefined ? "" : `, in ${zone}`}`;
      return zone === undefined ? "trading date" : `trading date in ${zone}`;
    case "ratio":
    case "stock_dividend":
    case "split":
      return "ratio";
    case "map_ticker":
    case "new_symbol":
      return "symbol";
    case "kind":
    case "source":
    case "currency":
      return "text";
    case "volume":
      return decided?.volumeUnit ?? "number";
    case "amount":
      return decided?.amountUnit === undefined ? "number" : `money in ${decided.amountUnit}`;
    case "period_end":
    case "announce_date":
    case "listing_date":
    case "ex_date":
    case "from_date":
    case "until_date":
    case "to_date":
    case "record_date":
    case "pay_date":
      return "date";
    default:
      return mark === ","
        ? "number with a decimal comma"
        : /name|(?:^|_)(?:type|id)$|category|description/.test(field)
          ? "text"
          : "number";
  }
}

async function textsOf(session: Session, open: OpenGroup, offset: number): Promise<(string | undefined)[]> {
  const list = open.columns.map(({ sql }, i) => `CAST(${sql} AS VARCHAR) AS b${i}`);
  if (list.length === 0) return [];
  const [row] = await session.json<Record<string, string | null>>(
    `SELECT ${list.join(", ")} FROM ${open.from} LIMIT 1 OFFSET ${offset}`,
  );
  return open.columns.map((_, i) => row?.[`b${i}`] ?? undefined);
}

function shown(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  return textOf(value);
}

export function textOf(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  return typeof value === "string" ? value : JSON.stringify(value);
}

function withoutUndefined(options: ImportOptions): ImportOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
