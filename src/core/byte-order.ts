/** Texts in the order in which DuckDB and Parquet compare them: that of their bytes in UTF-8. */
export function inByteOrder(texts: Iterable<string>): string[] {
  return Array.from(texts, (text) => ({ text, bytes: Buffer.from(text) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ text }) => text);
}
