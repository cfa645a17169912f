import type { Catalog } from "../db/catalog.js";
import type { LakeMoment, LakeQuestions } from "./lake-questions.js";

export interface Found {
  readonly kind: "view" | "table" | "table macro" | "macro" | "instrument" | "universe";
  readonly name: string;
  /** What it is, in a sentence; of a view also the columns that were meant. */
  readonly says: string;
}

/** Instruments and universes that have every word. */
const MEMBERS = `SELECT kind, name, says FROM (
    SELECT 'universe' AS kind, id AS name, concat_ws(', ', name, category, description, symbol_count || ' instruments') AS says FROM universes
    UNION ALL
    SELECT 'instrument', symbol, concat_ws(', ', name, name_en, type, 'since ' || listing_date) FROM instruments
  ) WHERE len(list_filter($words::VARCHAR[], lambda word: NOT contains(lower(name || ' ' || says), word))) = 0
  ORDER BY kind DESC, name`;

/** Most columns that one result names. */
const MOST_COLUMNS = 8;

/**
 * Searches the views and macros by their names, comments and columns, and instruments and universes by theirs. Case is
 * ignored. What has more of the words comes first; instruments and universes have all of them.
 */
export async function searchLake(
  questions: LakeQuestions,
  moment: LakeMoment,
  { words, limit }: { readonly words: readonly string[]; readonly limit: number },
  signal: AbortSignal,
): Promise<{ readonly found: readonly Found[]; readonly isCut: boolean }> {
  const views = searchCatalog(await questions.catalog(moment), words);
  const { rows, isCut } = await questions.ask(moment, MEMBERS, { words }, signal, limit);
  const members = rows.map(([kind, name, says]) => ({ kind, name, says }) as Found);
  const found = [...views.slice(0, Math.max(limit - members.length, limit >> 1)), ...members].slice(0, limit);
  return { found, isCut: isCut || found.length < views.length + members.length };
}

function searchCatalog({ relations, macros }: Catalog, words: readonly string[]): Found[] {
  const entries = [
    ...relations.map(({ name, kind, comment = "", columns }) => ({ name, kind, comment, columns })),
    ...macros
      .filter(({ kind }) => kind === "macro")
      .map(({ name, kind, summary = "", parameters }) => ({
        name,
        kind,
        comment: summary,
        columns: parameters,
      })),
  ];
  const scored = entries.map(({ name, kind, comment, columns }) => {
    const meant = columns
      .map((column) => ({
        column: column.name,
        hits: hitsOf(words, `${column.name} ${column.comment ?? ""}`),
      }))
      .filter(({ hits }) => hits.length > 0)
      .sort((a, b) => b.hits.length - a.hits.length);
    const [inName, inComment] = [hitsOf(words, name), hitsOf(words, comment)];
    // Words that stand together in one column count like those of the comment.
    const best = Math.max(inName.length + inComment.length / 2, meant[0]?.hits.length ?? 0);
    const hit = new Set([...inName, ...inComment, ...meant.flatMap(({ hits }) => hits)]);
    const shown = meant.slice(0, MOST_COLUMNS).map(({ column }) => column);
    const says = shown.length === 0 ? comment : `${comment} Columns: ${shown.join(", ")}.`;
    return { found: { kind, name, says }, hits: hit.size, best };
  });
  return scored
    .filter(({ hits }) => hits * 2 >= words.length && hits > 0)
    .sort((a, b) => b.hits - a.hits || b.best - a.best || (a.found.name < b.found.name ? -1 : 1))
    .map(({ found }) => found);
}

function hitsOf(words: readonly string[], text: string): string[] {
  const tokens = wordsOf(text);
  return words.filter((word) => tokens.some((token) => token.startsWith(word)));
}

export function wordsOf(text: string): string[] {
  return (
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}.^-]+/gu)
      ?.map((word) => word.replace(/\.$/, "")) ?? []
  );
}
