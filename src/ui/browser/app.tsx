import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { textOfPart, useAddress } from "./address.js";
import { FaultBox } from "./fault-box.js";
import { type Fault, faultOf } from "./fetch-data.js";
import { Frame } from "./frame.js";
import { LakeView } from "./lake/lake-view.js";
import { useLakeState } from "./lake-state.js";
import { WrongName } from "./search-box.js";
import { pressShortcut, useShortcuts } from "./shortcuts.js";
import { isChinese, text } from "./texts.js";

/** Views that are loaded when they are first opened, because their charts are large. */
const LATER: Readonly<Record<string, () => Promise<ComponentType>>> = {
  instrument: async () => (await import("./instrument/instrument-view.js")).InstrumentView,
  runs: async () => (await import("./runs/runs-view.js")).RunsView,
  quality: async () => (await import("./quality/quality-view.js")).QualityView,
  notebook: async () => (await import("./notebook/notebook-view.js")).NotebookView,
};

function App() {
  const state = useLakeState();
  const { path } = useAddress();
  const view = path.split("/")[1] || "lake";
  return (
    <Frame view={view} state={state}>
      {view === "lake" ? (
        <LakeView />
      ) : !Object.hasOwn(LATER, view) ? (
        <WrongName why={`${text("noPage")} ${textOfPart(path)}`} />
      ) : (
        <LaterView key={view} name={view} />
      )}
    </Frame>
  );
}

function LaterView({ name }: { readonly name: string }) {
  const load = LATER[name];
  const [View, setView] = useState<ComponentType>();
  const [fault, setFault] = useState<Fault>();
  useEffect(() => {
    load?.().then(
      (found) => setView(() => found),
      (error: unknown) => setFault(faultOf(error)),
    );
  }, [name]);
  useShortcuts(() => (View === undefined && fault === undefined ? "later" : "left"));
  if (fault !== undefined) return <FaultBox fault={fault} />;
  return View === undefined ? <p class="quiet">{text("loading")} …</p> : <View />;
}

addEventListener("keydown", pressShortcut);
document.documentElement.lang = isChinese ? "zh" : "en";
render(<App />, document.getElementById("app") as HTMLElement);
