import type { Catalog, CatalogColumn, CatalogRelation } from "../../db/catalog/catalog.js";
import { ident, literal } from "../../db/quote.js";
import { tableNamed } from "../../schema/tables.js";
import { rawSchemaOf } from "../../trino/install.js";
import type { TrinoClient } from "../../trino/trino-client.js";

/** Words that are proposed in addition to the names; Trino has no list of them. */
const KEYWORDS = (
  "all and as asc at between by case cast create cross current_date date desc describe distinct else end exists explain " +
  "false fetch filter first for from full group having ilike in inner interval is join last left like limit natural not " +
  "null nulls offset on or order outer over partition right row rows select show table tables then timestamp true union " +
  "unnest using values version view when where window with within"
).split(" ");

/** Reads the tables and views of a lake in Trino, with its functions. */
export async function readTrinoCatalog(client: TrinoClient): Promise<Catalog> {
  const { catalog, schema } = client.server;
  const raw = rawSchemaOf(schema);
  const schemas = `(${[schema, raw].map(literal).join(", ")})`;
  const [relations, columns, functions] = await Promise.all([
    client.rows(
      `SELECT t.table_schema, t.table_name, t.table_type, c.comment
       FROM ${ident(catalog)}.information_schema.tables AS t
       LEFT JOIN system.metadata.table_comments AS c
         ON c.catalog_name = ${literal(catalog)} AND c.schema_name = t.table_schema AND c.table_name = t.table_name
       WHERE t.table_schema IN ${schemas}
       ORDER BY t.table_schema, t.table_name`,
    ),
    client.rows(
      `SELECT table_schema, table_name, column_name, data_type FROM ${ident(catalog)}.information_schema.columns
       WHERE table_schema IN ${schemas} ORDER BY ordinal_position`,
    ),
    client.rows("SHOW FUNCTIONS"),
  ]);
  const nameOf = (of: unknown, name: unknown): string =>
    of === schema ? String(name) : `${String(of)}.${String(name)}`;
  const columnsOf = new Map<string, CatalogColumn[]>();
  for (const [of, table, name, type] of columns) {
    const key = nameOf(of, table);
    columnsOf.set(key, [
      ...(columnsOf.get(key) ?? []),
      { name: String(name), type: String(type), comment: of === raw ? commentOf(table, name) : undefined },
    ]);
  }
  return {
    relations: relations.map(([of, name, type, comment]): CatalogRelation => {
      const key = nameOf(of, name);
      const said =
        of === raw
          ? tableNamed(String(name))?.doc
          : (typeof comment === "string" ? comment : "").replace(/ \[barlake \w+\]$/, "");
      return {
        name: key,
        kind: type === "VIEW" ? "view" : "table",
        comment: said || undefined,
        columns: columnsOf.get(key) ?? [],
      };
    }),
    macros: [],
    functions: [...new Set(functions.map(([name]) => String(name)))].filter((name) =>
      /^[a-z]\w*$/.test(name),
    ),
    keywords: KEYWORDS,
  };
}

/** The schema's comment on a column of a table. */
function commentOf(table: unknown, name: unknown): string | undefined {
  const column = tableNamed(String(table))?.columns.find((one) => one.name === name);
  return column && (column.unit === undefined ? column.doc : `${column.doc} [${column.unit}]`);
}
