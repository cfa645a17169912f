import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { FoundInstrument, SearchReport } from "../../page-data.js";
import { addressOf, change, go, useAddress } from "../address/address.js";
import { apiAddress, askJson } from "../fetch-data.js";
import { useShownState } from "../lake-state.js";
import { useShortcuts } from "../shortcuts.js";
import { text } from "../texts.js";
import { translated } from "../translations.js";

/** The instruments of a search. */
interface Answer {
  readonly sought: string;
  readonly found: readonly FoundInstrument[];
}

/** Finds instruments while the user types. `/` focuses it, the arrow keys select, Enter opens. */
export function SearchBox() {
  const { report } = useShownState();
  const { path } = useAddress();
  const [sought, setSought] = useState("");
  /** Undefined until the first response of a search. */
  const [answer, setAnswer] = useState<Answer>();
  const found = answer?.found ?? [];
  const isCurrent = answer?.sought === sought;
  /** The text for which Enter was pressed before its instruments were found, and which of them was selected. */
  const entered = useRef<{ readonly sought: string; readonly at: number } | undefined>(undefined);
  const [at, setAt] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const state = report?.state;
  useShortcuts((key) => {
    if (key !== "/") return "left";
    input.current?.focus();
    input.current?.select();
    return "taken";
  });
  useEffect(() => {
    if (!isOpen || state === undefined) return;
    const stop = new AbortController();
    const search = (whole?: "1"): Promise<SearchReport> =>
      askJson(apiAddress("search", { state, q: sought, whole }), stop.signal);
    const take = ({ found: given, isWhole }: SearchReport): void => {
      setAnswer({ sought, found: given });
      const last = Math.max(given.length - 1, 0);
      if (isWhole) setAt((selected) => Math.min(selected, last));
      if (entered.current?.sought !== sought) return;
      const one = given[isWhole ? Math.min(entered.current.at, last) : entered.current.at];
      if (one !== undefined) open(one);
    };
    const show = async (): Promise<void> => {
      const first = await search();
      take(first);
      if (!first.isWhole) take({ ...(await search("1")), isWhole: true });
    };
    show().catch(() => {});
    return () => stop.abort();
  }, [sought, isOpen, state]);
  const open = (one: FoundInstrument): void => {
    entered.current = undefined;
    setOpen(false);
    setSought("");
    input.current?.blur();
    const target = `/instrument/${encodeURIComponent(one.symbol)}`;
    // The period, the adjustment and other choices remain when the instrument changes.
    if (path.startsWith("/instrument/")) go(target + location.search);
    else go(addressOf(target));
    change({ compare: undefined, to: undefined }, false);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      // How many instruments the text has is known only once they were found.
      setAt(isCurrent ? (at + step + found.length) % Math.max(found.length, 1) : Math.max(at + step, 0));
    } else if (event.key === "Enter") {
      const one = isCurrent ? found[at] : undefined;
      if (one === undefined) entered.current = { sought, at };
      else open(one);
    } else if (event.key === "Escape") {
      setOpen(false);
      input.current?.blur();
    }
  };
  return (
    <div class="search">
      <input
        ref={input}
        type="text"
        role="combobox"
        placeholder={text("search")}
        aria-label={text("search")}
        title={text("searchHint")}
        aria-expanded={isOpen}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && at < found.length ? `${list}-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={sought}
        onFocus={() => {
          setAt(0);
          setOpen(true);
        }}
        onBlur={() => {
          entered.current = undefined;
          setOpen(false);
        }}
        onInput={(event) => {
          setSought(event.currentTarget.value);
          setAt(0);
          setOpen(true);
        }}
        onKeyDown={press}
      />
      <kbd aria-hidden="true">/</kbd>
      <div class="found" id={list} role="listbox" aria-label={text("search")} hidden={!isOpen}>
        {found.map((one, index) => (
          <div
            key={one.symbol}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onPointerDown={(event) => {
              event.preventDefault();
              open(one);
            }}
          >
            <b>{one.symbol}</b> <span>{one.name}</span>{" "}
            <small>{one.nameEn ?? translated(one.type ?? "")}</small>
          </div>
        ))}
        {found.length === 0 && (
          <div role="option" aria-selected="false" aria-disabled="true" class="quiet" tabIndex={-1}>
            {answer === undefined ? `${text("loading")} …` : text("nothingFound")}
          </div>
        )}
      </div>
    </div>
  );
}
