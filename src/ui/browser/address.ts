import { useEffect, useState } from "preact/hooks";

/** The whole state of the view, so that it can be shared, and "back" and "forward" work. */
interface Address {
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
}

/** Names in the query that apply to the whole workspace, and remain when the view changes. */
const SHARED = ["asof", "known", "assume"];
const listeners = new Set<() => void>();

function current(): Address {
  return { path: location.pathname, query: new Map(new URLSearchParams(location.search)) };
}

/** The current address. A component that uses it is drawn again when it changes. */
export function useAddress(): Address {
  const [address, setAddress] = useState(current);
  useEffect(() => {
    const update = (): void => setAddress(current());
    listeners.add(update);
    addEventListener("popstate", update);
    return () => {
      listeners.delete(update);
      removeEventListener("popstate", update);
    };
  }, []);
  return address;
}

/** The address of a view, with the parts of the query that apply to the whole workspace. */
export function addressOf(path: string, query: Readonly<Record<string, string>> = {}): string {
  const all = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(location.search))
    if (SHARED.includes(name)) all.set(name, value);
  for (const [name, value] of Object.entries(query)) all.set(name, value);
  const text = all.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return text === "" ? path : `${path}?${text}`;
}

export function go(address: string): void {
  history.pushState(null, "", address);
  for (const listener of listeners) listener();
  scrollTo(0, 0);
}

/** Changes a part of the query of the same view; undefined removes it. @param isStep whether "back" undoes it */
export function change(parts: Readonly<Record<string, string | undefined>>, isStep = true): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(parts))
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  const address = text === "" ? location.pathname : `${location.pathname}?${text}`;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  for (const listener of listeners) listener();
}

/** Parts of a path that browsers resolve as steps between folders, even where they are encoded. */
const STEP = /^~*\.{1,2}$/;

/** Encodes any text as one part of an address's path; `.` and `..` get a `~` in front. */
export function pathPart(text: string): string {
  return encodeURIComponent(STEP.test(text) ? `~${text}` : text);
}

/** The text of a part of a path. A part that cannot be decoded is used unchanged. */
export function textOfPart(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    return part;
  }
  return text.startsWith("~") && STEP.test(text) ? text.slice(1) : text;
}
