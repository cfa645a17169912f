import { literal, literalList } from "../../db/quote.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../schema/actions.js";
import { ABSENCES_1D, BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { DatasetSpec } from "../spec.js";

/** What a dataset says of names of its instruments. */
export interface FollowedNames {
  /** Members under another name than that of the dataset, and the name. */
  readonly renamed: readonly (readonly [member: string, name: string])[];
  /** Members whose code was given to another company, and which have no other name: they are left out. */
  readonly nameless: readonly string[];
}

/**
 * Gives each instrument of a universe the last name that it has in the dataset's time, and the session bars, absences,
 * factors and actions under these names: one history for each, by the rules of the views. A member under an earlier
 * name is the instrument that had it on the last day of the membership. The session must not be used for anything else.
 * @returns undefined where no member was renamed, or has a code that was given to another company: nothing is changed.
 */
export async function followNames(
  session: Session,
  { to }: DatasetSpec,
  universe: TempTable,
): Promise<FollowedNames | undefined> {
  const [any] = await session.json("SELECT 1 FROM raw.symbol_changes LIMIT 1");
  if (any === undefined) return undefined;
  const asOf = to === undefined ? "CAST(NULL AS DATE)" : `DATE ${literal(to)} - 1`;
  await using names = new TempTable(session, "panel_names");
  await names.fill(`SELECT name, symbol, start_date, end_date, preference FROM symbol_names(as_of := ${asOf})
    WHERE name IN (SELECT name FROM symbol_names(as_of := ${asOf}) WHERE preference = 1
      GROUP BY name HAVING arg_max(symbol, start_date) = name)`);
  await using members = new TempTable(session, "panel_members");
  await members.fill(`SELECT u.*, n.name, u.symbol IN (SELECT name FROM symbol_names(as_of := ${asOf})) AS is_changed
    FROM (SELECT *, row_number() OVER () AS nth FROM ${universe.name}) AS u
    LEFT JOIN ${names.name} AS n ON n.symbol = u.symbol AND n.preference = 1
      AND n.start_date < least(coalesce(u.to_date, DATE '9999-12-31'), coalesce(${asOf} + 1, DATE '9999-12-31'))
    QUALIFY row_number() OVER (PARTITION BY nth ORDER BY n.start_date DESC) = 1`);
  const changed = await session.json<{ symbol: string; name: string | null }>(
    `SELECT DISTINCT symbol, name FROM ${members.name} WHERE is_changed ORDER BY ALL`,
  );
  if (changed.length === 0) return undefined;
  await universe.fill(`SELECT DISTINCT coalesce(name, symbol) AS symbol, from_date, to_date, seen_from
    FROM ${members.name} WHERE name IS NOT NULL OR NOT is_changed`);
  const own = [...new Set(changed.flatMap(({ name }) => name ?? []))];
  const nameless = changed.flatMap(({ symbol, name }) => (name === null ? symbol : []));
  const list = (symbols: readonly string[]): string => symbols.map(literal).join(", ");
  const [row] = await session.json<{ symbols: string[] }>(
    `SELECT list(DISTINCT symbol) AS symbols FROM ${names.name} WHERE list_contains(${literalList(own)}::VARCHAR[], name)`,
  );
  const stored = [...new Set([...own, ...nameless, ...(row?.symbols ?? [])])];
  const namedRows = (of: string): string =>
    `named_rows('${of}', ${literalList(own)}::VARCHAR[], as_of := ${asOf})`;
  // Absences are those of the symbol whose bars count in a stretch.
  const stretches = await session.json<{ name: string; symbol: string; start: string; end: string }>(
    `SELECT n.name, n.symbol, n.start_date::VARCHAR AS start, n.end_date::VARCHAR AS "end" FROM ${names.name} AS n
     LEFT JOIN (SELECT DISTINCT symbol AS name, stored_symbol, start_date
       FROM ${namedRows("raw.bars_1d")}) AS u ON u.name = n.name AND u.stored_symbol = n.symbol AND u.start_date = n.start_date
     WHERE list_contains(${literalList(own)}::VARCHAR[], n.name)
     QUALIFY row_number() OVER (PARTITION BY n.name, n.start_date ORDER BY u.name IS NULL, preference) = 1`,
  );
  const rows = stretches.map(
    ({ name, symbol, start, end }) =>
      `(${literal(name)}, ${literal(symbol)}, DATE ${literal(start)}, DATE ${literal(end)})`,
  );
  const values =
    rows.length === 0
      ? "(SELECT '' AS name, '' AS symbol, DATE '9999-12-31' AS start_date, DATE '9999-12-31' AS end_date WHERE false)"
      : `(VALUES ${rows.join(", ")})`;
  const bars = (of: string): string =>
    `(SELECT * EXCLUDE (stored_symbol, start_date) FROM ${namedRows(`raw.renamed_${of}`)} ORDER BY symbol, "timestamp")`;
  // What sources say of the symbol of the bars on both sides of an ex-date: the newer one, where they differ.
  const actions = (of: string): string =>
    `SELECT r.* REPLACE (b.name AS symbol) FROM raw.renamed_${of} AS r JOIN (
       SELECT *, unnest(list_distinct([stored_symbol, last_symbol])) AS said_of FROM (
         SELECT symbol AS name, stored_symbol, trade_date, lag(stored_symbol) OVER days AS last_symbol, lag(trade_date) OVER days AS last_date
         FROM ${namedRows("raw.renamed_bars_1d")} WINDOW days AS (PARTITION BY symbol ORDER BY trade_date))) AS b
     ON b.said_of = r.symbol AND r.ex_date > coalesce(b.last_date, DATE '0001-01-01') AND r.ex_date <= b.trade_date
     QUALIFY rank() OVER (PARTITION BY b.name, r.ex_date ORDER BY b.said_of <> b.stored_symbol) = 1`;
  const parts: Readonly<Record<string, (of: string) => string>> = {
    [BARS_1D.name]: bars,
    [BARS_1M.name]: bars,
    [ABSENCES_1D.name]: (of) =>
      `SELECT r.* REPLACE (n.name AS symbol, greatest(first_date, n.start_date) AS first_date, least(last_date, n.end_date - 1) AS last_date)
       FROM raw.renamed_${of} AS r JOIN ${values} AS n(name, symbol, start_date, end_date)
       ON n.symbol = r.symbol AND r.last_date >= n.start_date AND r.first_date < n.end_date`,
    [EX_FACTORS.name]: actions,
    [CORPORATE_ACTIONS.name]: actions,
  };
  for (const [table, partOf] of Object.entries(parts)) {
    await session.run(`ALTER VIEW raw.${table} RENAME TO stored_${table}`);
    await session.run(
      `CREATE VIEW raw.renamed_${table} AS FROM raw.stored_${table} WHERE symbol IN (${list(stored)})`,
    );
    // The rows of others come first, in the order of the files.
    await session.run(`CREATE VIEW raw.${table} AS
      SELECT * FROM raw.stored_${table} WHERE symbol NOT IN (${list(stored)})
      UNION ALL BY NAME ${partOf(table)}`);
  }
  return {
    renamed: changed.flatMap(({ symbol, name }) =>
      name === null || name === symbol ? [] : [[symbol, name] as const],
    ),
    nameless,
  };
}
