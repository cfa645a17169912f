/** A text that was typed but not saved yet. */
export interface Draft {
  readonly text: string;
  /** Hash of the file from which it was made; null for a new notebook, or a copy of one that comes with barlake. */
  readonly before: string | null;
  /** When it was typed, in epoch milliseconds. */
  readonly at: number;
}

/** The storage of the browser, in which drafts are stored. */
export interface DraftStore {
  readonly length: number;
  key(at: number): string | null;
  getItem(key: string): string | null;
  /** @throws where the storage is full, or not permitted. */
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const PREFIX = "barlake.draft ";
/** Most drafts. If there are more, the oldest ones are deleted. */
const MOST_DRAFTS = 40;
/** Most characters of all drafts. Browsers permit about five million. */
const MOST_CHARACTERS = 2_500_000;

/**
 * The key of a notebook's draft. @param location of the lake, since one folder of notebooks may be used for several
 * lakes
 */
export function draftKey(location: string, name: string): string {
  return `${PREFIX}${JSON.stringify([location, name])}`;
}

/** Reads a draft; undefined where there is none, or the stored text is not a draft. */
export function readDraft(store: DraftStore, key: string): Draft | undefined {
  try {
    const { text, before, at } = JSON.parse(store.getItem(key) ?? "null") as Partial<Draft>;
    if (typeof text !== "string" || typeof at !== "number") return undefined;
    return { text, before: typeof before === "string" ? before : null, at };
  } catch {
    return undefined;
  }
}

/**
 * Stores a draft. The oldest ones are deleted if there are too many. @returns false where the browser refuses to store
 * it.
 */
export function storeDraft(store: DraftStore, key: string, draft: Draft): boolean {
  const text = JSON.stringify(draft);
  if (text.length > MOST_CHARACTERS) return false;
  deleteOldest(store, key, text.length);
  try {
    store.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/** Deletes a draft. */
export function forgetDraft(store: DraftStore, key: string): void {
  store.removeItem(key);
}

/** Deletes the oldest drafts that, together with a new one of `length` characters, would exceed a limit. */
function deleteOldest(store: DraftStore, key: string, length: number): void {
  const keys = Array.from({ length: store.length }, (_, at) => store.key(at) ?? "");
  const others = keys
    .filter((other) => other.startsWith(PREFIX) && other !== key)
    .map((other) => ({
      other,
      size: store.getItem(other)?.length ?? 0,
      at: readDraft(store, other)?.at ?? 0,
    }))
    .sort((a, b) => b.at - a.at);
  let total = length;
  for (const [index, { other, size }] of others.entries()) {
    total += size;
    if (index >= MOST_DRAFTS - 1 || total > MOST_CHARACTERS) store.removeItem(other);
  }
}
