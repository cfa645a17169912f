import { UsageError } from "../../core/errors.js";
import { regionSql } from "../../db/market/region-sql.js";
import {
  badSymbolReasonSql,
  codeSql,
  exchangeSql,
  isSymbolSql,
  unknownExchangeReasonSql,
} from "../../db/market/symbol-sql.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import type { Rejects } from "../../lake/land/rejects.js";
import { type Column, DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import { INSTRUMENT_EXT } from "../../schema/reference.js";
import type { ImportOptions } from "./import-options.js";
import { columnSymbolSql } from "./row-symbol.js";
import { dateSql, findColumn, type Source, textSql } from "./source.js";

/** Reads one file of instruments into the staged rows. Code, exchange and region are derived from the symbol. */
export async function readInstruments(
  session: Session,
  table: TableSchema,
  source: Source,
  staged: string,
  { rejects, ...options }: ImportOptions & { readonly rejects: Rejects },
): Promise<string[]> {
  const column = (name: string): string | undefined => findColumn(source, name, options.map);
  if (column("symbol") === undefined) throw missingColumn(source, "symbol");
  const derived: Readonly<Record<string, string>> = {
    code: codeSql("symbol"),
    exchange: exchangeSql("symbol"),
    region: regionSql("symbol"),
    type: "'other'",
    ext_type: extTypeSql(column),
  };
  const columns = table.columns.filter((c) => !["symbol", "valid_from", "valid_to"].includes(c.name));
  const select = columns.map((c) => {
    const given = valueSql(c, column(c.name));
    const fallback = derived[c.name];
    return `${fallback ? `coalesce(${given}, ${fallback})` : given} AS ${ident(c.name)}`;
  });
  await using parsed = new TempTable(session, "parsed_rows");
  await parsed.fill(`SELECT *, CASE
        WHEN symbol IS NULL OR NOT ${isSymbolSql("symbol")} THEN 'bad_symbol'
        WHEN region IS NULL THEN 'unknown_exchange'
        WHEN row_number() OVER (PARTITION BY symbol ORDER BY line) > 1 THEN 'duplicate_key' END AS rule
    FROM (SELECT line, symbol, ${select.join(", ")}
      FROM (SELECT * REPLACE (${columnSymbolSql(textSql("symbol"), options)} AS symbol)
          FROM (SELECT * RENAME (${ident(column("symbol") as string)} AS symbol) FROM (${source.sql}))))`);
  await rejects.add(
    table.name,
    `SELECT ${literal(source.path)} AS source, line, symbol, NULL AS timestamp, rule,
       CASE rule WHEN 'duplicate_key' THEN symbol || ' is repeated in this file; the first row was used'
         WHEN 'unknown_exchange' THEN ${unknownExchangeReasonSql("symbol")}
         ELSE ${badSymbolReasonSql("symbol")} END AS reason, NULL AS row
     FROM ${parsed.name} WHERE rule IS NOT NULL`,
  );
  await session.run(
    `DELETE FROM ${ident(staged)} WHERE symbol IN (SELECT symbol FROM ${parsed.name} WHERE rule IS NULL)`,
  );
  await session.run(
    `INSERT INTO ${ident(staged)} BY NAME SELECT * EXCLUDE (line, rule) FROM ${parsed.name} WHERE rule IS NULL`,
  );
  const used = new Set(columns.map((c) => column(c.name)).concat(column("symbol")));
  const unused = source.columns.filter((name) => !used.has(name));
  return unused.length > 0 ? [`${source.path}: columns without a place here: ${unused.join(", ")}`] : [];
}

/**
 * SQL of the variant of `ext` that a service would use for an instrument of the symbol's region; null where the file
 * has no member of it.
 */
function extTypeSql(column: (name: string) => string | undefined): string {
  const members = INSTRUMENT_EXT.flatMap(({ name }) => column(name) ?? []).map(textSql);
  if (members.length === 0) return "NULL";
  return `CASE WHEN coalesce(${members.join(", ")}) IS NOT NULL THEN lower(${regionSql("symbol")}) || '_equity' END`;
}

/** Reads one file of statements. Every numeric column lands, under its name or the mapped one. */
export async function readStatements(
  session: Session,
  table: TableSchema,
  source: Source,
  staged: string,
  { rejects, ...options }: ImportOptions & { readonly rejects: Rejects },
): Promise<string[]> {
  const column = (name: string): string | undefined => findColumn(source, name, options.map);
  const identity = ["symbol", "period_end"] as const;
  for (const name of identity) if (column(name) === undefined) throw missingColumn(source, name);
  const renamed = new Map(Object.entries(options.map).map(([ours, theirs]) => [theirs, ours]));
  const taken = new Set([...identity, "announce_date"].map(column));
  const others = source.columns.filter((name) => !taken.has(name));
  const numeric = await numericColumns(session, source, others);
  const fields = numeric.map(
    (name) => `TRY_CAST(${textSql(name)} AS DOUBLE) AS ${ident(renamed.get(name) ?? name)}`,
  );
  await using parsed = new TempTable(session, "parsed_rows");
  await parsed.fill(`SELECT *, CASE WHEN symbol IS NULL OR NOT ${isSymbolSql("symbol")} THEN 'bad_symbol'
      WHEN period_end IS NULL THEN 'unparsable' END AS rule
    FROM (SELECT line, ${literal(source.path)} AS source, ${columnSymbolSql(textSql(column("symbol")), options)} AS symbol,
      ${dateSql(textSql(column("period_end")))} AS period_end,
      ${dateSql(textSql(column("announce_date")))} AS announce_date ${fields.map((field) => `, ${field}`).join("")}
      FROM (${source.sql}))`);
  await rejects.add(
    table.name,
    `SELECT source, line, symbol, CAST(period_end AS VARCHAR) AS timestamp, rule,
       CASE rule WHEN 'bad_symbol' THEN ${badSymbolReasonSql("symbol")}
         ELSE 'period_end is no date' END AS reason, NULL AS row
     FROM ${parsed.name} WHERE rule IS NOT NULL`,
  );
  await addMissingColumns(
    session,
    staged,
    numeric.map((name) => renamed.get(name) ?? name),
  );
  await session.run(
    `INSERT INTO ${ident(staged)} BY NAME SELECT * EXCLUDE (rule) FROM ${parsed.name} WHERE rule IS NULL`,
  );
  const dropped = others.filter((name) => !numeric.includes(name));
  return dropped.length > 0 ? [`${source.path}: columns that are not numbers: ${dropped.join(", ")}`] : [];
}

/** Reads one file of universes: `symbols` is a list, or each row has a `symbol`. */
export async function readUniverses(
  session: Session,
  source: Source,
  staged: { readonly universes: string; readonly members: string },
  { rejects, ...options }: ImportOptions & { readonly rejects: Rejects },
): Promise<string[]> {
  const column = (name: string): string | undefined => findColumn(source, name, options.map);
  if (column("id") === undefined) throw missingColumn(source, "id");
  const list = column("symbols");
  const single = column("symbol");
  if (list === undefined && single === undefined) throw missingColumn(source, "symbols");
  const symbols = list ? `unnest(${ident(list)})` : textSql(single);
  const text = (name: string): string => textSql(column(name));
  await using parsed = new TempTable(session, "parsed_rows");
  await parsed.fill(`SELECT * REPLACE (${columnSymbolSql("symbol", options)} AS symbol),
      CASE WHEN ${isSymbolSql("symbol")} THEN ${regionSql("symbol")} END AS symbol_region
    FROM (SELECT line, ${text("id")} AS id, ${text("name")} AS name, ${text("category")} AS category,
      ${text("region")} AS region, ${text("description")} AS description, ${symbols} AS symbol FROM (${source.sql}))`);
  await rejects.add(
    "universe_members",
    `SELECT ${literal(source.path)} AS source, line, symbol, NULL AS timestamp, 'bad_symbol' AS rule,
       '"' || coalesce(symbol, '') || '" is not a symbol of a known exchange' AS reason, NULL AS row
     FROM ${parsed.name} WHERE symbol_region IS NULL`,
  );
  await session.run(`INSERT INTO ${ident(staged.universes)} BY NAME
    SELECT id, coalesce(any_value(name), id) AS name, coalesce(any_value(category), 'imported') AS category,
      coalesce(any_value(region), mode(symbol_region)) AS region, count(DISTINCT symbol) AS symbol_count,
      any_value(description) AS description
    FROM ${parsed.name} WHERE symbol_region IS NOT NULL GROUP BY id`);
  await session.run(`INSERT INTO ${ident(staged.members)} BY NAME
    SELECT DISTINCT m.id, m.symbol, u.region FROM ${parsed.name} m JOIN ${ident(staged.universes)} u USING (id)
    WHERE m.symbol_region IS NOT NULL`);
  return [];
}

/** The columns in which every value is a number. */
async function numericColumns(session: Session, source: Source, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const tests = names.map((name) => {
    const text = textSql(name);
    return `count(*) FILTER (${text} IS NOT NULL AND TRY_CAST(${text} AS DOUBLE) IS NULL) = 0 AS ${ident(name)}`;
  });
  const [row] = await session.json<Record<string, boolean>>(
    `SELECT ${tests.join(", ")} FROM (${source.sql})`,
  );
  return names.filter((name) => row?.[name] === true && /^[A-Za-z_]\w{0,62}$/.test(name));
}

async function addMissingColumns(session: Session, staged: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await session.run(`ALTER TABLE ${ident(staged)} ADD COLUMN IF NOT EXISTS ${ident(name)} DOUBLE`);
  }
}

function valueSql(column: Column, from: string | undefined): string {
  const text = textSql(from);
  if (column.type === "date") return dateSql(text);
  return `TRY_CAST(${text} AS ${DUCKDB_TYPE[column.type]})`;
}

function missingColumn(source: Source, name: string): UsageError {
  return new UsageError(`file ${source.path}: has no column for ${name}`, {
    hint: `give it with \`map: { ${name}: "COLUMN" }\`; its columns are ${source.columns.join(", ")}`,
  });
}
