import { literalList } from "../../../db/quote.js";
import { NULL_WORDS } from "../plan/read-time.js";

/** The mark before the fraction of a number. */
export type DecimalMark = "." | ",";

/** Words for a number that is missing, and for infinity, which is no number of a market. */
const NO_NUMBERS = [...NULL_WORDS, "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "∞"];

/** Names and factors of large units. */
const SCALES: readonly (readonly [suffix: string, factor: number])[] = [
  ["亿", 1e8],
  ["万", 1e4],
  ["K", 1e3],
  ["M", 1e6],
  ["B", 1e9],
  ["T", 1e12],
];

/** A text that has one reading as a number: digits in groups of three, brackets for below 0, a sign of a currency, a large unit. */
const PARTS = String.raw`^([-+]|\()?\s*(?:[$¥￥€£]|HK\$|US\$)?\s*((?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(亿|万|[KMBT])?\)?$`;

/**
 * SQL of the number in a text; null where it has none. A text that is no number is told from a missing value by
 * {@link isMissingSql}.
 */
export function numberSql(text: string, mark: DecimalMark = "."): string {
  const plain = `TRY_CAST(${text} AS DOUBLE)`;
  if (mark === ",") {
    const form = `regexp_full_match(trim(${text}), '[-+]?(\\d{1,3}(\\.\\d{3})+|\\d+)(,\\d+)?')`;
    return `CASE WHEN ${form} THEN TRY_CAST(replace(replace(trim(${text}), '.', ''), ',', '.') AS DOUBLE) END`;
  }
  const part = (n: number): string =>
    `regexp_extract(${unquotedSql(text)}, '${PARTS.replaceAll("'", "''")}', ${n})`;
  const scale = SCALES.map(([suffix, factor]) => `WHEN '${suffix}' THEN ${factor}`).join(" ");
  const digits = `replace(${part(2)}, ',', '')`;
  // Decimals keep 1.2 x 10^8 exact.
  const exact = `CAST(TRY_CAST(${digits} AS DECIMAL(28, 8)) * CASE ${part(3)} ${scale} END AS DOUBLE)`;
  const sign = `CASE WHEN ${part(1)} IN ('-', '(') THEN -1 ELSE 1 END`;
  const long = `CASE WHEN ${part(2)} <> '' THEN ${sign} * CASE WHEN ${part(3)} = '' THEN TRY_CAST(${digits} AS DOUBLE) ELSE ${exact} END END`;
  // Most texts are plain numbers: only the others are taken apart.
  return `CASE WHEN isfinite(${plain}) THEN ${plain}
    WHEN ${isMissingSql(text)} THEN NULL ELSE nullif(nullif(${long}, 'Infinity'::DOUBLE), '-Infinity'::DOUBLE) END`;
}

/** SQL of whether a text says that there is no number. */
export function isMissingSql(text: string): string {
  return `(${text} IS NULL OR lower(trim(${text})) IN ${inList()})`;
}

/** SQL of a text without the marks of a spreadsheet around it. */
function unquotedSql(text: string): string {
  return `trim(regexp_replace(trim(${text}), '^=?"(.*)"$|^''', '\\1'))`;
}

function inList(): string {
  return literalList(NO_NUMBERS).replace(/^\[/, "(").replace(/\]$/, ")");
}

/** The decimal mark that texts of numbers show; undefined where they have two readings, such as `1,234` alone. */
export function decimalMarkOf(texts: Iterable<string>): DecimalMark | undefined {
  let isOpen = false;
  for (const text of texts) {
    const one = text.trim();
    if (/^[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+),(?:\d{1,2}|\d{4,})$|^[-+]?\d{1,3}(?:\.\d{3})+,\d+$/.test(one))
      return ",";
    if (/^[-+]?\d{1,3}(?:,\d{3})*\.\d+$/.test(one) && !/^[-+]?\d{1,3}\.\d{3}$/.test(one)) return ".";
    if (/^[-+]?\d{1,3},\d{3}$/.test(one)) isOpen = true;
  }
  return isOpen ? undefined : ".";
}
