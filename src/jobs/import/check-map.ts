import { UsageError } from "../../core/errors.js";
import { nearestName } from "../../core/nearest-name.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { UNIVERSES } from "../../schema/reference.js";

/** Valid names of extra statement fields. A table of statements gets a column for each field. */
const FIELD = /^[A-Za-z_]\w{0,62}$/;

/**
 * Checks that each lake column that `map` names exists.
 *
 * @throws {UsageError} that names the unknown column and the most similar one.
 */
export function checkMap(table: TableSchema, map: Readonly<Record<string, string>>): void {
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
  if (table.name.startsWith("bars_")) return ["symbol", "timestamp", ...KLINE_COLUMNS.map((c) => c.name)];
  const own = table.columns.map((c) => c.name).filter((name) => !name.startsWith("valid_"));
  if (table !== UNIVERSES) return own;
  return [...own.filter((name) => name !== "symbol_count"), "symbols", "symbol"];
}
