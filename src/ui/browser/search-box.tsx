import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { FoundInstrument, SearchReport } from "../page-data.js";
import { addressOf, change, go } from "./address.js";
import { apiAddress, askJson } from "./fetch-data.js";
import { useShownState } from "./lake-state.js";
import { useShortcuts } from "./shortcuts.js";
import { text, translated } from "./texts.js";

/** Opens an instrument. The period, the adjustment and other choices remain when the instrument changes. */
export function openInstrument({ symbol }: FoundInstrument): void {
  const target = `/instrument/${encodeURIComponent(symbol)}`;
  go(location.pathname.startsWith("/instrument/") ? target + location.search : addressOf(target));
  change({ compare: undefined, to: undefined }, false);
}

interface Answer {
  readonly sought: string;
  readonly found: readonly FoundInstrument[];
}

/**
 * Finds instruments of the lake while the user types. The arrow keys select, Enter takes.
 *
 * @param take gets the chosen instrument. @param isFirst whether `/` focuses it. @param begun what is searched at first.
 */
export function SearchBox({
  label,
  take: use,
  isFirst = false,
  begun = "",
  disabled = false,
}: {
  readonly label: string;
  readonly take: (found: FoundInstrument) => void;
  readonly isFirst?: boolean;
  readonly begun?: string;
  readonly disabled?: boolean;
}) {
  const { report } = useShownState();
  const [sought, setSought] = useState(begun);
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
    if (key !== "/" || !isFirst) return "left";
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
    use(one);
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
        aria-label={label}
        disabled={disabled}
        title={text(isFirst ? "searchHint" : "searchBy")}
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
      {isFirst && <kbd aria-hidden="true">/</kbd>}
      <div class="found" id={list} role="listbox" aria-label={label} hidden={!isOpen}>
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

/** What is wrong with a name in the address, and the search for a right one. @param begun what is searched at first */
export function WrongName({
  why,
  begun = "",
  children,
}: {
  readonly why: string;
  readonly begun?: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <section class="wrong" role="alert">
      <h1>{why}</h1>
      {children}
      <SearchBox label={text("search")} take={openInstrument} begun={begun} />
    </section>
  );
}
