import { useEffect, useRef, useState } from "preact/hooks";
import type { MoveReport, NotebookReport } from "../../page-data.js";
import { FaultBox } from "../fault-box.js";
import { type Fault, faultOf, send } from "../fetch-data.js";
import { notebookText } from "./notebook-texts.js";
import { draftKey, forgetDraft, readDraft, storeDraft } from "./saving/drafts.js";

/** The action of the dialog. */
export type Move = "rename" | "delete";

/** Renames or deletes a notebook in the user's folder, after a confirmation. */
export function MoveDialog({
  move,
  notebook: { name, hash },
  folder,
  close,
}: {
  readonly move: Move;
  readonly notebook: NotebookReport;
  readonly folder: string;
  /** @param said a message about the result; undefined where the dialog was cancelled */
  readonly close: (said: string | undefined) => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const said = useRef<string>(undefined);
  const [to, setTo] = useState(name);
  const [fault, setFault] = useState<Fault>();
  const [refusal, setRefusal] = useState<string>();
  const [isSent, setSent] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const finish = (text: string): void => {
    said.current = text;
    dialog.current?.close();
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const other = to.trim();
    if (move === "rename" && (other === "" || other === name)) return;
    setSent(true);
    setFault(undefined);
    setRefusal(undefined);
    try {
      const body = { name, before: hash, ...(move === "rename" ? { to: other } : {}) };
      const response = await send("POST", `/api/notebook/${move}`, body, undefined, 409);
      const { kind } = (await response.json()) as MoveReport;
      if (kind === "changed") return finish(`${name}: ${notebookText("notMoved")}`);
      if (kind === "taken") setRefusal(`${other}: ${notebookText("nameTaken")}`);
      else {
        moveDraft(folder, name, move === "rename" ? other : undefined);
        const now = move === "rename" ? `${notebookText("renamed")} ${other}` : notebookText("deleted");
        return finish(`${name}: ${now}`);
      }
    } catch (error) {
      setFault(faultOf(error));
    }
    setSent(false);
  };
  return (
    <dialog ref={dialog} aria-labelledby="move" onClose={() => close(said.current)}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id="move">
          {name}: {notebookText(move)}
        </h2>
        <p class="path">
          {move === "delete" && `${notebookText("deleteNote")} `}
          <code>
            {folder}/{name}.sql
          </code>
        </p>
        {move === "rename" && (
          <label>
            {notebookText("newName")}{" "}
            <input
              type="text"
              autocomplete="off"
              spellcheck={false}
              value={to}
              onInput={(event) => setTo(event.currentTarget.value)}
            />
          </label>
        )}
        {refusal !== undefined && (
          <p class="fault" role="alert">
            {refusal}
          </p>
        )}
        {fault !== undefined && <FaultBox fault={fault} />}
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {notebookText("cancel")}
          </button>
          <button type="submit" class="main" disabled={isSent}>
            {notebookText(move)}
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** Moves the draft of a notebook together with its file. @param to undefined: the draft is deleted */
function moveDraft(folder: string, name: string, to: string | undefined): void {
  const key = draftKey(folder, name);
  const draft = readDraft(localStorage, key);
  if (draft !== undefined && to !== undefined) storeDraft(localStorage, draftKey(folder, to), draft);
  forgetDraft(localStorage, key);
}
