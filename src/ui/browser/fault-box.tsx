import type { FaultReport } from "../page-data.js";
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

/** Why data is missing, and the command that adds it. */
export function Missing({ why, next }: { readonly why: string; readonly next?: string | undefined }) {
  return (
    <p class="empty">
      {why}
      {next !== undefined && (
        <>
          {" "}
          {text("brings")} <code>{next}</code>
        </>
      )}
    </p>
  );
}
