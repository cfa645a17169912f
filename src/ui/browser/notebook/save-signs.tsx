import { useState } from "preact/hooks";
import type { NotebookSource } from "../../page-data.js";
import { FaultBox } from "../fault-box.js";
import { instant } from "../formats.js";
import { notebookText } from "./notebook-texts.js";
import type { FileContent, UsedSaving } from "./saving.js";

/** Messages about saving, and decisions that the user must make. */
export function SaveSigns({
  source,
  saving: { state, save, saveAs },
  draftAt,
  isOlder,
  isChanged,
  isStored,
  text,
  onShow,
  onSavedAs,
}: {
  readonly source: NotebookSource;
  readonly saving: UsedSaving;
  /** When the draft with which the page began was typed; undefined where there was none. */
  readonly draftAt: number | undefined;
  /** Whether the draft was made from another version of the file. */
  readonly isOlder: boolean;
  readonly isChanged: boolean;
  readonly isStored: boolean;
  readonly text: string;
  readonly onShow: (content: FileContent) => void;
  readonly onSavedAs: () => void;
}) {
  const isDecided = state.kind !== "changed";
  return (
    <>
      {!source.isExact && <p class="save-sign">{notebookText("notExact")}</p>}
      {isChanged && source.folder === null && <p class="save-sign quiet">{notebookText("noFolder")}</p>}
      {isChanged && source.folder !== null && source.isShipped && (
        <p class="save-sign quiet">{notebookText("copyHint")}</p>
      )}
      {isChanged && !isStored && <p class="save-sign">{notebookText("notStored")}</p>}
      {isChanged && isDecided && draftAt !== undefined && (
        <p class="save-sign" role="status">
          {notebookText("draftShown")} {instant(draftAt)} UTC.{" "}
          <button type="button" onClick={() => onShow(source)}>
            {notebookText("discard")}
          </button>
        </p>
      )}
      {state.kind === "failed" && (
        <>
          <FaultBox fault={state.fault} />
          {source.folder !== null && <SaveAs onSave={(name) => void saveAs(text, name, onSavedAs)} />}
        </>
      )}
      {state.kind === "changed" && (
        <div class="fault conflict" role="alert">
          <p>
            {state.theirs === null
              ? notebookText("goneFromDisk")
              : isOlder && draftAt !== undefined && state.theirs.hash === source.hash
                ? `${notebookText("draftOlder")} ${instant(draftAt)} UTC.`
                : notebookText("changedOnDisk")}
          </p>
          <div class="choices">
            <button type="button" onClick={() => void save(text, state.theirs)}>
              {notebookText("keepMine")}
            </button>
            {state.theirs !== null && (
              <button type="button" onClick={() => onShow(state.theirs as FileContent)}>
                {notebookText("takeTheirs")}
              </button>
            )}
            <SaveAs onSave={(name) => void saveAs(text, name, onSavedAs)} />
          </div>
          {state.theirs !== null && (
            <details class="source">
              <summary>{notebookText("theirs")}</summary>
              <pre>{state.theirs.text}</pre>
            </details>
          )}
        </div>
      )}
    </>
  );
}

function SaveAs({ onSave }: { readonly onSave: (name: string) => void }) {
  const [name, setName] = useState("");
  return (
    <form
      class="name-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== "") onSave(name.trim());
      }}
    >
      <input
        type="text"
        autocomplete="off"
        aria-label={`${notebookText("saveAs")} ${notebookText("otherName")}`}
        placeholder={notebookText("otherName")}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit">{notebookText("saveAs")}</button>
    </form>
  );
}
