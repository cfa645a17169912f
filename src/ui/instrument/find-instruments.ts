import type { FoundInstrument } from "../page-data.js";

/** An instrument of the list, with the texts that a search compares. */
export interface ListedInstrument extends FoundInstrument {
  /** Lower-case texts: symbol, name, English name. */
  readonly texts: readonly [symbol: string, name: string, nameEn: string];
}

/** Makes the list that {@link findInstruments} searches, ordered by symbol. */
export function listInstruments(rows: readonly FoundInstrument[]): ListedInstrument[] {
  const listed = rows.map((row): ListedInstrument => {
    return {
      ...row,
      texts: [row.symbol.toLowerCase(), row.name?.toLowerCase() ?? "", row.nameEn?.toLowerCase() ?? ""],
    };
  });
  return listed.sort((a, b) => (a.symbol < b.symbol ? -1 : a.symbol > b.symbol ? 1 : 0));
}

/**
 * Finds instruments by code, name or English name, the best match first: the symbol itself, then symbols that begin
 * with the text, names that begin with it, names with a word that begins with it, and all others that contain it.
 * Without a text, the first instruments of the list are returned.
 */
export function findInstruments(
  list: readonly ListedInstrument[],
  text: string,
  limit: number,
): FoundInstrument[] {
  const sought = text.trim().toLowerCase();
  const ranked: (readonly [rank: number, place: number])[] = [];
  for (const [place, { texts }] of list.entries()) {
    const rank = sought === "" ? 0 : rankOf(texts, sought);
    if (rank !== undefined) ranked.push([rank, place]);
    if (sought === "" && ranked.length === limit) break;
  }
  return ranked
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .slice(0, limit)
    .map(([, place]) => {
      const { texts: _, ...found } = list[place] as ListedInstrument;
      return found;
    });
}

/** How well an instrument matches: 0 is the best; undefined where it does not match. */
function rankOf([symbol, name, nameEn]: ListedInstrument["texts"], sought: string): number | undefined {
  if (symbol === sought || name === sought) return 0;
  if (symbol.startsWith(`${sought}.`)) return 1;
  if (symbol.startsWith(sought)) return 2;
  if (name.startsWith(sought) || nameEn.startsWith(sought)) return 3;
  if (nameEn.includes(` ${sought}`)) return 4;
  return symbol.includes(sought) || name.includes(sought) || nameEn.includes(sought) ? 5 : undefined;
}
