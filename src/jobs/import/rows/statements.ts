import { ident, literal } from "../../../db/quote.js";
import type { ImportOptions } from "../import-options.js";
import { UNIT_FACTORS } from "../import-options.js";
import { dateTests, NUMBER_TEST, type ObjectFields, SYMBOL_TESTS } from "./object-rows.js";

/** Fields of all tables of statements; their items are numbers that the files name. */
export function statementFields(numbers: readonly string[], texts: readonly string[]): ObjectFields {
  return { texts, dates: ["period_end", "announce_date"], numbers };
}

/** Items that are no amounts of money: a unit of amounts does not apply to them. */
const NO_AMOUNTS = /eps|bps|ocfps|per_share|ratio|margin|turnover|yoy|growth|^ro[aei]|shares|_rate$|pct/;

/** Whether a unit of money applies to an item. */
export function isAmount(name: string): boolean {
  return !NO_AMOUNTS.test(name);
}

/** What a row of statements becomes: its columns, and `verdict`. @param tomorrow the first date that is in the future. */
export function statementsSql(
  rows: string,
  numbers: readonly string[],
  { announceLagDays, amountUnit = "ones" }: ImportOptions,
  tomorrow: string,
): string {
  const factor = UNIT_FACTORS[amountUnit];
  const items = numbers
    .filter((name) => factor !== 1 && isAmount(name))
    .map((name) => `${ident(name)} * ${factor} AS ${ident(name)}`);
  const replaced = [
    ...(announceLagDays === undefined
      ? []
      : [`coalesce(announce_date, period_end + ${announceLagDays}) AS announce_date`]),
    ...items,
  ];
  const future = `DATE ${literal(tomorrow)}`;
  const tests = [
    ...SYMBOL_TESTS,
    ...dateTests("period_end", true),
    ...dateTests("announce_date", false),
    NUMBER_TEST,
    `WHEN period_end > ${future} THEN ['out_of_range', 'period_end ' || period_end || ' is in the future']`,
    `WHEN announce_date > ${future} THEN ['out_of_range', 'announce_date ' || announce_date || ' is in the future']`,
    `WHEN announce_date < period_end THEN ['out_of_range', 'announce_date ' || announce_date || ' is before the period ends, ' || period_end]`,
  ];
  return `SELECT *${replaced.length > 0 ? ` REPLACE (${replaced.join(", ")})` : ""}, CASE ${tests.join(" ")} END AS verdict FROM ${rows}`;
}
