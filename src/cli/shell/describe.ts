import { UsageError } from "../../core/errors.js";
import {
  type Catalog,
  type CatalogMacro,
  type CommentedName,
  relationNamed,
  splitUnit,
} from "../../db/catalog.js";
import { cut } from "../results/result-table.js";
import { type Cell, paint, table } from "../text.js";

/** Every table, view and macro with the first sentence of its comment. */
export function listTables(catalog: Catalog, width: number | undefined, like = ""): string {
  const scalars = catalog.macros.filter(({ kind }) => kind === "macro");
  const entries = [
    ...catalog.relations.map(({ name, kind, comment }) => ({ name, kind: kind as string, comment })),
    ...scalars.map(({ name, summary }) => ({ name, kind: "macro", comment: summary })),
  ].filter(({ name }) => name.includes(like));
  if (entries.length === 0) {
    throw new UsageError(`nothing is called ${like}`, { hint: ".tables lists everything" });
  }
  const rows = entries.map(({ name, kind, comment }) => [name, kind, firstSentence(comment)]);
  return fitted(["name", "kind", "is"], rows, width);
}

/** The description of a table, a view or a macro. @throws {UsageError} for an unknown name. */
export function describeName(catalog: Catalog, name: string, width: number | undefined): string {
  const relation = relationNamed(catalog, name);
  const macro = catalog.macros.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (macro !== undefined) return describeMacro(macro, relation?.columns ?? [], width);
  if (relation === undefined) {
    throw new UsageError(`${name}: no table, view or macro is called so`, {
      hint: `${likeNames(catalog, name)}.tables lists them`,
    });
  }
  const rows = relation.columns.map(({ name: column, type, comment }) => {
    const { text, unit } = splitUnit(comment);
    return [column, type ?? "", unit, text];
  });
  const head = `${paint("bold", relation.name)}, ${relation.kind}`;
  const columns = fitted(["column", "type", "unit", "is"], rows, width);
  return [head, ...(relation.comment ? [relation.comment] : []), "", columns].join("\n");
}

function describeMacro(
  { name, kind, summary, parameters }: CatalogMacro,
  columns: readonly CommentedName[],
  width: number | undefined,
): string {
  const named = (parts: readonly CommentedName[], head: string): string[] => {
    const rows = parts.map((part) => {
      const { text, unit } = splitUnit(part.comment);
      return [part.name, unit, text];
    });
    return rows.length === 0 ? [] : ["", fitted([head, "unit", "is"], rows, width)];
  };
  const call = `${name}(${parameters.map((parameter) => parameter.name).join(", ")})`;
  return [
    `${paint("bold", call)}, ${kind}`,
    ...(summary === undefined ? [] : [summary]),
    ...named(parameters, "parameter"),
    ...named(columns, "column"),
  ].join("\n");
}

/** A table whose last column is cut to the width. */
function fitted(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): string {
  const before = head
    .slice(0, -1)
    .map((name, index) => Math.max(name.length, ...rows.map((row) => row[index]?.length ?? 0)) + 2);
  const available =
    width === undefined ? Number.POSITIVE_INFINITY : width - before.reduce((sum, n) => sum + n, 0);
  const cells = rows.map((row): Cell[] => [
    ...row.slice(0, -1),
    cut(row.at(-1) ?? "", Math.max(10, available)),
  ]);
  return table(head, cells);
}

function firstSentence(comment: string | undefined): string {
  return /^.*?\.(?=\s|$)/s.exec(comment ?? "")?.[0] ?? comment ?? "";
}

/** Names that contain the given name, or have the same beginning. */
function likeNames(catalog: Catalog, name: string): string {
  const start = name.toLowerCase().slice(0, 3);
  const names = [...new Set([...catalog.relations, ...catalog.macros].map((one) => one.name))];
  const like = names.filter((one) => one.includes(name.toLowerCase()) || one.startsWith(start)).slice(0, 3);
  return like.length === 0 ? "" : `did you mean ${like.join(", ")}? `;
}
