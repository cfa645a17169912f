import { QueryError } from "../../../core/errors.js";
import { namedRelations } from "../../../db/catalog/named-relations.js";
import { readCatalog } from "../../../db/catalog/read-catalog.js";
import { literal, literalList } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import { StatementError } from "../../errors/statement-error.js";

/** DuckDB proposes no names for an unknown column of an alias. */
const UNKNOWN_OF_ALIAS = /does not have a column named "([^"]+)"/;
const PROPOSED = 3;

/** For an unknown column without DuckDB's proposals: the error with a hint that names similar columns. */
export async function withProposals(session: Session, error: QueryError): Promise<QueryError> {
  const unknown = UNKNOWN_OF_ALIAS.exec(error.message)?.[1];
  if (unknown === undefined || error.hint !== undefined) return error;
  const named = namedRelations(error.sql, await readCatalog(session));
  const names = [...new Set(named.flatMap(({ relation }) => relation.columns.map(({ name }) => name)))];
  if (names.length === 0) return error;
  const rows = await session.json<{ name: string }>(
    `SELECT name FROM (SELECT unnest(${literalList(names)}) AS name)
     ORDER BY jaro_winkler_similarity(name, ${literal(unknown)}) DESC, name LIMIT ${PROPOSED}`,
  );
  const likely = rows.map(({ name }) => name);
  const hint = `did you mean ${likely.slice(0, -1).join(", ")}${likely.length > 1 ? " or " : ""}${likely.at(-1)}?`;
  const proposing = new QueryError(error.message, error.sql, { hint, cause: error });
  return error instanceof StatementError ? new StatementError(proposing, error.line) : proposing;
}
