import { UsageError } from "../../core/errors.js";
import { nearestName } from "../../core/text-order.js";
import { EXCHANGE_REGION } from "../../market/regions.js";
import { parseSymbol } from "../../market/symbol.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../schema/actions.js";
import { BARS_1D, KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { UNIVERSES } from "../../schema/reference.js";
import type { ImportOptions } from "./import-options.js";
import { fieldNames } from "./plan/field-names.js";
import { isZone, timeFormat } from "./plan/read-time.js";
import { ENCODINGS } from "./text/csv-dialect.js";

/** Valid names of extra statement fields. A table of statements gets a column for each field. */
const FIELD = /^[A-Za-z_]\w{0,62}$/;
const EXCHANGES = Object.keys(EXCHANGE_REGION);

/** Checks what the user says about files. @throws {UsageError} that names the option, and what it may be. */
export function checkOptions(table: TableSchema, options: ImportOptions, files: readonly string[]): void {
  checkMap(table, options.map ?? {});
  checkSymbol(table, options, files);
  const { dateFormat, zone, encoding, values, volumeUnit, source, prices } = options;
  if (prices !== undefined && table !== BARS_1D && table !== CORPORATE_ACTIONS)
    throw new UsageError(
      `\`prices: "${prices}"\`: is for daily bars and corporate actions, and ${table.name} has none`,
    );
  if (source !== undefined && !hasSources(table) && table !== BARS_1D)
    throw new UsageError(
      `\`source: "${source}"\`: is for corporate actions, factors, symbol changes and dated members, and ${table.name} has no sources`,
    );
  if (source !== undefined && !/\S/.test(source)) throw new UsageError("`source` is empty");
  if (dateFormat !== undefined && timeFormat(dateFormat) === undefined) {
    throw new UsageError(`\`dateFormat: "${dateFormat}"\`: is not known`, {
      hint: "write dmy, mdy, excel, s, ms, us, ns, or a pattern such as DD.MM.YYYY or %d/%m/%y",
    });
  }
  if (zone !== undefined && !isZone(zone))
    throw new UsageError(`\`zone: "${zone}"\`: is no zone`, { hint: "write it like UTC or Asia/Shanghai" });
  if (encoding !== undefined && !isEncoding(encoding)) {
    throw new UsageError(`\`encoding: "${encoding}"\`: is not known`, {
      hint: `the usual ones are ${ENCODINGS.join(", ")}`,
    });
  }
  if (volumeUnit === "lots" && !table.name.startsWith("bars_"))
    throw new UsageError(`\`volumeUnit: "lots"\`: is for bars, and ${table.name} counts shares`);
  if (values !== undefined && !["income", "cash_flow"].includes(table.name))
    throw new UsageError(`\`values: "${values}"\`: is for flows, and ${table.name} has none`);
}

function isOfActions(table: TableSchema): boolean {
  return table === CORPORATE_ACTIONS || table === EX_FACTORS || table === SYMBOL_CHANGES;
}

function hasSources(table: TableSchema): boolean {
  return isOfActions(table) || table === UNIVERSES;
}

function isEncoding(encoding: string): boolean {
  try {
    return new TextDecoder(encoding).encoding !== "";
  } catch {
    return false;
  }
}

/** @throws {UsageError} that names an unknown column and the most similar one. */
function checkMap(table: TableSchema, map: Readonly<Record<string, string>>): void {
  const targets = targetsOf(table);
  for (const [ours, theirs] of Object.entries(map)) {
    if (targets.includes(ours) || (table.open && FIELD.test(ours))) continue;
    const likely = targets.includes(theirs) ? `${theirs}=${ours}` : nearestName(ours, targets);
    throw new UsageError(`\`map: { ${ours}: "${theirs}" }\`: ${table.name} has no column ${ours}`, {
      hint: `${likely === undefined ? "" : `did you mean ${likely}? `}its columns are ${targets.join(", ")}`,
    });
  }
}

/** The columns of a table for which a file may have values. */
function targetsOf(table: TableSchema): string[] {
  if (table.name.startsWith("bars_"))
    return [
      "symbol",
      "timestamp",
      ...KLINE_COLUMNS.map((c) => c.name),
      "time_of_day",
      ...(table === BARS_1D ? ["dividend", "split", "capital_gain"] : []),
    ];
  if (hasSources(table)) return Object.keys(fieldNames(table.name));
  return table.columns.map((c) => c.name).filter((name) => !name.startsWith("valid_"));
}

/** @throws {UsageError} for an unknown exchange, a text that is not a symbol, and one symbol for several files. */
function checkSymbol(
  table: TableSchema,
  { symbol, exchange }: Pick<ImportOptions, "symbol" | "exchange">,
  files: readonly string[],
): void {
  if (exchange !== undefined && !EXCHANGES.includes(exchange)) {
    throw new UsageError(`\`exchange: "${exchange}"\`: is not known`, {
      hint: `the suffixes are ${EXCHANGES.join(", ")}`,
    });
  }
  if (symbol === undefined) return;
  parseSymbol(symbol);
  if (!table.name.startsWith("bars_") && !table.open && !isOfActions(table))
    throw new UsageError(
      `\`symbol: "${symbol}"\`: is for bars, statements and actions, and ${table.name} has a symbol in each row`,
    );
  if (exchange !== undefined)
    throw new UsageError("`symbol` and `exchange` exclude each other", {
      hint: "a symbol names its exchange",
    });
  if (files.length > 1) {
    throw new UsageError(`\`symbol: "${symbol}"\`: is for one file, and there are ${files.length}`, {
      hint: "name the files after their symbols and leave `symbol` out; `exchange` completes bare codes",
    });
  }
}
