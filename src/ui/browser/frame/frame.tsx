import type { ComponentChildren } from "preact";
import type { FaultReport, LakeReport } from "../../page-data.js";
import { addressOf } from "../address/address.js";
import { Link } from "../address/link.js";
import { FaultBox } from "../fault-box.js";
import { type ShownState, StateContext } from "../lake-state.js";
import { text } from "../texts.js";
import { AsOf } from "./as-of.js";
import { SearchBox } from "./search-box.js";

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
        <SearchBox />
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
        {refusals(report?.refused ?? []).map((refusal) => (
          <FaultBox key={refusal.message} fault={refusal} />
        ))}
        {children}
      </main>
      <footer class="foot">{report?.location}</footer>
    </StateContext.Provider>
  );
}
