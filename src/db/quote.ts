/** An identifier as SQL: always quoted. */
export function ident(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as an SQL literal; for paths and the few places where a value cannot be bound. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A list of texts as an SQL list literal. */
export function literalList(texts: readonly string[]): string {
  return `[${texts.map(literal).join(", ")}]`;
}
