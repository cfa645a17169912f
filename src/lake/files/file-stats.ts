import { columnOf, type TableSchema } from "../../schema/column.js";
import type { FileStats } from "../log/delta-actions.js";

/** How the lake itself writes an instant: texts of this form compare as the instants do. */
const OWN_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** An instant as the protocol has it: what is without a zone is not one. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * The statistics of a data file, in the form in which they can be compared: other writers may leave the milliseconds of
 * an instant out, give it microseconds, or an offset from UTC.
 *
 * @param text JSON of a file's `stats`.
 */
export function readStats(table: TableSchema, text: string): FileStats {
  const stats = JSON.parse(text) as FileStats;
  const instants = table.stats.filter((name) => columnOf(table, name).type === "timestamp");
  const { minValues, maxValues } = stats;
  const isOwn = [minValues, maxValues].every((values) =>
    instants.every((name) => values?.[name] === undefined || OWN_INSTANT.test(values[name])),
  );
  if (isOwn) return stats;
  return {
    ...stats,
    ...(minValues && { minValues: withOwnInstants(minValues, instants) }),
    ...(maxValues && { maxValues: withOwnInstants(maxValues, instants) }),
  };
}

/** The values with their instants in the lake's own form; one that cannot be read is left out: it bounds nothing. */
function withOwnInstants(
  values: Readonly<Record<string, string>>,
  instants: readonly string[],
): Readonly<Record<string, string>> {
  const own = { ...values };
  for (const name of instants) {
    const text = String(own[name]);
    const at = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(at)) delete own[name];
    else own[name] = new Date(at).toISOString();
  }
  return own;
}
