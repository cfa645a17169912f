import { SQLDialect } from "@codemirror/lang-sql";
import { LanguageSupport } from "@codemirror/language";

/**
 * Words that DuckDB reserves, or that begin its statements. They only affect colours; the engine decides what is a
 * keyword.
 */
const KEYWORDS =
  "add all alter analyze and anti any as asc asof at attach begin between by call case cast check collate column columns " +
  "comment commit constraint copy create cross cube current current_date current_timestamp cycle database deallocate " +
  "default delete desc describe detach distinct drop else end escape except exclude execute exists explain export extension " +
  "extract false fetch filter first following for foreign from full function generated glob group grouping groups having if " +
  "ignore ilike import in index inner insert install intersect into is isnull join key last lateral left like limit load " +
  "macro map materialized merge natural no not notnull null nulls of offset on only or order ordinality others outer over " +
  "partition pivot positional pragma preceding prepare primary qualify range recursive references rename repeatable " +
  "replace reset respect restrict returning right rollback rollup row rows sample schema select semi sequence set sets show " +
  "similar some summarize table tables tablesample temp temporary then ties to transaction true truncate try_cast unbounded " +
  "union unique unnest unpivot update use using values variable vacuum view when where window with within without";

const TYPES =
  "bigint bit blob boolean bool char date datetime decimal double enum float float4 float8 hugeint int int1 int2 int4 int8 " +
  "integer interval json list long numeric precision real short smallint string struct text time timestamp timestamptz " +
  "tinyint ubigint uhugeint uinteger union usmallint utinyint uuid varchar";

/** The SQL dialect of DuckDB, for the colours of the text. */
export function sqlLanguage(): LanguageSupport {
  const dialect = SQLDialect.define({
    keywords: KEYWORDS,
    types: TYPES,
    builtin: "",
    // A `$` is treated as the beginning of a parameter. Strings in dollar quotes are rarer.
    doubleDollarQuotedStrings: false,
    specialVar: "$",
    operatorChars: "*+-%<>!=&|~^/:",
    caseInsensitiveIdentifiers: true,
  });
  return new LanguageSupport(dialect.language);
}
