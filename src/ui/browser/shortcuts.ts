import { useLayoutEffect, useRef } from "preact/hooks";

/** What a part of the page does with a key: `later` once it has loaded. */
type Use = "taken" | "later" | "left";

/** The parts of the page that are shown. At most one of them takes a key. */
const parts = new Set<{ readonly current: (key: string) => Use }>();
/** Keys that some part will take once it has loaded, in the order in which they were pressed. */
const waiting: string[] = [];

/**
 * Offers a part of the page the keys that are pressed outside of fields. A key for which it has not loaded yet waits
 * until it is drawn again: each key is taken once, in any order in which the parts load.
 */
export function useShortcuts(use: (key: string) => Use): void {
  const newest = useRef(use);
  newest.current = use;
  useLayoutEffect(() => {
    parts.add(newest);
    return () => {
      parts.delete(newest);
      offerWaiting();
    };
  }, []);
  useLayoutEffect(offerWaiting);
}

/** Takes a key that is pressed anywhere in the page. */
export function pressShortcut(event: KeyboardEvent): void {
  if (isOthers(event)) return;
  const use = offer(event.key);
  if (use === "taken") event.preventDefault();
  // A key that stays down repeats itself: it waits once.
  if (use === "later" && !event.repeat) waiting.push(event.key);
}

/** Whether a key belongs to a field, an editor, a table that scrolls, or the browser. */
function isOthers(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  const isField = target.matches("input:not([type=checkbox]), textarea, select") || target.isContentEditable;
  const isScrolling = event.key.startsWith("Arrow") && target.closest(".table") !== null;
  return isField || isScrolling || event.ctrlKey || event.metaKey || event.altKey;
}

function offer(key: string): Use {
  let use: Use = "left";
  for (const { current } of parts) {
    const own = current(key);
    if (own === "taken") return own;
    if (own === "later") use = own;
  }
  return use;
}

/** Offers the keys that wait, once all parts that are drawn at the same time are there. */
function offerWaiting(): void {
  if (waiting.length === 0) return;
  queueMicrotask(() => {
    for (const key of waiting.splice(0)) if (offer(key) === "later") waiting.push(key);
  });
}
