import type { ListedObject } from "./http/list-page.js";
import { LIST_LAGS, ObjectStoreError } from "./http/store-error.js";
import type { ListOptions, ObjectStore } from "./object-store.js";

/** Lists of a store that contain every write of this process. */
interface FreshLists {
  /**
   * Names of the objects and folders directly in a folder (which ends with a slash) after a name (@default all),
   * sorted: the same array as before where all of them are as they were in the last list.
   */
  namesIn(folder: string, after?: string): Promise<readonly string[]>;
  /** All objects whose keys begin with a prefix, sorted. */
  objectsUnder(prefix: string): Promise<ListedObject[]>;
  /** Records that this process has written an object: later lists must contain it. */
  expect(key: string): void;
  forget(key: string): void;
}

interface Found {
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly string[];
}

/** Most writes that are remembered until a list contains them. */
const MAX_EXPECTED = 10_000;
/** Lists of one call. The pauses between them double, and take 13 seconds in all. */
const MAX_LISTS = 9;
const FIRST_PAUSE_MS = 50;

/**
 * Lists a store, and notices where its lists lag behind its writes: a reader of such a list would miss the newest
 * commits of a log, and a writer its own. A list that lacks a write of this process is repeated a few times; then an
 * {@link ObjectStoreError} is thrown.
 */
export function freshLists(store: ObjectStore): FreshLists {
  const expected = new Set<string>();
  /** The last list of each folder, with a text of everything that was listed. */
  const last = new Map<string, { readonly content: string; readonly names: readonly string[] }>();

  const listOnce = async (options: ListOptions): Promise<Found> => {
    const [objects, prefixes]: [ListedObject[], string[]] = [[], []];
    for await (const page of store.list(options)) {
      for (const one of page.objects) objects.push(one);
      for (const one of page.prefixes) prefixes.push(one);
    }
    return { objects, prefixes };
  };

  /** The first of the keys that a list lacks although the object exists. */
  const lagging = async (keys: readonly string[], { objects }: Found): Promise<string | undefined> => {
    if (keys.length === 0) return undefined;
    const listed = new Set(objects.map(({ key }) => key));
    for (const key of keys) {
      // An object that is not listed and does not exist was deleted by another process.
      if (!listed.has(key) && expected.has(key) && (await store.head(key)) !== undefined) return key;
      expected.delete(key);
    }
    return undefined;
  };

  const list = async (options: ListOptions): Promise<Found> => {
    // A write that ends while the list is made need not be in the list.
    const keys = [...expected].filter((key) => isListed(key, options));
    for (let attempt = 1; ; attempt++) {
      const found = await listOnce(options);
      const late = await lagging(keys, found);
      if (late === undefined) return found;
      if (attempt === MAX_LISTS) throw lagError(store, late);
      await store.clock.sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1));
    }
  };

  return {
    async namesIn(folder, after) {
      const startAfter = after === undefined ? {} : { startAfter: folder + after };
      const { objects, prefixes } = await list({ prefix: folder, delimiter: "/", ...startAfter });
      // Some tools make an object for the folder itself.
      const names = objects.map(({ key }) => key.slice(folder.length)).filter((name) => name !== "");
      const content = JSON.stringify([after, objects, prefixes]);
      const known = last.get(folder);
      if (known?.content === content) return known.names;
      const sorted = [...names, ...prefixes.map((prefix) => prefix.slice(folder.length, -1))].sort();
      last.set(folder, { content, names: sorted });
      return sorted;
    },
    async objectsUnder(prefix) {
      const { objects } = await list({ prefix });
      return objects.filter(({ key }) => !key.endsWith("/"));
    },
    expect(key) {
      expected.add(key);
      const [oldest] = expected;
      if (expected.size > MAX_EXPECTED && oldest !== undefined) expected.delete(oldest);
    },
    forget: (key) => void expected.delete(key),
  };
}

function isListed(key: string, { prefix, delimiter, startAfter }: ListOptions): boolean {
  if (startAfter !== undefined && Buffer.compare(Buffer.from(key), Buffer.from(startAfter)) <= 0)
    return false;
  return key.startsWith(prefix) && (delimiter === undefined || !key.slice(prefix.length).includes(delimiter));
}

function lagError({ bucket }: ObjectStore, key: string): ObjectStoreError {
  return new ObjectStoreError(
    `LIST s3://${bucket}: the list lacks ${key}, which was written before and exists`,
    { status: 200, code: LIST_LAGS },
    {
      hint: "the store, or a cache before it, shows lists that are too old; a lake needs lists that show every write",
    },
  );
}
