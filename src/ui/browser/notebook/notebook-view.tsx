import { useEffect, useRef, useState } from "preact/hooks";
import type { MoveReport, NotebookReport, NotebookSource, NotebooksReport } from "../../page-data.js";
import { addressOf, go, textOfPart, useAddress } from "../address.js";
import { FaultBox } from "../fault-box.js";
import { apiAddress, askJson, type Fault, faultOf, send, useJson } from "../fetch-data.js";
import { Link } from "../link.js";
import { text } from "../texts.js";
import { NotebookDesk } from "./notebook-desk.js";
import { notebookText } from "./notebook-texts.js";
import { draftKey, forgetDraft, readDraft, storeDraft } from "./saving.js";

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
  const finish = (outcome: string): void => {
    said.current = outcome;
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

/** The list of the user's notebooks and those that come with barlake, with a field for a new notebook. */
export function NotebookList() {
  const [round, setRound] = useState(0);
  const { value, fault } = useJson<NotebooksReport>(`/api/notebooks?round=${round}`);
  const [moving, setMoving] = useState<{ readonly move: Move; readonly notebook: NotebookReport }>();
  const [said, setSaid] = useState<string>();
  const status = useRef<HTMLParagraphElement>(null);
  const close = (outcome: string | undefined): void => {
    setMoving(undefined);
    if (outcome === undefined) return;
    setSaid(outcome);
    setRound((n) => n + 1);
    // The button that opened the dialog may no longer exist.
    status.current?.focus();
  };
  const [own, shipped] = [false, true].map((isShipped) =>
    (value?.notebooks ?? []).filter((one) => one.isShipped === isShipped),
  ) as [NotebookReport[], NotebookReport[]];
  document.title = `${text("notebooks")} · barlake`;
  return (
    <>
      <h1 class="hidden">{text("notebooks")}</h1>
      {fault !== undefined && <FaultBox fault={fault} />}
      <h2>{text("ownNotebooks")}</h2>
      {value !== undefined && own.length === 0 && <p class="quiet">{text("noNotebooks")}</p>}
      <p ref={status} class="quiet said" role="status" tabIndex={-1}>
        {said}
      </p>
      <Cards notebooks={own} choose={(move, notebook) => setMoving({ move, notebook })} />
      {moving !== undefined && value !== undefined && value.folder !== null && (
        <MoveDialog {...moving} folder={value.folder} close={close} />
      )}
      {value !== undefined &&
        (value.folder === null ? <p class="quiet">{notebookText("noFolder")}</p> : <NewNotebook />)}
      <h2>{text("shipped")}</h2>
      <Cards notebooks={shipped} />
    </>
  );
}

function Cards({
  notebooks,
  choose,
}: {
  readonly notebooks: readonly NotebookReport[];
  /** Opens a dialog about a notebook; undefined where the notebooks are not the user's. */
  readonly choose?: (move: Move, notebook: NotebookReport) => void;
}) {
  if (notebooks.length === 0) return null;
  return (
    <ul class="notebooks">
      {notebooks.map((notebook) => (
        <li key={notebook.name}>
          <Link to={addressOf(`/notebook/${encodeURIComponent(notebook.name)}`)}>
            <b>{notebook.title}</b> <small>{notebook.name}</small>
            {notebook.description !== null && <span class="about">{notebook.description}</span>}
          </Link>
          {choose !== undefined && (
            <p class="moves">
              {(["rename", "delete"] as const).map((move) => (
                <button
                  key={move}
                  type="button"
                  aria-label={`${notebook.name}: ${notebookText(move)}`}
                  onClick={() => choose(move, notebook)}
                >
                  {notebookText(move)} …
                </button>
              ))}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function NewNotebook() {
  const [name, setName] = useState("");
  const [fault, setFault] = useState<Fault>();
  const create = async (event: Event): Promise<void> => {
    event.preventDefault();
    const trimmed = name.trim();
    if (trimmed === "") return;
    // A name that no file can have is refused here, where it can be changed.
    try {
      await askJson(apiAddress("notebook", { name: trimmed, new: "1" }));
      go(addressOf(`/notebook/${encodeURIComponent(trimmed)}`, { new: "1" }));
    } catch (error) {
      setFault(faultOf(error));
    }
  };
  return (
    <form class="name-form" onSubmit={(event) => void create(event)}>
      <label>
        {notebookText("newNotebook")}{" "}
        <input
          type="text"
          autocomplete="off"
          placeholder={notebookText("newName")}
          value={name}
          onInput={(event) => {
            setName(event.currentTarget.value);
            setFault(undefined);
          }}
        />
      </label>
      <button type="submit">{notebookText("create")}</button>
      {fault !== undefined && <FaultBox fault={fault} />}
    </form>
  );
}

export function NotebookView() {
  const { path, query } = useAddress();
  const name = textOfPart(path.split("/")[2] ?? "");
  if (name === "") return <NotebookList />;
  return <Notebook key={name} name={name} isNew={query.get("new") === "1"} />;
}

function Notebook({ name, isNew }: { readonly name: string; readonly isNew: boolean }) {
  const { value, fault } = useJson<NotebookSource>(
    apiAddress("notebook", { name, new: isNew ? "1" : undefined }),
  );
  if (fault !== undefined)
    return (
      <>
        <FaultBox fault={fault} />
        <NotebookList />
      </>
    );
  if (value === undefined) return <p class="quiet">{text("loading")} …</p>;
  return <NotebookDesk source={value} />;
}
