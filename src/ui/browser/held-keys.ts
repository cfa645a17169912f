import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { isTyping } from "./is-typing.js";

/** Keys of the shortcuts of views. The search takes its own key at any time, and the space key scrolls. */
const SHORTCUT = /^([^/ ]|Arrow(Left|Right))$/;

/**
 * Holds the shortcuts that are pressed while a view loads, because nothing takes them yet, and presses them again once
 * it has loaded.
 *
 * @param keys the keys that nothing takes until then. @default all shortcuts
 */
export function useHeldKeys(isLoading: boolean, keys: RegExp = SHORTCUT): void {
  const pressed = useRef<string[]>([]);
  const isHolding = useRef(false);
  const isWaiting = useRef(false);
  useLayoutEffect(() => {
    isWaiting.current = isLoading;
    if (isLoading) isHolding.current = true;
  }, [isLoading]);
  useLayoutEffect(() => {
    const hold = (event: KeyboardEvent): void => {
      // A key that stays down repeats itself until the view has loaded: it counts once.
      const isPressed = !event.repeat && !isTyping(event);
      // A part of the view may press a key again before the effect of this part, which has loaded too: it is taken once.
      const isHeld = event.isTrusted ? isHolding.current : isWaiting.current;
      if (isHeld && isPressed && keys.test(event.key)) pressed.current.push(event.key);
    };
    addEventListener("keydown", hold);
    return () => removeEventListener("keydown", hold);
  }, []);
  // The effects of the parts of the view run before this one: they have added what takes the keys.
  useEffect(() => {
    if (isLoading) return;
    isHolding.current = false;
    for (const key of pressed.current.splice(0))
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }, [isLoading]);
}
