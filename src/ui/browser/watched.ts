import { useState } from "preact/hooks";
import { isSymbol } from "../../market/symbol.js";

/** A browser stores it for an address with its port, so each lake has a list of its own. */
const KEY = "barlake.watched";

/** The watched symbols in the order in which they were added, and a function that adds or removes one. */
export function useWatched(): readonly [watched: readonly string[], toggle: (symbol: string) => void] {
  const [watched, setWatched] = useState(stored);
  const toggle = (symbol: string): void => {
    const before = stored();
    const after = before.includes(symbol) ? before.filter((one) => one !== symbol) : [...before, symbol];
    localStorage.setItem(KEY, after.join(","));
    setWatched(after);
  };
  return [watched, toggle];
}

function stored(): string[] {
  return (localStorage.getItem(KEY) ?? "").split(",").filter(isSymbol);
}
