import type { Reader } from "../../lake/open-reader.js";
import { nameRank } from "../../market/name-rank.js";
import { regionOf } from "../../market/symbol.js";
import type { FoundInstrument } from "../page-data.js";
import type { LakeState } from "../session/lake-states.js";

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
    const rank = sought === "" ? 0 : nameRank(texts, sought);
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

/** Number of states whose lists are cached: the newest, and one of the past. */
const MOST_LISTS = 2;

interface InstrumentList {
  /** The instruments for which the lake has metadata. They are available before bars are read. */
  readonly named: Promise<readonly ListedInstrument[]>;
  /** All instruments, including symbols that only have bars. */
  readonly whole: Promise<readonly ListedInstrument[]>;
  isWhole: boolean;
}

type Read = (use: (reader: Reader) => Promise<FoundInstrument[]>) => Promise<FoundInstrument[]>;

/**
 * The instruments of each state, which are read once, so that a search while typing needs only memory. It is a class
 * because it caches them.
 */
export class InstrumentLists {
  /** Lists by the id of the state, the least recently used first. */
  readonly #lists = new Map<string, InstrumentList>();

  /** All instruments, and symbols that only have bars. @param read runs a function with a session over the state. */
  whole(state: LakeState, read: Read): Promise<readonly ListedInstrument[]> {
    return this.#of(state, read).whole;
  }

  /**
   * The list that is available first: the whole list, or the instruments with metadata.
   *
   * @param read as in {@link whole}.
   */
  async soonest(
    state: LakeState,
    read: Read,
  ): Promise<{ readonly list: readonly ListedInstrument[]; readonly isWhole: boolean }> {
    const known = this.#of(state, read);
    const named = known.isWhole ? [] : await known.named;
    // Without metadata there is nothing to return before the bars are read.
    if (named.length > 0) return { list: named, isWhole: false };
    return { list: await known.whole, isWhole: true };
  }

  #of(state: LakeState, read: Read): InstrumentList {
    const list = this.#lists.get(state.id) ?? begin(read);
    this.#lists.delete(state.id);
    this.#lists.set(state.id, list);
    // A failure is not cached, so the next search reads again.
    list.whole.catch(() => {
      if (this.#lists.get(state.id) === list) this.#lists.delete(state.id);
    });
    for (const id of [...this.#lists.keys()].slice(0, -MOST_LISTS)) this.#lists.delete(id);
    return list;
  }
}

function begin(read: Read): InstrumentList {
  let resolve: (list: readonly ListedInstrument[]) => void = () => {};
  const named = new Promise<readonly ListedInstrument[]>((done) => {
    resolve = done;
  });
  const whole = read(async ({ session }) => {
    const rows = await session.json<InstrumentRow>(
      `SELECT symbol, name, name_en AS "nameEn", type FROM instruments`,
    );
    const known = rows.map(withRegion);
    resolve(listInstruments(known));
    const others = await session.json<InstrumentRow>(
      `SELECT symbol, NULL AS name, NULL AS "nameEn", NULL AS type
       FROM (SELECT DISTINCT symbol FROM raw.bars_1d) ANTI JOIN (SELECT symbol FROM instruments) USING (symbol)`,
    );
    return [...known, ...others.map(withRegion)];
  }).then(listInstruments);
  const list: InstrumentList = { named: Promise.race([named, whole]), whole, isWhole: false };
  const end = (): void => {
    list.isWhole = true;
  };
  // The failure is thrown where these promises are awaited.
  whole.then(end, () => {});
  list.named.catch(() => {});
  return list;
}

type InstrumentRow = Omit<FoundInstrument, "region">;

function withRegion(row: InstrumentRow): FoundInstrument {
  return { ...row, region: regionOf(row.symbol) ?? null };
}
