import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import type { Catalog, CatalogColumn, CatalogRelation } from "../../db/catalog.js";
import { ident, literal } from "../../db/quote.js";
import { workFolder } from "../../lake/local/work-folder.js";
import { tableNamed } from "../../schema/tables.js";
import { rawSchemaOf } from "../../trino/install.js";
import { TrinoClient, trinoServer } from "../../trino/trino-client.js";
import { TrinoEngine } from "../../trino/trino-engine.js";
import type { TrinoOptions } from "../options/trino-options.js";
import { NO_PROGRESS } from "../query-progress.js";
import type { SqlPlace } from "./sql-place.js";

/** A client of the Trino that options and environment name. @throws {UsageError} */
export function openTrinoClient({ server, catalog, schema }: TrinoOptions): TrinoClient {
  if (server === undefined || server === "") {
    throw new UsageError("which Trino is not known", {
      hint: "give --server http://host:8080, or set BARLAKE_TRINO",
    });
  }
  const {
    BARLAKE_TRINO_USER: user,
    BARLAKE_TRINO_PASSWORD: password,
    BARLAKE_TRINO_TOKEN: token,
  } = process.env;
  return new TrinoClient(trinoServer(server, { catalog, schema }, { user, password, token }), {
    clock: systemClock,
  });
}

/** Words that are proposed in addition to the names; Trino has no list of them. */
const KEYWORDS = (
  "all and as asc at between by case cast create cross current_date date desc describe distinct else end exists explain " +
  "false fetch filter first for from full group having ilike in inner interval is join last left like limit natural not " +
  "null nulls offset on or order outer over partition right row rows select show table tables then timestamp true union " +
  "unnest using values version view when where window with within"
).split(" ");

async function readTrinoCatalog(client: TrinoClient): Promise<Catalog> {
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

function commentOf(table: unknown, name: unknown): string | undefined {
  const column = tableNamed(String(table))?.columns.find((one) => one.name === name);
  return column && (column.unit === undefined ? column.doc : `${column.doc} [${column.unit}]`);
}

/** The Trino that options name, as a place for SQL. @throws {UsageError} */
export async function openTrinoPlace(
  options: TrinoOptions,
): Promise<{ readonly place: SqlPlace; readonly close: () => Promise<void> }> {
  const client = openTrinoClient(options);
  const folder = await mkdtemp(join(tmpdir(), "barlake-trino-"));
  const work = workFolder(folder);
  const engine = await TrinoEngine.open(client, work.staging);
  const place: SqlPlace = {
    title: `Trino, schema ${client.server.schema}`,
    engine,
    progress: NO_PROGRESS,
    work,
    // A client sends any number of queries at once; only an engine runs them one after the other.
    catalog: () => readTrinoCatalog(client),
    withRows: (sql, use) => engine.withRows(sql, use),
    withProposals: async (error) => error,
  };
  const close = async (): Promise<void> => {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { place, close };
}
