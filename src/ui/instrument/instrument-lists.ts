import type { Reader } from "../../lake/publish.js";
import { regionOf } from "../../market/symbol.js";
import type { FoundInstrument } from "../page-data.js";
import type { LakeState } from "../session/lake-states.js";
import { type ListedInstrument, listInstruments } from "./find-instruments.js";

/** Lists of states that are kept: the newest, and one of the past beside it. */
const MOST_LISTS = 2;

/** The instruments of each state, read once: a keystroke searches in memory. It is a class because it keeps them. */
export class InstrumentLists {
  /** By the id of the state, the least recently used first. */
  readonly #lists = new Map<string, Promise<readonly ListedInstrument[]>>();

  /** All instruments, and symbols that only have bars. @param read gives a session over the state. */
  of(
    state: LakeState,
    read: (use: (reader: Reader) => Promise<FoundInstrument[]>) => Promise<FoundInstrument[]>,
  ): Promise<readonly ListedInstrument[]> {
    const known = this.#lists.get(state.id);
    const list = known ?? read(readInstruments).then(listInstruments);
    this.#lists.delete(state.id);
    this.#lists.set(state.id, list);
    // A failure is not kept: the next search reads again.
    list.catch(() => this.#lists.delete(state.id));
    for (const id of [...this.#lists.keys()].slice(0, -MOST_LISTS)) this.#lists.delete(id);
    return list;
  }
}

async function readInstruments({ session }: Reader): Promise<FoundInstrument[]> {
  const rows = await session.json<Omit<FoundInstrument, "region">>(
    `SELECT symbol, name, name_en AS "nameEn", type FROM instruments
     UNION ALL
     SELECT symbol, NULL, NULL, NULL
     FROM (SELECT DISTINCT symbol FROM raw.bars_1d) ANTI JOIN (SELECT symbol FROM instruments) USING (symbol)`,
  );
  return rows.map((row) => ({ ...row, region: regionOf(row.symbol) ?? null }));
}
