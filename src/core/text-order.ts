/** The lowest code unit of a surrogate pair. */
const SURROGATE = 0xd800;

/**
 * Compares two texts in the order of their UTF-8 bytes, as DuckDB, Parquet and the log's statistics do. JavaScript's
 * own comparison puts characters above U+FFFF before some that are below.
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

/** The first of some names, and how many there are beyond them: `600519.SH, 000001.SZ and 3 more`. */
export function firstNames(names: readonly string[], most = 5): string {
  const more = names.length - most;
  return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** The name with the fewest different letters, if these are few: what a mistyped name may have meant. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  const near = names
    .map((one) => ({ one, distance: distanceOf(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.one;
}

/** The number of letters to add, drop or replace. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}

/** A text as one word of a POSIX shell's command, quoted where it has to be. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  // Between double quotes a shell replaces nothing but these.
  if (text.includes("'") && !/["$`\\!]/.test(text)) return `"${text}"`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
