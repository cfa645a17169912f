import { QueryError } from "../../core/errors.js";
import { literal } from "../../db/quote.js";
import type { QueryValues } from "../../db/session/named-values.js";
import type { Session } from "../../db/session/session.js";
import { regionOf } from "../../market/symbol.js";

/** What statements may name in a session. All names are in lower case. */
interface KnownNames {
  /** Views and tables of the lake and of the user: with their schema, and those of `main` also without. */
  readonly relations: ReadonlySet<string>;
  /** Views of DuckDB itself: settings, definitions, paths. */
  readonly systemViews: ReadonlySet<string>;
  readonly tableMacros: ReadonlySet<string>;
  /** Macros that run a text, or read the table that a text names: one of their parameters may reach it. */
  readonly textMacros: ReadonlySet<string>;
}

/** An object of the tree that `json_serialize_sql` makes. Its members depend on its type. */
type Node = Readonly<Record<string, unknown>>;

/** Types of nodes that are no expressions, and name no relation themselves. What is not here is refused. */
const PLAIN_TYPES: ReadonlySet<string> = new Set([
  "SELECT_NODE",
  "SET_OPERATION_NODE",
  "RECURSIVE_CTE_NODE",
  "CTE_NODE",
  "ORDER_MODIFIER",
  "LIMIT_MODIFIER",
  "LIMIT_PERCENT_MODIFIER",
  "DISTINCT_MODIFIER",
  "ORDER_DEFAULT",
  "ASCENDING",
  "DESCENDING",
  "EMPTY",
  "JOIN",
  "SUBQUERY",
  "EXPRESSION_LIST",
  "PIVOT",
]);

const TABLE_FUNCTIONS: ReadonlySet<string> = new Set(["unnest", "range", "generate_series"]);

/** Scalar functions that show the settings or variables of the session, which have paths of the machine. */
const SETTING_FUNCTIONS: ReadonlySet<string> = new Set(["current_setting", "getenv", "getvariable"]);

const PLAIN_NAME = /^[a-z0-9_]+$/;
const DATE = /^\d{4}-\d\d-\d\d([ T][\d:.+ Z-]*)?$/;

/**
 * Expects exactly one SELECT that reads only views and macros of the lake. Its files have rows that a point in time
 * does not show, so no name and no computed text may lead to a file: DuckDB's own parser gives the tree of the statement,
 * of which only what is known here passes.
 *
 * @param values of the parameters of the statement, since macros take them as texts, too.
 * @throws {QueryError} naming what is not permitted, and what to write instead.
 */
export async function expectLakeOnly(session: Session, sql: string, values: QueryValues = {}): Promise<void> {
  const refuse = (reason: string, hint: string): never => {
    throw new QueryError(reason, sql, { hint });
  };
  const [row] = await session.json<{ tree: string }>(
    `SELECT CAST(json_serialize_sql(${literal(sql)}) AS VARCHAR) AS tree`,
  );
  const { error_type, error_message, statements } = JSON.parse(row?.tree ?? "{}") as {
    readonly error_type?: string;
    readonly error_message?: string;
    readonly statements?: readonly Node[];
  };
  if (error_type === "not implemented" || error_type === "invalid input")
    return refuse("only a SELECT is permitted", ONE_SELECT);
  if (statements === undefined) return refuse(error_message ?? "it cannot be parsed", ONE_SELECT);
  if (statements.length !== 1)
    return refuse(`there are ${statements.length} statements where one is permitted`, ONE_SELECT);
  const known = await knownNames(session);
  const ctes = new Set([...nodesOf(statements)].flatMap(cteNames));
  for (const name of ctes)
    if (!PLAIN_NAME.test(name) || known.systemViews.has(name))
      refuse(
        `a query in WITH may not be named ${JSON.stringify(name)}`,
        "use a name of letters, digits and underscores",
      );
  for (const node of nodesOf(statements)) {
    const reason = faultOf(node, known, ctes, values);
    if (reason !== undefined) refuse(...reason);
  }
}

const ONE_SELECT = "write one SELECT over the views of the lake; describe shows their columns";
const FIND = "search finds the views and macros of the lake by what they show";

/** Why a node is refused, and what to write instead. */
function faultOf(
  node: Node,
  known: KnownNames,
  ctes: ReadonlySet<string>,
  values: QueryValues,
): [reason: string, hint: string] | undefined {
  const { type } = node;
  if (typeof type !== "string") return undefined;
  if (typeof node.class === "string") return functionFault(node, known, values);
  if (type === "BASE_TABLE") {
    const name = nameIn(node, "schema_name", "table_name");
    const isCte = node.schema_name === "" && ctes.has(name);
    if (node.catalog_name === "" && (isCte || known.relations.has(name)) && !node.at_clause) return undefined;
    const shown = [node.catalog_name, name].filter((part) => part !== "").join(".");
    if (node.at_clause)
      return [`${shown}: AT is not permitted`, "the server fixes the versions that are read"];
    return [`the lake has no view ${JSON.stringify(shown)}`, FIND];
  }
  if (type === "TABLE_FUNCTION") {
    const name = functionName(node.function);
    if (TABLE_FUNCTIONS.has(name) || known.tableMacros.has(name)) return undefined;
    return [`the function ${name || "of this form"} is not permitted in FROM`, FIND];
  }
  if (type === "SHOW_REF")
    return [`${String(node.show_type)} is not permitted`, "the tool describe shows columns and rows"];
  if (PLAIN_TYPES.has(type) || type.endsWith("_TYPE_INFO")) return undefined;
  return [`${type} is not permitted`, ONE_SELECT];
}

function functionFault(
  node: Node,
  known: KnownNames,
  values: QueryValues,
): [reason: string, hint: string] | undefined {
  if (node.class !== "FUNCTION" && node.class !== "WINDOW") return undefined;
  const name = String(node.function_name).toLowerCase();
  if (SETTING_FUNCTIONS.has(name))
    return [`the function ${name} is not permitted`, "write the value, or bind it: $name"];
  if (!known.textMacros.has(name)) return undefined;
  const wrong = (node.children as readonly Node[]).find((child) => !isPlain(child, known, values));
  if (wrong === undefined) return undefined;
  const hint = `write constants or bound values: the name of a view, a period, an adjustment, a symbol or a date`;
  return [`${name}: a parameter is computed, or names what is not in the lake`, hint];
}

/** Whether an argument is written, or bound, and cannot lead to a file. */
function isPlain(node: Node, known: KnownNames, values: QueryValues): boolean {
  switch (node.class) {
    case "CONSTANT":
      return isPlainValue((node.value as { readonly value?: unknown }).value, known);
    case "PARAMETER":
      return isPlainValue(values[String(node.identifier)], known);
    case "CAST":
      return isPlain(node.child as Node, known, values);
    case "FUNCTION":
      return (
        functionName(node) === "list_value" &&
        (node.children as readonly Node[]).every((child) => isPlain(child, known, values))
      );
    default:
      return false;
  }
}

function isPlainValue(value: unknown, known: KnownNames): boolean {
  if (Array.isArray(value)) return value.every((one) => isPlainValue(one, known));
  if (typeof value !== "string") return typeof value !== "object" || value === null;
  const name = value.toLowerCase();
  if (known.relations.has(name) || DATE.test(value) || regionOf(value) !== undefined) return true;
  return PLAIN_NAME.test(name) && !known.systemViews.has(name);
}

function* nodesOf(tree: unknown): Generator<Node, void, undefined> {
  if (typeof tree !== "object" || tree === null) return;
  if (!Array.isArray(tree)) yield tree as Node;
  for (const part of Object.values(tree)) yield* nodesOf(part);
}

function cteNames({ cte_map, cte_name }: Node): string[] {
  const entries = (cte_map as { readonly map?: readonly { readonly key: string }[] } | undefined)?.map ?? [];
  const names = entries.map(({ key }) => key.toLowerCase());
  return typeof cte_name === "string" ? [...names, cte_name.toLowerCase()] : names;
}

/** The name of a function as it is called; empty where it is none of the search path. */
function functionName(node: unknown): string {
  const { class: kind, function_name, schema, catalog } = node as Node;
  const isNear =
    (schema === "" || schema === "main" || schema === undefined) && (catalog === "" || catalog === undefined);
  const isCall = kind === "FUNCTION" || kind === "WINDOW";
  return isNear && isCall && typeof function_name === "string" ? function_name.toLowerCase() : "";
}

function nameIn(node: Node, schema: string, name: string): string {
  return [node[schema], node[name]]
    .filter((part) => part !== "")
    .join(".")
    .toLowerCase();
}

const KNOWN = new WeakMap<Session, Promise<KnownNames>>();

/** The names of a locked session, which do not change: its statements only read. */
function knownNames(session: Session): Promise<KnownNames> {
  const known = KNOWN.get(session) ?? readNames(session);
  KNOWN.set(session, known);
  return known;
}

async function readNames(session: Session): Promise<KnownNames> {
  const relations = await session.json<{ schema: string; name: string; internal: boolean }>(
    `SELECT schema_name AS "schema", lower(view_name) AS name, internal FROM duckdb_views()
     UNION ALL SELECT schema_name, lower(table_name), internal FROM duckdb_tables()`,
  );
  const macros = await session.json<{ name: string; kind: string; definition: string }>(
    `SELECT lower(function_name) AS name, function_type AS kind, lower(macro_definition) AS definition
     FROM duckdb_functions() WHERE NOT internal AND function_type IN ('macro', 'table_macro')`,
  );
  const own = relations.filter(({ internal }) => !internal);
  const textMacros = new Set<string>();
  for (let before = -1; before < textMacros.size; ) {
    before = textMacros.size;
    const calls = ["query", "query_table", ...textMacros];
    const pattern = new RegExp(`(?<![a-z0-9_])"?(${calls.join("|")})"?\\s*\\(`);
    for (const { name, definition } of macros) if (pattern.test(definition)) textMacros.add(name);
  }
  return {
    relations: new Set(
      own.flatMap(({ schema, name }) => {
        const full = `${schema.toLowerCase()}.${name}`;
        return schema === "main" ? [name, full] : [full];
      }),
    ),
    systemViews: new Set(relations.filter(({ internal }) => internal).map(({ name }) => name)),
    tableMacros: new Set(macros.filter(({ kind }) => kind === "table_macro").map(({ name }) => name)),
    textMacros,
  };
}
