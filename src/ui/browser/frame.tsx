import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { FaultReport, LakeReport } from "../page-data.js";
import { addressOf, change, useAddress } from "./address.js";
import { FaultBox } from "./fault-box.js";
import { askJson } from "./fetch-data.js";
import { instant } from "./formats.js";
import { type ShownState, StateContext, useShownState } from "./lake-state.js";
import { Link } from "./link.js";
import { openInstrument, SearchBox } from "./search-box.js";
import { text } from "./texts.js";

/** Shows which version the workspace shows, with a slider to earlier versions. */
function AsOf() {
  const { report } = useShownState();
  const { query } = useAddress();
  const [asOf, known] = [query.get("asof"), query.get("known")];
  const [isOpen, setOpen] = useState(false);
  const [times, setTimes] = useState<readonly number[]>([]);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    askJson<{ times: number[] }>("/api/commits").then(
      (found) => setTimes(found.times),
      () => setTimes([]),
    );
    const closeOutside = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", closeOutside);
    return () => removeEventListener("pointerdown", closeOutside);
  }, [isOpen]);
  const committed = Math.max(...(report?.tables ?? []).map(({ committedAt }) => committedAt ?? 0), 0);
  const shownAt = report?.asOf ?? committed;
  const at =
    asOf === undefined ? times.length - 1 : times.findLastIndex((time) => time <= (report?.asOf ?? 0));
  const choose = (index: number): void => {
    const time = times[index];
    const isNewest = index >= times.length - 1 || time === undefined;
    change({ asof: isNewest ? undefined : new Date(time).toISOString() }, false);
  };
  return (
    <div
      class="asof"
      ref={root}
      onKeyDown={(event) => {
        if (event.key === "Escape") setOpen(false);
      }}
    >
      <button
        type="button"
        class={asOf === undefined && known === undefined ? "chip" : "chip past"}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="quiet">{asOf === undefined ? text("newest") : text("asOf")}</span>{" "}
        {shownAt > 0 ? <time>{instant(shownAt)}</time> : "…"}
        {known !== undefined && (
          <>
            {" · "}
            <span class="quiet">{text("known")}</span> <time>{known}</time>
          </>
        )}
      </button>
      {isOpen && (
        <div class="panel" role="group" aria-label={text("asOfTitle")}>
          <strong>{text("asOfTitle")}</strong>
          {times.length < 2 ? (
            <p class="quiet">{text("noEarlier")}</p>
          ) : (
            <>
              <input
                type="range"
                min={0}
                max={times.length - 1}
                value={at}
                aria-label={text("asOfTitle")}
                aria-valuetext={times[at] === undefined ? "" : `${instant(times[at])} UTC`}
                onInput={(event) => choose(Number(event.currentTarget.value))}
              />
              <p class="quiet">{asOf === undefined ? text("asOfNow") : `${instant(shownAt)} UTC`}</p>
              <button type="button" disabled={asOf === undefined} onClick={() => choose(times.length)}>
                {text("backToNewest")}
              </button>
            </>
          )}
          <KnownAt known={known} isAssumed={query.get("assume") === "1"} />
        </div>
      )}
    </div>
  );
}

/** The date at whose end what is shown was known. */
function KnownAt({ known, isAssumed }: { readonly known: string | undefined; readonly isAssumed: boolean }) {
  const id = useId();
  return (
    <>
      <label for={id}>
        <strong>{text("knownTitle")}</strong>
      </label>
      <input
        id={id}
        type="date"
        value={known ?? ""}
        onChange={(event) => change({ known: event.currentTarget.value || undefined }, false)}
      />
      <p class="quiet">{text("knownHelp")}</p>
      {known !== undefined && (
        <>
          <label>
            <input
              type="checkbox"
              checked={isAssumed}
              onChange={() => change({ assume: isAssumed ? undefined : "1" }, false)}
            />{" "}
            {text("assumeReference")}
          </label>
          <button type="button" onClick={() => change({ known: undefined, assume: undefined }, false)}>
            {text("knownNow")}
          </button>
        </>
      )}
    </>
  );
}

const VIEWS = [
  { name: "lake", path: "/" },
  { name: "instrument", path: "/instrument/" },
  { name: "notebook", path: "/notebook" },
  { name: "runs", path: "/runs" },
  { name: "quality", path: "/quality" },
] as const;

/** The tables that cannot be read, those with the same hint together, a line each. */
function refusals(refused: LakeReport["refused"]): FaultReport[] {
  const hints = [...new Set(refused.map(({ hint }) => hint))];
  return hints.map((hint) => {
    const alike = refused.filter((one) => one.hint === hint);
    return {
      message: alike.map(({ name, message }) => `${name} ${text("refused")}: ${message}`).join("\n"),
      hint,
    };
  });
}

/** The frame of every view: links to the views, the search, the shown version, and a sign if there is a newer one. */
export function Frame({
  view,
  state,
  children,
}: {
  readonly view: string;
  readonly state: ShownState;
  readonly children: ComponentChildren;
}) {
  const { fault, changed, renew, report } = state;
  const { query } = useAddress();
  /** The address has a time of which there is no state: no part of a view would ever load. */
  const isRefused = report === undefined && fault !== undefined && (query.has("asof") || query.has("known"));
  return (
    <StateContext.Provider value={state}>
      <a class="skip" href="#content">
        {text("skip")}
      </a>
      <header class="bar">
        <Link class="brand" to={addressOf("/")}>
          <img src="/assets/icon.svg" alt="" width="24" height="24" /> barlake
        </Link>
        <nav aria-label="barlake">
          {VIEWS.map(({ name, path }) => (
            <Link key={name} to={addressOf(path)} aria-current={view === name ? "page" : undefined}>
              {text(name === "notebook" ? "notebooks" : name === "runs" ? "runsView" : name)}
            </Link>
          ))}
        </nav>
        <SearchBox label={text("search")} take={openInstrument} isFirst />
        <AsOf />
      </header>
      {changed.length > 0 && (
        <div class="sign" role="status">
          <span>
            {text("newVersion")}: {changed.join(", ")}
          </span>
          <button type="button" onClick={renew}>
            {text("show")}
          </button>
        </div>
      )}
      <main id="content" tabIndex={-1}>
        {fault !== undefined && <FaultBox fault={fault} />}
        {isRefused && (
          <button
            type="button"
            onClick={() => change({ asof: undefined, known: undefined, assume: undefined })}
          >
            {text("backToNewest")}
          </button>
        )}
        {refusals(report?.refused ?? []).map((refusal) => (
          <FaultBox key={refusal.message} fault={refusal} />
        ))}
        {!isRefused && children}
      </main>
      <footer class="foot">{report?.location}</footer>
    </StateContext.Provider>
  );
}
