import type { MacroComment } from "./macro-comment.js";

/** A column of a table or view, or of a table macro's result. */
export interface CatalogColumn {
  readonly name: string;
  /** Its SQL type; undefined if unknown, as for a macro's column. */
  readonly type: string | undefined;
  readonly comment: string | undefined;
}

/** A table, a view or a table macro. */
export interface CatalogRelation {
  /** Its name in SQL: with its schema, unless that is `main`. */
  readonly name: string;
  readonly kind: "table" | "view" | "table macro";
  readonly comment: string | undefined;
  readonly columns: readonly CatalogColumn[];
}

/** A macro. */
export interface CatalogMacro extends MacroComment {
  readonly name: string;
  readonly kind: "macro" | "table macro";
}

/** The names known to SQL in a session. */
export interface Catalog {
  readonly relations: readonly CatalogRelation[];
  readonly macros: readonly CatalogMacro[];
  readonly functions: readonly string[];
  readonly keywords: readonly string[];
}

/** A relation by name; case is ignored, and `main` may be given or not. */
export function relationNamed(catalog: Catalog, name: string): CatalogRelation | undefined {
  const lowered = name.toLowerCase().replace(/^main\./, "");
  return catalog.relations.find((relation) => relation.name.toLowerCase() === lowered);
}
