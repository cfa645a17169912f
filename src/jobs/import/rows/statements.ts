import { ident, literal } from "../../../db/quote.js";
import { STATEMENTS, statementFieldsOf } from "../../../schema/statements.js";
import { type ImportOptions, UNIT_FACTORS } from "../import-options.js";
import { scaledSql } from "./number-sql.js";
import {
  dateTests,
  NUMBER_TEST,
  type ObjectFields,
  SHARE_FIELDS,
  SYMBOL_TESTS,
  sharesTests,
} from "./object-rows.js";

/** Fields of all tables of statements; their items are numbers that the files name. */
export function statementFields(numbers: readonly string[], texts: readonly string[]): ObjectFields {
  return { texts, dates: ["period_end", "announce_date"], numbers };
}

/**
 * What an item counts. A `flow` is money of a period, which can be added up over periods; a `balance` is other money, or
 * money of which its name does not say that it flows; a `count` is a number of shares; all others are ratios, values a
 * share, years and the like.
 */
export type ItemKind = "flow" | "balance" | "count" | "other";

const DECLARED: ReadonlyMap<string, ItemKind> = new Map(
  Object.values(STATEMENTS).flatMap((table) =>
    statementFieldsOf(table).map(({ name, unit }): [string, ItemKind] => [
      name,
      unit === "shares"
        ? "count"
        : unit !== "currency"
          ? "other"
          : isFlowTable(table.name)
            ? "flow"
            : "balance",
    ]),
  ),
);

/** Whether the items of a table are flows, which the lake has from the beginning of the fiscal year. */
export function isFlowTable(name: string): boolean {
  return name === "income" || name === "cash_flow";
}

const words = (list: string): RegExp => new RegExp(`(?:^|_)(?:${list})(?=_|$)`);

const OTHERS = words(
  "[a-z]*eps(?:basic|diluted|dil)?|bps|ocfps|dps|[a-z]*pershare[a-z]*|per|[a-z]*ratios?|margins?|yoy|qoq|growth|ro[aei]|roic|roce|rates?|pct|percent|percentage|yield|calendar_year|fiscal_year|days|multiple|factor|beta|flag|type|code|rank|number|num|employees",
);
/** A turnover alone is a revenue. */
const TURNOVER = /._turnover(?:_|$)|^(?:fiscal|calendar)?_?(?:year|quarter|month|period)$/;
const SHARES = words("shares?|shs|[a-z]*shsout[a-z]*|[a-z]*sharesoutstanding");
/** Money that is paid for shares, or got for them. */
const MONEY_OF_SHARES = words(
  "repurchased?|purchased?|proceeds|payments?|paid|issuances?|issued_for|sales?|buybacks?|costs?|dividends?|treasury|value|capital|premium",
);
const CHANGES = words(
  "changes?|increase|decrease|purchases?|purchased|sales?|proceeds|payments?|paid|acquisitions?|disposals?|repayments?|issuances?|repurchased?|provided|used|impairments?",
);
const AT_A_TIME = words("beginning|begin|beg|end|ending|opening|closing|balance|bal");
const BALANCES = words(
  "assets?|liabilit(?:y|ies)|equity|receivables?|payables?|inventor(?:y|ies)|debts?|accumulated|retained|outstanding",
);
const FLOWS = words(
  "revenues?|income|profits?|loss|losses|earnings|expenses?|exp|tax|taxes|ebit|ebitda|gains?|depreciation|amortization|dividends?|capex|capital_expenditures?|compensation|interest|cash_flows?|cashflow|fcf|provisions?|[a-z]*activities",
);

/** An item's name in lower case, its words between underscores: `grossProfitRatio` is `gross_profit_ratio`. */
export function snakeName(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
}

export function itemKind(name: string): ItemKind {
  const declared = DECLARED.get(name);
  if (declared !== undefined) return declared;
  const snake = snakeName(name);
  if (OTHERS.test(snake) || TURNOVER.test(snake)) return "other";
  if (SHARES.test(snake) && !MONEY_OF_SHARES.test(snake)) return "count";
  if (AT_A_TIME.test(snake)) return "balance";
  if (CHANGES.test(snake)) return "flow";
  if (BALANCES.test(snake)) return "balance";
  return FLOWS.test(snake) || /(?:^|_)costs?(?:_|$)|^turnover$/.test(snake) ? "flow" : "balance";
}

/** Whether a unit of money applies to an item. */
export function isAmount(name: string): boolean {
  const kind = itemKind(name);
  return kind === "flow" || kind === "balance";
}

/** What a row of statements becomes: its columns, and `verdict`. @param tomorrow the first date that is in the future. */
export function statementsSql(
  rows: string,
  numbers: readonly string[],
  { announceLagDays, amountUnit = "ones" }: ImportOptions,
  tomorrow: string,
): string {
  const exponent = Math.round(Math.log10(UNIT_FACTORS[amountUnit]));
  const items = numbers
    .filter((name) => exponent !== 0 && isAmount(name))
    .map((name) => `${scaledSql(ident(name), exponent)} AS ${ident(name)}`);
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
    ...sharesTests(numbers.filter((name) => SHARE_FIELDS.has(name))),
    `WHEN period_end > ${future} THEN ['out_of_range', 'period_end ' || period_end || ' is in the future']`,
    `WHEN announce_date > ${future} THEN ['out_of_range', 'announce_date ' || announce_date || ' is in the future']`,
    `WHEN announce_date < period_end THEN ['out_of_range', 'announce_date ' || announce_date || ' is before the period ends, ' || period_end]`,
  ];
  return `SELECT *${replaced.length > 0 ? ` REPLACE (${replaced.join(", ")})` : ""}, CASE ${tests.join(" ")} END AS verdict FROM ${rows}`;
}
