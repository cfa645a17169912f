import type { FaultReport } from "../page-data.js";
import { useShownState } from "./lake-state.js";
import { text } from "./texts.js";

/** An error, and what to do next. */
export function FaultBox({ fault: { message, hint } }: { readonly fault: FaultReport }) {
  return (
    <div class="fault" role="alert">
      <pre>{message}</pre>
      {hint !== null && <p>{hint}</p>}
    </div>
  );
}

/** Why data is missing, and the command that adds it. @param next the command without the option for the lake */
export function Missing({ why, next }: { readonly why: string; readonly next?: string | undefined }) {
  const { report } = useShownState();
  return (
    <p class="empty">
      {why}
      {next !== undefined && (
        <>
          {" "}
          {text("brings")} <code>{`${next} --lake ${report?.lakeWord ?? ""}`}</code>
        </>
      )}
    </p>
  );
}
