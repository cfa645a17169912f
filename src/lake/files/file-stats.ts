import { columnOf, type TableSchema } from "../../schema/column.js";
import type { FileStats } from "../log/delta-actions.js";

/** The form in which the lake writes an instant: these texts sort as the instants do. */
const OWN_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** An instant in the protocol's form: a text without a zone is not an instant. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * The statistics of a data file, with instants in the lake's form, whose texts sort as the instants do. Other writers
 * may write an instant without milliseconds, with microseconds, or with an offset from UTC.
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

/** The values with their instants in the lake's form. An instant that cannot be read is left out. */
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
