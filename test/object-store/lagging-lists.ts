import type { FaultyStore } from "./faulty-store.js";

const ENTRY = /<Contents>.*?<\/Contents>/gs;
const keyOf = (entry: string): string =>
  decodeURIComponent((/<Key>(.*?)<\/Key>/s.exec(entry)?.[1] ?? "").replaceAll("+", " "));

/**
 * Lists of a store that show each write and each deletion only after this number of further lists of any address.
 * Reads show them at once.
 */
export function laggingLists(lists: number): FaultyStore["faultOf"] {
  const written = new Map<string, number>();
  const deleted = new Map<string, number>();
  const entries = new Map<string, string>();
  let now = 0;
  return ({ method, key, query }) => {
    if (method === "PUT" && !written.has(key)) written.set(key, now);
    if (method === "DELETE") deleted.set(key, now);
    if (!query.has("list-type")) return undefined;
    now += 1;
    const isRecent = (since: number | undefined): boolean => since !== undefined && now - since <= lists;
    const edit = (body: Buffer): Buffer => {
      const text = body.toString("utf8");
      const shown = text.match(ENTRY) ?? [];
      for (const entry of shown) entries.set(keyOf(entry), entry);
      const kept = shown.filter((entry) => !isRecent(written.get(keyOf(entry))));
      const keys = new Set(shown.map(keyOf));
      const prefix = query.get("prefix") ?? "";
      const gone = [...entries].filter(
        ([one]) => one.startsWith(prefix) && !keys.has(one) && isRecent(deleted.get(one)),
      );
      const all = [...kept, ...gone.map(([, entry]) => entry)];
      all.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      const [first] = shown;
      const rest = text.replaceAll(ENTRY, "");
      const at = first === undefined ? rest.indexOf("</ListBucketResult>") : text.indexOf(first);
      return Buffer.from(rest.slice(0, at) + all.join("") + rest.slice(at));
    };
    return { kind: "edited", edit };
  };
}
