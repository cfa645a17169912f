import { UsageError } from "../../../core/errors.js";
import { DAY_MS } from "../../../core/time.js";
import type { ChosenColumns, FileColumn } from "../plan/choose-columns.js";
import { plainName } from "../plan/field-names.js";
import { dateOrderOf, isNullWord, readTime, timeFormat } from "../plan/read-time.js";
import type { ImportWork, ReadGroup } from "../table-import.js";
import { textExpression } from "./column-sql.js";
import type { OpenGroup } from "./raw-rows.js";

/** Names of quarters, halves and years, which do not say their last day: a fiscal year may end in any month. */
const PERIOD_NAME =
  /^(?:fy|q[1-4]|[1-4]q|[hs][12]|[12]h|9m|3m|6m|12m|ttm|annual|annually|quarter|quarterly|(?:fy|cy)?\s?(?:\d{2}|\d{4})[\s_-]?(?:fy|q[1-4]|[hs][12])|(?:fy|q[1-4]|[hs][12])[\s_'-]*(?:\d{2}|\d{4})|(?:\d{4}年?)?(?:第?[一三]季报?|第?[一二三四]季度|中报|半年报|年报|[一三]季度报?告?))$/i;

/** The columns of a file in which another column than the chosen one has the ends of periods. */
export interface PeriodEnds {
  readonly chosen: ChosenColumns;
  /** The column with the names of periods. */
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
export async function withPeriodEnds(
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
