import { type SqlToken, sqlTokens } from "../statement/sql-tokens.js";
import { type Catalog, type CatalogRelation, relationNamed } from "./catalog.js";

/** A relation that a statement names. */
export interface NamedRelation {
  readonly relation: CatalogRelation;
  /** Its name in the statement: the alias, otherwise its own name. */
  readonly alias: string;
}

/** The relations that a statement names, in order, each with its alias. The statement may be incomplete. */
export function namedRelations(sql: string, catalog: Catalog): NamedRelation[] {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== "blank" && kind !== "comment");
  const keywords = new Set(catalog.keywords);
  const found: NamedRelation[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { name, end } = dottedName(tokens, at);
    const relation = name === undefined ? undefined : relationNamed(catalog, name);
    if (relation === undefined || name === undefined) continue;
    const after = afterCall(tokens, end);
    const next = tokens[after]?.text.toLowerCase() === "as" ? tokens[after + 1] : tokens[after];
    const isAlias =
      next?.kind === "identifier" || (next?.kind === "word" && !keywords.has(next.text.toLowerCase()));
    found.push({ relation, alias: isAlias && next ? unquoted(next) : (name.split(".").at(-1) ?? name) });
    at = end - 1;
  }
  return found;
}

/** The name that begins at a token, with its schema if given, and the next token. */
function dottedName(tokens: readonly SqlToken[], at: number): { name: string | undefined; end: number } {
  const isName = (token: SqlToken | undefined): token is SqlToken =>
    token?.kind === "word" || token?.kind === "identifier";
  const [first, dot, second] = [tokens[at], tokens[at + 1], tokens[at + 2]];
  if (!isName(first)) return { name: undefined, end: at + 1 };
  if (dot?.text === "." && isName(second))
    return { name: `${unquoted(first)}.${unquoted(second)}`, end: at + 3 };
  return { name: unquoted(first), end: at + 1 };
}

/** The token after the parameters of a macro, if there are any. */
function afterCall(tokens: readonly SqlToken[], at: number): number {
  if (tokens[at]?.text !== "(") return at;
  let depth = 0;
  for (let end = at; end < tokens.length; end++) {
    if (tokens[end]?.text === "(") depth++;
    if (tokens[end]?.text === ")") depth--;
    if (depth === 0) return end + 1;
  }
  return tokens.length;
}

function unquoted({ kind, text }: SqlToken): string {
  return kind === "identifier" ? text.replace(/^"|"$/g, "").replaceAll('""', '"') : text;
}
