import { useState } from "preact/hooks";
import { text } from "./texts.js";

/** A command, with a button that copies it. */
export function Command({ command }: { readonly command: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(command).then(() => setCopied(true));
  };
  return (
    <span class="command">
      <code>{command}</code>{" "}
      <button type="button" onClick={copy}>
        {text(isCopied ? "copied" : "copy")}
      </button>
    </span>
  );
}
