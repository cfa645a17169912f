import { UsageError } from "../../core/errors.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { UNIVERSES } from "../../schema/reference.js";

/** Valid names of extra statement fields: a table of statements gets a column for each. */
const FIELD = /^[A-Za-z_]\w{0,62}$/;

/**
 * Checks that each lake column that `--map` names exists.
 *
 * @throws {UsageError} that names the unknown column and the most similar one.
 */
export function checkMap(table: TableSchema, map: Readonly<Record<string, string>>): void {
  const targets = targetsOf(table);
  for (const [ours, theirs] of Object.entries(map)) {
    if (targets.includes(ours) || (table.open && FIELD.test(ours))) continue;
    const likely = targets.includes(theirs) ? `${theirs}=${ours}` : nearest(ours, targets);
    throw new UsageError(`--map ${ours}=${theirs}: ${table.name} has no column ${ours}`, {
      hint: `${likely === undefined ? "" : `did you mean ${likely}? `}its columns are ${targets.join(", ")}`,
    });
  }
}

/** Columns that a file may give. */
function targetsOf(table: TableSchema): string[] {
  if (table.name.startsWith("bars_")) return ["symbol", "timestamp", ...KLINE_COLUMNS.map((c) => c.name)];
  const own = table.columns.map((c) => c.name).filter((name) => !name.startsWith("valid_"));
  if (table !== UNIVERSES) return own;
  return [...own.filter((name) => name !== "symbol_count"), "symbols", "symbol"];
}

/** The name with the fewest different letters, if these are few. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  const near = names
    .map((one) => ({ one, distance: distanceOf(name.toLowerCase(), one) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.one;
}

/** The number of letters to add, drop or replace. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
