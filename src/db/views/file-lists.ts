import { ident, literal, literalList } from "../quote.js";
import type { Session } from "../session/session.js";

/** Fewest files of a list that is stored as a type. */
const LEAST_STORED = 32;

/** Between the table's name and the number of the list, in the name of a type. */
const INFIX = "_files_";

/** Names of files, stored in a database as the values of an ENUM. */
export interface FileList {
  /** The name of the type in the schema `raw`. */
  readonly name: string;
  readonly urls: readonly string[];
}

/**
 * The lists of files that a view reads. A long list is an ENUM type next to the view, which any DuckDB client reads:
 * the view is short, and when files are added only the type is created again, not the view.
 */
export class FileLists {
  readonly #table: string;
  readonly #stored: FileList[] = [];

  constructor(table: string) {
    this.#table = table;
  }

  /** An expression of a list of files, which need not exist as a type yet. */
  sqlOf(urls: readonly string[]): string {
    if (urls.length < LEAST_STORED) return literalList(urls);
    const name = `${this.#table}${INFIX}${this.#stored.length + 1}`;
    this.#stored.push({ name, urls });
    return `CAST(enum_range(CAST(NULL AS ${typeSql(name)})) AS VARCHAR[])`;
  }

  /** The lists that are types. */
  get stored(): readonly FileList[] {
    return this.#stored;
  }
}

/** Creates the type of a list, or creates it again. */
export async function storeList(session: Session, { name, urls }: FileList): Promise<void> {
  await session.run(`DROP TYPE IF EXISTS ${typeSql(name)}`);
  await session.run(`CREATE TYPE ${typeSql(name)} AS ENUM (${urls.map(literal).join(", ")})`);
}

/** Deletes the types of a table's lists. */
export async function dropLists(session: Session, table: string): Promise<void> {
  const types = await session.json<{ name: string }>(
    `SELECT type_name AS name FROM duckdb_types()
     WHERE database_name = current_database() AND schema_name = 'raw' AND starts_with(type_name, $1)`,
    [`${table}${INFIX}`],
  );
  for (const { name } of types) await session.run(`DROP TYPE ${typeSql(name)}`);
}

function typeSql(name: string): string {
  return `raw.${ident(name)}`;
}
