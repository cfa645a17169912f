import { useEffect, useState } from "preact/hooks";

const DARK = "(prefers-color-scheme: dark)";

/**
 * Whether the browser prefers dark colours. A component that uses this is drawn again when it changes: a chart takes its
 * colours only when it is drawn.
 */
export function useIsDark(): boolean {
  const [isDark, setDark] = useState(matchMedia(DARK).matches);
  useEffect(() => {
    const dark = matchMedia(DARK);
    const follow = (): void => setDark(dark.matches);
    dark.addEventListener("change", follow);
    return () => dark.removeEventListener("change", follow);
  }, []);
  return isDark;
}
