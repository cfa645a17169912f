import { type Catalog, splitUnit } from "../../../db/catalog.js";
import { translated } from "../texts.js";
/** Comments of views and macros, and of columns, without their units. Those of tables are among the texts of all pages. */
import CHINESE from "./chinese-comments.json" with { type: "json" };

const COMMENTS = new Map(Object.entries(CHINESE));

/** A comment in Chinese, with its unit, if it has one; a comment that is not known, such as one of the user, remains. */
export function chineseComment(comment: string): string {
  const [, table, key] = /^(.*) Key: (.*)\.$/s.exec(comment) ?? [];
  if (table !== undefined) return `${translated(table)}主键：${key}。`;
  const { text, unit } = splitUnit(comment);
  const chinese = COMMENTS.get(text);
  if (chinese === undefined) return comment;
  return unit === "" ? chinese : `${chinese} [${unit}]`;
}

export function chineseCatalog(catalog: Catalog): Catalog {
  const say = <T extends { readonly comment: string | undefined }>(one: T): T =>
    one.comment === undefined ? one : { ...one, comment: chineseComment(one.comment) };
  const relations = catalog.relations.map((one) => ({ ...say(one), columns: one.columns.map(say) }));
  return { ...catalog, relations };
}
