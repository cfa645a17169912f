import { literal } from "../quote.js";
import type { Session } from "../session/session.js";

/** The stored symbols of each name that a rename, or a code given to another company, is about. */
export type StoredSymbols = ReadonlyMap<string, readonly string[]>;

/** Reads which symbols make the one history of each name: the macro `symbol_names`. Without changes it is empty. */
export async function readNames(session: Session): Promise<StoredSymbols> {
  const [any] = await session.json("SELECT 1 FROM raw.symbol_changes LIMIT 1");
  if (any === undefined) return new Map();
  const rows = await session.json<{ name: string; symbols: string[] }>(
    "SELECT name, list(DISTINCT symbol ORDER BY symbol) AS symbols FROM symbol_names() GROUP BY name",
  );
  return new Map(rows.map(({ name, symbols }) => [name, symbols]));
}

/**
 * SQL before a SELECT that reads names: `of_names`, the rows of a view under the stored symbols of some names. The symbols are
 * written out, because only such a list reaches the files of every view.
 */
export function ofNamesSql(view: string, names: readonly string[], stored: StoredSymbols): string {
  const symbols = [...new Set(names.flatMap((name) => stored.get(name) ?? name))];
  return `WITH of_names AS NOT MATERIALIZED (FROM main.${view} WHERE symbol IN (${symbols.map(literal).join(", ")}))`;
}

/** SQL of a list of names. */
export function namesSql(names: readonly string[]): string {
  return `[${names.map(literal).join(", ")}]`;
}
