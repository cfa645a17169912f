/** The lowest code unit of a surrogate pair. */
const SURROGATE = 0xd800;

/**
 * Compares two texts in the order of their UTF-8 bytes, as DuckDB, Parquet and the log's statistics do. JavaScript's
 * own comparison puts characters above U+FFFF before some that are below.
 *
 * @returns below 0 where `a` comes first, 0 where they are equal, above 0 where `b` does.
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return x >= SURROGATE && y >= SURROGATE ? rank(x) - rank(y) : x - y;
  }
  return a.length - b.length;
}

/** Moves surrogates behind the code units above them. */
function rank(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}
