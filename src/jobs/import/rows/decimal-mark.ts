import { UsageError } from "../../../core/errors.js";
import { literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import type { DecimalMark } from "../import-options.js";
import { decimalMarkOf, MARKED_FORMS, type MarkedNumbers, markedNumbers } from "./number-sql.js";
import { type FileGroup, type OpenGroup, openGroup } from "./raw-rows.js";

/** The decimal mark that the first rows of files show. @throws {UsageError} where it has two readings, or files differ. */
export function headMark({ files }: FileGroup): DecimalMark {
  const marks = files.map(({ path, csv }): DecimalMark => {
    // In JSON and Parquet, numbers have a type. Between commas, only quoted numbers could have a decimal comma: all of the
    // file is looked at then.
    if (csv === undefined || csv.dialect.delimiter === ",") return ".";
    const texts = csv.rows.flat();
    const marked = markedNumbers(texts);
    // Semicolons are of places with a decimal comma, where 1.234 is a whole number.
    const isEither =
      csv.dialect.delimiter === ";" &&
      marked.points > 0 &&
      marked.decimals + marked.commas + marked.groups === 0;
    const mark = isEither ? undefined : decimalMarkOf(marked);
    if (mark === undefined)
      throw twoMarks(
        path,
        texts.find((text) => /\d[.,]\d{3}$/.test(text.trim())),
      );
    return mark;
  });
  return oneMark(marks);
}

/** Fields that count something: `1,000` of them is a thousand. */
const COUNTS = ["volume", "lot", "lot_size", "total_shares", "float_shares", "open_interest"];

/** The mark of all files of a group. @throws where they differ: each of them is then read alone. */
function oneMark(marks: readonly DecimalMark[]): DecimalMark {
  const [first = ".", ...others] = new Set(marks);
  if (others.length > 0) throw new UsageError("files of one form have different decimal marks");
  return first;
}

function twoMarks(path: string, example: string | undefined): UsageError {
  const such = example === undefined ? "" : ` such as ${example.trim()}`;
  return new UsageError(`file ${path}: numbers${such} have two readings`, {
    hint: 'add `decimal: ","` or `decimal: "."`',
  });
}

/** Whether a text of a table of objects has a comma. Bars know it of their numbers. */
export async function hasCommas(session: Session, table: string, open: OpenGroup): Promise<boolean> {
  if (table.startsWith("bars_")) return false;
  const texts = open.columns.filter(({ type }) => type === "VARCHAR");
  if (texts.length === 0) return false;
  const any = texts.map(({ sql }) => `coalesce(bool_or(contains(${sql}, ',')), false)`);
  const [found] = await session.json<{ has: boolean }>(`SELECT ${any.join(" OR ")} AS has FROM ${open.from}`);
  return found?.has === true;
}

/** The decimal mark that all texts of files show. @throws {UsageError} as {@link headMark}. */
export async function markShown(
  session: Session,
  group: FileGroup,
  fields: ReadonlyMap<string, { readonly index: number }>,
): Promise<DecimalMark> {
  await using open = await openGroup(session, group, "none");
  const counts = new Set(COUNTS.flatMap((field) => fields.get(field)?.index ?? []));
  const texts = open.columns.filter(({ type }, i) => type === "VARCHAR" && !counts.has(i));
  if (texts.length === 0) return ".";
  const list = texts.map(({ sql }) => sql).join(", ");
  const forms = Object.entries(MARKED_FORMS).map(
    ([name, form]) => `count(*) FILTER (regexp_full_match(text, ${literal(form)}))::DOUBLE AS ${name}`,
  );
  const rows = await session.json<MarkedNumbers & { file: number; example: string | null }>(
    `SELECT file, ${forms.join(", ")}, first(text) FILTER (regexp_matches(text, '^[-+]?\\d+,\\d+$')) AS example
     FROM (SELECT file, trim(unnest([${list}])) AS text FROM ${open.from}) GROUP BY file ORDER BY file`,
  );
  const marks = rows.map((row): DecimalMark => {
    const mark = decimalMarkOf(row);
    if (mark !== undefined) return mark;
    throw twoMarks(group.files[group.places.indexOf(row.file)]?.path ?? "", row.example ?? undefined);
  });
  return oneMark(marks);
}
