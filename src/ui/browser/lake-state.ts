import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { LakeReport } from "../page-data.js";
import { useAddress } from "./address.js";
import { apiAddress, askJson, type Fault, faultOf } from "./fetch-data.js";

/** How often a page checks whether the lake has changed, in milliseconds. */
const CHECK_MS = 4000;

export interface ShownState {
  readonly report: LakeReport | undefined;
  readonly fault: Fault | undefined;
  /** Names of the tables that have changed since; empty where none has. */
  readonly changed: readonly string[];
  /** Switches to the newest state. */
  readonly renew: () => void;
}

export const StateContext = createContext<ShownState | undefined>(undefined);

/** The state at the time in the address, and the tables that have changed since; shown until the user renews it. */
export function useLakeState(): ShownState {
  const { query } = useAddress();
  const [asOf, known, assume] = [query.get("asof"), query.get("known"), query.get("assume")];
  const [report, setReport] = useState<LakeReport>();
  const [fault, setFault] = useState<Fault>();
  const [newest, setNewest] = useState<LakeReport>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const show = (found: LakeReport): void => {
      setReport(found);
      setNewest(undefined);
      setFault(undefined);
    };
    askJson<LakeReport>(apiAddress("state", { asof: asOf, known, assume }), stop.signal).then(
      show,
      (error: unknown) => {
        if (!stop.signal.aborted) setFault(faultOf(error));
      },
    );
    return () => stop.abort();
  }, [asOf, known, assume, round]);
  useEffect(() => {
    if (asOf !== undefined) return;
    const see = (found: LakeReport): void => {
      setFault(undefined);
      setNewest(found);
    };
    const check = (): void => {
      if (document.hidden) return;
      askJson<LakeReport>(apiAddress("state", { known, assume })).then(see, (error: unknown) =>
        setFault(faultOf(error)),
      );
    };
    const timer = setInterval(check, CHECK_MS);
    return () => clearInterval(timer);
  }, [asOf, known, assume]);
  const isChanged = report !== undefined && newest !== undefined && newest.state !== report.state;
  return {
    report,
    fault,
    changed: isChanged ? changedTables(report, newest) : [],
    renew: () => setRound((n) => n + 1),
  };
}

function changedTables(before: LakeReport, after: LakeReport): string[] {
  const versions = new Map(before.tables.map(({ name, version }) => [name, version]));
  const changed = after.tables.filter(({ name, version }) => versions.get(name) !== version);
  return changed.length > 0 ? changed.map(({ name }) => name) : ["…"];
}

export function useShownState(): ShownState {
  const state = useContext(StateContext);
  if (state === undefined) throw new Error("a view is outside of the frame");
  return state;
}

/** The address of a request about the shown state; undefined until the state is known. */
export function useStateAddress(
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string | undefined {
  const { report } = useShownState();
  return report === undefined ? undefined : apiAddress(path, { state: report.state, ...query });
}
