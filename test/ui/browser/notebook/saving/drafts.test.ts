import { expect, test } from "vitest";
import {
  type DraftStore,
  draftKey,
  forgetDraft,
  readDraft,
  storeDraft,
} from "../../../../../src/ui/browser/notebook/saving.js";

function storeOf(most = Number.POSITIVE_INFINITY): DraftStore & { readonly entries: Map<string, string> } {
  const entries = new Map<string, string>();
  return {
    entries,
    get length() {
      return entries.size;
    },
    key: (at) => [...entries.keys()][at] ?? null,
    getItem: (key) => entries.get(key) ?? null,
    removeItem: (key) => void entries.delete(key),
    setItem: (key, value) => {
      if (value.length > most) throw new Error("QuotaExceededError");
      entries.set(key, value);
    },
  };
}

test("a draft is stored until it is deleted, for its folder and name alone", () => {
  const store = storeOf();
  const key = draftKey("/a", "b");
  expect(storeDraft(store, key, { text: "typed", before: null, at: 1 })).toBe(true);
  expect(readDraft(store, key)).toEqual({ text: "typed", before: null, at: 1 });
  expect(readDraft(store, draftKey("/a b", ""))).toBeUndefined();
  forgetDraft(store, key);
  expect(readDraft(store, key)).toBeUndefined();
});

test("many drafts are bounded in number and size; the oldest go, and nothing else of the storage", () => {
  const store = storeOf();
  store.setItem("other", "kept");
  for (let at = 0; at < 60; at++) storeDraft(store, draftKey("/a", `n${at}`), { text: "x", before: "h", at });
  expect(store.length).toBe(41);
  expect(readDraft(store, draftKey("/a", "n19"))).toBeUndefined();
  expect(readDraft(store, draftKey("/a", "n20"))?.at).toBe(20);
  storeDraft(store, draftKey("/a", "large"), { text: "y".repeat(2_499_960), before: null, at: 99 });
  expect([...store.entries.keys()]).toEqual(["other", draftKey("/a", "large")]);
});

test("what does not fit is not stored, and that is reported; what is damaged is no draft", () => {
  const key = draftKey("/a", "b");
  expect(storeDraft(storeOf(10), key, { text: "typed", before: null, at: 1 })).toBe(false);
  expect(storeDraft(storeOf(), key, { text: "z".repeat(3_000_000), before: null, at: 1 })).toBe(false);
  for (const damaged of ["", "null", "{}", '{"text":1,"at":2}', "[", '{"text":"a"}']) {
    const store = storeOf();
    store.setItem(key, damaged);
    expect(readDraft(store, key), damaged).toBeUndefined();
  }
});
