import { useRef, useState } from "preact/hooks";
import type { NotebookReport, NotebooksReport } from "../../page-data.js";
import { addressOf, go } from "../address/address.js";
import { Link } from "../address/link.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { text } from "../texts.js";
import { type Move, MoveDialog } from "./move-dialog.js";
import { notebookText } from "./notebook-texts.js";

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

/** Opens a new notebook. Its file is created when it is saved. */
function NewNotebook() {
  const [name, setName] = useState("");
  const create = (event: Event): void => {
    event.preventDefault();
    const trimmed = name.trim();
    if (trimmed !== "") go(addressOf(`/notebook/${encodeURIComponent(trimmed)}`, { new: "1" }));
  };
  return (
    <form class="name-form" onSubmit={create}>
      <label>
        {notebookText("newNotebook")}{" "}
        <input
          type="text"
          autocomplete="off"
          placeholder={notebookText("newName")}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <button type="submit">{notebookText("create")}</button>
    </form>
  );
}
