import { UsageError } from "../core/errors.js";
import { ident, literal } from "../db/quote.js";
import { type TrinoClient, TrinoQueryError } from "./trino-client.js";
import { type TrinoView, trinoViews } from "./trino-views.js";

export interface LakeTable {
  readonly name: string;
  /** Its newest version; undefined where the table has no version yet, so that nothing can be registered. */
  readonly version: number | undefined;
  readonly location: string;
}

type TrinoState = "current" | "missing" | "differs" | "not landed";

interface TrinoTableStatus {
  readonly name: string;
  readonly state: TrinoState;
  /** The newest version in the lake, and the newest version that Trino sees. */
  readonly version: number | undefined;
  readonly seen: number | undefined;
  /** The location in Trino. It is wrong only if the state is `differs`. */
  readonly location: string | undefined;
}

interface TrinoViewStatus {
  readonly name: string;
  readonly state: TrinoState;
  /** Tables that have not landed yet, because of which the view cannot be created. */
  readonly lacks: readonly string[];
}

export interface TrinoStatus {
  readonly version: string;
  readonly tables: readonly TrinoTableStatus[];
  readonly views: readonly TrinoViewStatus[];
}

/** The schema of the tables of a schema of views: a name can be either a table or a view. */
export function rawSchemaOf(schema: string): string {
  return `${schema}_raw`;
}

/** Compares the content of a server with a lake's tables and this version's views. It changes nothing. */
export async function trinoStatus(
  client: TrinoClient,
  lake: readonly LakeTable[],
  signal?: AbortSignal,
): Promise<TrinoStatus> {
  const raw = rawSchemaOf(client.server.schema);
  const registered = new Set(await namesIn(client, raw, signal));
  const tables: TrinoTableStatus[] = [];
  for (const table of lake)
    tables.push(
      registered.has(table.name)
        ? await registeredStatus(client, raw, table, signal)
        : {
            ...table,
            state: table.version === undefined ? "not landed" : "missing",
            seen: undefined,
            location: undefined,
          },
    );
  const comments = await viewComments(client, signal);
  const absent = new Set(tables.filter(({ state }) => state === "not landed").map(({ name }) => name));
  const views = viewsOf(client, absent).map(({ view, lacks }): TrinoViewStatus => {
    const comment = comments.get(view.name);
    const state =
      comment === undefined
        ? lacks.length > 0
          ? "not landed"
          : "missing"
        : comment === view.comment
          ? "current"
          : "differs";
    return { name: view.name, state, lacks };
  });
  return { version: await client.version(signal), tables, views };
}

/**
 * Registers tables that are missing, or have another location, and creates views that are missing or differ.
 * @returns the status afterwards, and the names of what was registered and created.
 */
export async function installInTrino(
  client: TrinoClient,
  lake: readonly LakeTable[],
  signal?: AbortSignal,
): Promise<{ readonly status: TrinoStatus; readonly registered: string[]; readonly created: string[] }> {
  const { catalog, schema } = client.server;
  const raw = rawSchemaOf(schema);
  for (const name of [schema, raw])
    await client.rows(`CREATE SCHEMA IF NOT EXISTS ${ident(catalog)}.${ident(name)}`, signal);
  const before = await trinoStatus(client, lake, signal);
  const registered: string[] = [];
  const call = (procedure: string, ...values: string[]): Promise<unknown> =>
    client.rows(`CALL ${ident(catalog)}.system.${procedure}(${values.map(literal).join(", ")})`, signal);
  for (const [index, { name, state }] of before.tables.entries()) {
    if (state !== "missing" && state !== "differs") continue;
    if (state === "differs") await call("unregister_table", raw, name);
    const { location } = lake[index] as LakeTable;
    await call("register_table", raw, name, location).catch((error: unknown) => {
      throw registerFault(error, name, location);
    });
    registered.push(name);
  }
  const absent = new Set(before.tables.filter(({ state }) => state === "not landed").map(({ name }) => name));
  const created: string[] = [];
  for (const { view, lacks } of viewsOf(client, absent)) {
    const state = before.views.find(({ name }) => name === view.name)?.state;
    if (state === "current" || lacks.length > 0) continue;
    await client.rows(view.sql, signal);
    created.push(view.name);
  }
  return { status: await trinoStatus(client, lake, signal), registered, created };
}

/** The views, and the tables that each of them lacks, directly or through another view. */
function viewsOf(
  client: TrinoClient,
  absent: ReadonlySet<string>,
): { readonly view: TrinoView; readonly lacks: readonly string[] }[] {
  const lacking = new Map<string, readonly string[]>();
  return trinoViews(rawSchemaOf(client.server.schema), absent).map((view) => {
    const lacks = [
      ...new Set([
        ...view.tables.filter((table) => absent.has(table)),
        ...view.views.flatMap((name) => lacking.get(name) ?? []),
      ]),
    ];
    lacking.set(view.name, lacks);
    return { view, lacks };
  });
}

async function registeredStatus(
  client: TrinoClient,
  raw: string,
  table: LakeTable,
  signal: AbortSignal | undefined,
): Promise<TrinoTableStatus> {
  const { catalog } = client.server;
  const name = `${ident(catalog)}.${ident(raw)}`;
  const [created] = await client.rows(`SHOW CREATE TABLE ${name}.${ident(table.name)}`, signal);
  const location = /\blocation = '((?:[^']|'')*)'/.exec(String(created?.[0]))?.[1]?.replaceAll("''", "'");
  const [newest] = await client.rows(
    `SELECT max(version) FROM ${name}.${ident(`${table.name}$history`)}`,
    signal,
  );
  const seen = newest?.[0] === null || newest === undefined ? undefined : Number(newest[0]);
  const isThere = location?.replace(/\/+$/, "") === table.location;
  return { name: table.name, state: isThere ? "current" : "differs", version: table.version, seen, location };
}

async function namesIn(
  client: TrinoClient,
  schema: string,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const { catalog } = client.server;
  const rows = await client.rows(
    `SELECT table_name FROM ${ident(catalog)}.information_schema.tables WHERE table_schema = ${literal(schema)}`,
    signal,
  );
  return rows.map(([name]) => String(name));
}

/** The comments of the views, which identify the definition of each. */
async function viewComments(
  client: TrinoClient,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, string>> {
  const { catalog, schema } = client.server;
  const rows = await client.rows(
    `SELECT table_name, coalesce(comment, '') FROM system.metadata.table_comments
     WHERE catalog_name = ${literal(catalog)} AND schema_name = ${literal(schema)}`,
    signal,
  );
  return new Map(rows.map(([name, comment]) => [String(name), String(comment)]));
}

function registerFault(error: unknown, table: string, location: string): unknown {
  if (!(error instanceof TrinoQueryError)) return error;
  const hint = /register.table procedure is disabled|not registered/i.test(error.message)
    ? "set delta.register-table-procedure.enabled=true in the catalog's properties"
    : "is the lake there, as Trino reaches it? `location` says where";
  return new UsageError(`table ${table} cannot be registered at ${location}: ${error.message}`, {
    cause: error,
    hint,
  });
}
