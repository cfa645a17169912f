import { groupBy } from "../core/group-by.js";
import {
  type Catalog,
  type CatalogColumn,
  type CatalogMacro,
  type CatalogRelation,
  readMacroComment,
} from "./catalog.js";
import type { Session } from "./session/session.js";

const NAME = "CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END";

export async function readCatalog(session: Session): Promise<Catalog> {
  const relations = await session.json<{ name: string; kind: "table" | "view"; comment: string | null }>(
    `FROM (
       SELECT ${NAME} || view_name AS name, 'view' AS kind, comment FROM duckdb_views() WHERE NOT internal
       UNION ALL
       SELECT ${NAME} || table_name, 'table', comment FROM duckdb_tables() WHERE NOT internal
     ) ORDER BY contains(name, '.'), name`,
  );
  const columns = await session.json<{ of: string; name: string; type: string; comment: string | null }>(
    `SELECT ${NAME} || table_name AS "of", column_name AS name, data_type AS type, comment
     FROM duckdb_columns() WHERE NOT internal ORDER BY "of", column_index`,
  );
  const columnsOf = groupBy(columns, ({ of }) => of);
  const macros = await readMacros(session);
  return {
    relations: [
      ...relations.map(({ name, kind, comment }) => ({
        name,
        kind,
        comment: comment ?? undefined,
        columns: (columnsOf.get(name) ?? []).map((column): CatalogColumn => {
          return { name: column.name, type: column.type, comment: column.comment ?? undefined };
        }),
      })),
      ...macros.filter(({ kind }) => kind === "table macro").map((macro) => relationOf(macro, macros)),
    ],
    macros,
    functions: await namesOf(
      session,
      `SELECT DISTINCT function_name AS name FROM duckdb_functions()
       WHERE internal AND function_type <> 'pragma' AND function_name SIMILAR TO '[a-z][a-z0-9_]*' ORDER BY name`,
    ),
    keywords: await namesOf(session, "SELECT keyword_name AS name FROM duckdb_keywords() ORDER BY name"),
  };
}

async function namesOf(session: Session, sql: string): Promise<string[]> {
  return (await session.json<{ name: string }>(sql)).map(({ name }) => name);
}

async function readMacros(session: Session): Promise<CatalogMacro[]> {
  const macros = await session.json<{
    name: string;
    kind: CatalogMacro["kind"];
    parameters: string[];
    comment: string | null;
  }>(
    // Of a macro that can be called with fewer values, the form with all of them.
    `SELECT ${NAME} || function_name AS name, replace(function_type, '_', ' ') AS kind, parameters, comment
     FROM duckdb_functions() WHERE NOT internal AND function_type IN ('macro', 'table_macro')
     QUALIFY row_number() OVER (PARTITION BY name ORDER BY len(parameters) DESC) = 1 ORDER BY name`,
  );
  return macros.map(({ name, kind, parameters, comment }) => ({
    name,
    kind,
    ...readMacroComment(comment ?? "", parameters),
  }));
}

function relationOf(macro: CatalogMacro, macros: readonly CatalogMacro[]): CatalogRelation {
  const taken = macros.find(({ name }) => name === macro.columnsOf)?.columns ?? [];
  const columns = [...taken, ...macro.columns].map((part) => ({ ...part, type: undefined }));
  return { name: macro.name, kind: "table macro", comment: macro.summary, columns };
}
