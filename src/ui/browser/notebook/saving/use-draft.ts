import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Draft, forgetDraft, storeDraft } from "./drafts.js";
import type { FileContent } from "./use-saving.js";

/** Time without typing after which the draft is stored. */
const REST_MS = 250;

/** The draft of a notebook that is edited. */
export interface UsedDraft {
  /** Whether the browser has stored it. */
  readonly isStored: boolean;
  /** Deletes it, and what was typed since it was last stored. */
  readonly forget: () => void;
}

/**
 * Stores what was typed in the browser until it is saved: reloading the page, or the end of the workspace, loses nothing.
 *
 * @param base what is in the file: the same text needs no draft
 */
export function useDraft(key: string, text: string, base: FileContent): UsedDraft {
  const [isStored, setIsStored] = useState(true);
  /** Writes what was typed; undefined where all of it is written. */
  const write = useRef<(() => void) | undefined>(undefined);
  // Before the next event: a reload right after a key must find that key's text.
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
