import { useState } from "preact/hooks";
import type { NotebookSource, SaveReport, SaveRequest } from "../../../page-data.js";
import { addressOf, go } from "../../address/address.js";
import { Fault, faultOf, send } from "../../fetch-data.js";
import { notebookText } from "../notebook-texts.js";

/** The content of the file from which a text was made. `hash` is null where there was no file. */
export interface FileContent {
  readonly text: string;
  readonly hash: string | null;
}

/** The state of saving. */
export type SaveState =
  | { readonly kind: "idle" }
  | { readonly kind: "saving" }
  | { readonly kind: "failed"; readonly fault: Fault }
  /** The file no longer has the content from which the text was made. `theirs` is null where the file was deleted. */
  | { readonly kind: "changed"; readonly theirs: FileContent | null };

/** Saving a notebook from the page. */
export interface UsedSaving {
  readonly state: SaveState;
  /** The content of the file, as far as the page knows. */
  readonly base: FileContent;
  /** Writes a text. @param over the content that it replaces. @default the content from which it was made */
  readonly save: (text: string, over?: FileContent | null) => Promise<void>;
  /** Writes a text as a new notebook, and opens it. @param onSaved called before it is opened */
  readonly saveAs: (text: string, name: string, onSaved: () => void) => Promise<void>;
  /** Continues with another content of the file as the base. */
  readonly rebase: (content: FileContent) => void;
}

/** Manages saving. @param start the state at first: a draft may be older than the file */
export function useSaving(
  { name, text, hash }: NotebookSource,
  start: SaveState,
  made: FileContent,
): UsedSaving {
  const [state, setState] = useState(start);
  const [base, setBase] = useState<FileContent>(start.kind === "changed" ? made : { text, hash });
  const put = async (request: SaveRequest): Promise<SaveReport | undefined> => {
    setState({ kind: "saving" });
    try {
      const response = await send("PUT", "/api/notebook", request, undefined, 409);
      return (await response.json()) as SaveReport;
    } catch (error) {
      setState({ kind: "failed", fault: faultOf(error) });
      return undefined;
    }
  };
  return {
    state,
    base,
    save: async (saved, over = base) => {
      const report = await put({ name, text: saved, before: over?.hash ?? null });
      if (report?.kind === "changed") setState(report);
      if (report?.kind !== "saved") return;
      setBase({ text: saved, hash: report.hash });
      setState({ kind: "idle" });
    },
    saveAs: async (saved, other, onSaved) => {
      const report = await put({ name: other, text: saved, before: null });
      if (report?.kind === "changed")
        setState({
          kind: "failed",
          fault: new Fault({ message: `${other}: ${notebookText("nameTaken")}`, hint: null }, 409),
        });
      if (report?.kind !== "saved") return;
      onSaved();
      go(addressOf(`/notebook/${encodeURIComponent(other)}`));
    },
    rebase: (content) => {
      setBase(content);
      setState({ kind: "idle" });
    },
  };
}
