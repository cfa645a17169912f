import { createHash } from "node:crypto";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { BarlakeError } from "../core/errors.js";
import { ident, literal } from "../db/quote.js";
import { type SqlToken, sqlTokens } from "../db/sql-tokens.js";
import { inOrderOfNeed, readViewTree, type ViewFile, wordsOf } from "../db/views/view-files.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../schema/actions.js";
import { ABSENCES_1D, TRADING_DAYS } from "../schema/bars.js";
import { type ColumnType, DUCKDB_TYPE, type TableSchema } from "../schema/column.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../schema/statements.js";
import { TRINO_RULES, type TrinoRule, trinoRuleSql } from "./market-rules.js";

const TYPES: Readonly<Record<ColumnType, string>> = {
  ...DUCKDB_TYPE,
  timestamp: "TIMESTAMP(6) WITH TIME ZONE",
  "string[]": "ARRAY(VARCHAR)",
};

/** A relation in Trino with the columns of a table and no rows, used instead of a table that has not landed yet. */
function emptyTableSql({ columns }: Pick<TableSchema, "columns">): string {
  const nulls = columns.map(({ name, type }) => `CAST(NULL AS ${TYPES[type]}) AS ${name}`);
  return `(SELECT ${nulls.join(", ")} WHERE false)`;
}

/** The folder of the views for Trino, with one view in each file, in the same folders as `sql/views`. */
const TRINO_VIEWS = fileURLToPath(new URL("../../sql/trino", import.meta.url));

export interface TrinoView {
  readonly name: string;
  /** Its comment: a description, and a mark that changes with the definition. */
  readonly comment: string;
  readonly sql: string;
  readonly tables: readonly string[];
  readonly views: readonly string[];
}

const FORM = /^CREATE OR REPLACE VIEW (\w+) AS\n([\s\S]*?);\n+COMMENT ON VIEW \1 IS '((?:[^']|'')*)';\s*$/m;

/**
 * Views that can exist without some of their tables, which count as empty until they land: adjusted prices do not need
 * trading days, which a lake of a few symbols does not have, and services may have only some statements.
 */
const MAY_BE_EMPTY: Readonly<Record<string, readonly TableSchema[]>> = {
  daily_fundamentals: [BALANCE_SHEET, CASH_FLOW, INCOME],
  daily_metrics: [METRICS, SHARES],
  income_history: [INCOME],
  corporate_action_versions: [CORPORATE_ACTIONS],
  corporate_actions: [CORPORATE_ACTIONS],
  ex_events: [CORPORATE_ACTIONS, EX_FACTORS],
  ex_factors: [EX_FACTORS],
  restated_closes: [TRADING_DAYS, ABSENCES_1D, CORPORATE_ACTIONS, EX_FACTORS],
  symbol_changes: [SYMBOL_CHANGES],
  unknown_spans: [TRADING_DAYS],
};

/**
 * Each view comes after those that it reads. @param rawSchema the schema of the tables; the files name it `raw`. @param
 * absent tables that have not landed.
 */
export function trinoViews(rawSchema: string, absent: ReadonlySet<string> = new Set()): TrinoView[] {
  const files = readViewTree(TRINO_VIEWS);
  const names = files.map(({ path }) => basename(path, ".sql"));
  const views: TrinoView[] = [];
  for (const file of inOrderOfNeed(files))
    views.push(trinoView(file, rawSchema, { names, before: views, absent }));
  return views;
}

function trinoView(
  file: ViewFile,
  rawSchema: string,
  {
    names,
    before,
    absent,
  }: {
    readonly names: readonly string[];
    readonly before: readonly TrinoView[];
    readonly absent: ReadonlySet<string>;
  },
): TrinoView {
  const [, name, body, comment = ""] = FORM.exec(file.sql) ?? [];
  if (name === undefined || body === undefined || name !== basename(file.path, ".sql")) {
    throw new BarlakeError(`view file ${file.path}: is not one view of this name with its comment`, {
      hint: "CREATE OR REPLACE VIEW name AS ...; COMMENT ON VIEW name IS '...';",
    });
  }
  const empty = (MAY_BE_EMPTY[name] ?? []).filter((table) => absent.has(table.name));
  const landed = empty.reduce(
    (sql, table) => sql.replaceAll(new RegExp(`\\braw\\.${table.name}\\b`, "g"), emptyTableSql(table)),
    body,
  );
  const query = expanded(tablesIn(sqlTokens(landed), rawSchema));
  const words = wordsOf(body.replaceAll(/\braw\.\w+/g, ""));
  const views = names.filter((other) => other !== name && words.has(other));
  // The mark includes the views that a view reads: if one of them changes, the view is out of date.
  const parts = [
    query,
    comment,
    ...before.filter((one) => views.includes(one.name)).map((one) => one.comment),
  ];
  const mark = createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 12);
  const marked = `${comment.replaceAll("''", "'")} [barlake ${mark}]`;
  // A view runs with the rights of the user who queries it.
  const head = `CREATE OR REPLACE VIEW ${ident(name)} COMMENT ${literal(marked)} SECURITY INVOKER AS`;
  const tables = [...new Set([...landed.matchAll(/\braw\.(\w+)/g)].map(([, table = ""]) => table))];
  return { name, comment: marked, sql: `${head}\n${query}`, tables, views };
}

/** Replaces `raw` by the schema of the tables. */
function tablesIn(tokens: readonly SqlToken[], rawSchema: string): string {
  return tokens
    .filter(({ kind }) => kind !== "comment")
    .map(({ kind, text }, at, all) =>
      kind === "word" && text === "raw" && all[at + 1]?.text === "." ? ident(rawSchema) : text,
    )
    .join("");
}

/** Replaces calls of rules by their expressions. */
function expanded(sql: string): string {
  const tokens = sqlTokens(sql);
  let text = "";
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as SqlToken;
    const rule = token.kind === "word" ? TRINO_RULES[token.text] : undefined;
    if (rule === undefined || tokens[at + 1]?.text !== "(") text += token.text;
    else {
      const { values, end } = callAt(tokens, at + 1);
      text += checked(token.text, rule, values.map(expanded));
      at = end;
    }
  }
  return text;
}

function checked(name: string, rule: TrinoRule, values: readonly string[]): string {
  if (values.length === rule.parameters) return trinoRuleSql(rule, values);
  throw new BarlakeError(`rule ${name}: takes ${rule.parameters} parameters, not ${values.length}`);
}

/** The parameters of a call, and the position of its closing parenthesis. @param open position of the opening one. */
function callAt(tokens: readonly SqlToken[], open: number): { values: string[]; end: number } {
  const values: string[] = [];
  let depth = 0;
  let value = "";
  for (let at = open; at < tokens.length; at++) {
    const { text } = tokens[at] as SqlToken;
    if (text === "(" || text === "[") depth++;
    if (text === ")" || text === "]") depth--;
    if (depth === 0) return { values: [...values, value.trim()], end: at };
    if (depth === 1 && text === ",") {
      values.push(value.trim());
      value = "";
    } else if (at !== open) value += text;
  }
  throw new BarlakeError("a call has no closing bracket");
}
