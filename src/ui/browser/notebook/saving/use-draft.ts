import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Draft, forgetDraft, storeDraft } from "./drafts.js";
import type { FileContent } from "./use-saving.js";

/** Time without typing after which the draft is stored, in milliseconds. */
const REST_MS = 250;

/** The draft of a notebook that is being edited. */
export interface UsedDraft {
  /** Whether the browser has stored the draft. */
  readonly isStored: boolean;
  /** Deletes the draft, including text that was typed since it was last stored. */
  readonly forget: () => void;
}

/**
 * Stores the typed text in the browser until it is saved, so that nothing is lost if the page is reloaded or the
 * workspace ends.
 *
 * @param base the content of the file: the same text needs no draft
 */
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
