/**
 * How well an instrument matches a sought text: 0 is the best, the symbol or name itself; then symbols that begin with
 * the text, names that begin with it, English names with a word that begins with it, and all others that contain it.
 *
 * @param texts symbol, name and English name, in lower case as `sought` is. @returns undefined where none contains it.
 */
export function nameRank(
  [symbol, name, nameEn]: readonly [symbol: string, name: string, nameEn: string],
  sought: string,
): number | undefined {
  if (symbol === sought || name === sought) return 0;
  if (symbol.startsWith(`${sought}.`)) return 1;
  if (symbol.startsWith(sought)) return 2;
  if (name.startsWith(sought) || nameEn.startsWith(sought)) return 3;
  if (nameEn.includes(` ${sought}`)) return 4;
  return symbol.includes(sought) || name.includes(sought) || nameEn.includes(sought) ? 5 : undefined;
}
