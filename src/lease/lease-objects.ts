import type { ListedObject } from "../object-store/http/list-page.js";

/**
 * The entries of one creation of a record. If a lease was removed, it may be created again under another generation's
 * name.
 */
export interface Generation {
  readonly name: string;
  /** Numbers of the existing entries, ascending. */
  readonly entries: readonly number[];
  readonly newest: { readonly entry: number; readonly renewedAt: number };
  /** Whether the first entry exists. */
  readonly isBorn: boolean;
  /** Whether the record exists: its first entry exists, and its newest entry does not remove it. */
  readonly isLiving: boolean;
}

const DIGITS = 12;
const KEY = new RegExp(`^([^/]+)/([^/]+)\\.(\\d{${DIGITS}})$`);

/** The key of an entry's object. */
export function keyIn(root: string, id: string, generation: string, entry: number): string {
  return `${root}${id}/${generation}.${String(entry).padStart(DIGITS, "0")}`;
}

/** Groups a list of objects into generations, by the id of the record. Other objects are left out. */
export function generationsIn(root: string, objects: readonly ListedObject[]): Map<string, Generation[]> {
  const entries = new Map<string, Map<string, (ListedObject & { entry: number })[]>>();
  for (const object of objects) {
    const [, id = "", name = "", digits] = KEY.exec(object.key.slice(root.length)) ?? [];
    if (digits === undefined) continue;
    const ofId = entries.get(id) ?? new Map();
    entries.set(id, ofId);
    ofId.set(name, [...(ofId.get(name) ?? []), { ...object, entry: Number(digits) }]);
  }
  return new Map(
    [...entries].map(([id, ofId]) => [id, [...ofId].map(([name, found]) => generationOf(name, found))]),
  );
}

function generationOf(name: string, found: readonly (ListedObject & { entry: number })[]): Generation {
  const sorted = found.toSorted((a, b) => a.entry - b.entry);
  const last = sorted.at(-1) as (typeof sorted)[number];
  const isBorn = sorted[0]?.entry === 0;
  return {
    name,
    entries: sorted.map(({ entry }) => entry),
    // Two renewals within the same second get different times.
    newest: { entry: last.entry, renewedAt: last.modifiedAt + (last.entry % 1000) },
    isBorn,
    isLiving: isBorn && last.size > 0,
  };
}

/** The existing record among the generations of an id; undefined where there is none. */
export function livingOf(generations: readonly Generation[]): Generation | undefined {
  const living = generations.filter(({ isLiving }) => isLiving);
  return living.toSorted((a, b) => a.newest.renewedAt - b.newest.renewedAt).at(-1);
}
