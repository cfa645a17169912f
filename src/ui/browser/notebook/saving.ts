import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { NotebookSource, SaveReport, SaveRequest } from "../../page-data.js";
import { addressOf, go } from "../address.js";
import { Fault, faultOf, send } from "../fetch-data.js";
import { notebookText } from "./notebook-texts.js";

/** A text that was typed but not saved yet. */
interface Draft {
  readonly text: string;
  /** Hash of the file from which it was made; null for a new notebook, or a copy of one that comes with barlake. */
  readonly before: string | null;
  /** When it was typed, in epoch milliseconds. */
  readonly at: number;
}

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

/** @param location of the lake, since one folder of notebooks may be used for several lakes */
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

/** The oldest drafts are deleted if there are too many. @returns false where the browser refuses to store it. */
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

/** The content of the file from which a text was made. `hash` is null where there was no file. */
export interface FileContent {
  readonly text: string;
  readonly hash: string | null;
}

export type SaveState =
  | { readonly kind: "idle" }
  | { readonly kind: "saving" }
  | { readonly kind: "failed"; readonly fault: Fault }
  /** The file no longer has the content from which the text was made. `theirs` is null where the file was deleted. */
  | { readonly kind: "changed"; readonly theirs: FileContent | null };

export interface UsedSaving {
  readonly state: SaveState;
  /** The content of the file, as far as the page knows. */
  readonly base: FileContent;
  /** Writes a text. @param over the content that it replaces. @default the content from which it was made */
  readonly save: (text: string, over?: FileContent | null) => Promise<void>;
  /** Writes a text as a new notebook, and opens it. @param onSaved called before it is opened */
  readonly saveAs: (text: string, name: string, onSaved: () => void) => Promise<void>;
  readonly rebase: (content: FileContent) => void;
}

/** Manages saving. @param start the state at first: a draft may be older than the file */
export function useSaving(
  { name, text, hash }: NotebookSource,
  start: SaveState,
  made: FileContent,
): UsedSaving {
  const [state, setState] = useState(start);
  const [base, setBase] = useState<FileContent>(start.kind === "changed" ? made : { text, hash });
  const put = async (request: SaveRequest): Promise<SaveReport | undefined> => {
    setState({ kind: "saving" });
    try {
      const response = await send("PUT", "/api/notebook", request, undefined, 409);
      return (await response.json()) as SaveReport;
    } catch (error) {
      setState({ kind: "failed", fault: faultOf(error) });
      return undefined;
    }
  };
  return {
    state,
    base,
    save: async (saved, over = base) => {
      const report = await put({ name, text: saved, before: over?.hash ?? null });
      if (report?.kind === "changed") setState(report);
      if (report?.kind !== "saved") return;
      setBase({ text: saved, hash: report.hash });
      setState({ kind: "idle" });
    },
    saveAs: async (saved, other, onSaved) => {
      const report = await put({ name: other, text: saved, before: null });
      if (report?.kind === "changed")
        setState({
          kind: "failed",
          fault: new Fault({ message: `${other}: ${notebookText("nameTaken")}`, hint: null }, 409),
        });
      if (report?.kind !== "saved") return;
      onSaved();
      go(addressOf(`/notebook/${encodeURIComponent(other)}`));
    },
    rebase: (content) => {
      setBase(content);
      setState({ kind: "idle" });
    },
  };
}

/** Time without typing after which the draft is stored, in milliseconds. */
const REST_MS = 250;

interface UsedDraft {
  readonly isStored: boolean;
  /** Deletes the draft, including text that was typed since it was last stored. */
  readonly forget: () => void;
}

/** Stores the typed text in the browser until it is saved in the file (`base`), so that a reload loses nothing. */
export function useDraft(key: string, text: string, base: FileContent): UsedDraft {
  const [isStored, setIsStored] = useState(true);
  /** Writes the typed text; undefined where all of it is written. */
  const write = useRef<(() => void) | undefined>(undefined);
  // A layout effect runs before the next event: a reload right after a key press must find the new text.
  useLayoutEffect(() => {
    const store = (): void => {
      write.current = undefined;
      if (text === base.text) return forgetDraft(localStorage, key);
      const draft: Draft = { text, before: base.hash, at: Date.now() };
      setIsStored(storeDraft(localStorage, key, draft));
    };
    write.current = store;
    const timer = setTimeout(() => write.current?.(), REST_MS);
    return () => clearTimeout(timer);
  }, [key, text, base]);
  useEffect(() => {
    const flush = (): void => write.current?.();
    addEventListener("pagehide", flush);
    return () => {
      removeEventListener("pagehide", flush);
      flush();
    };
  }, []);
  const forget = (): void => {
    write.current = undefined;
    forgetDraft(localStorage, key);
  };
  return { isStored, forget };
}
