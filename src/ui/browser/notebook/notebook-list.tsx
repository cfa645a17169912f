import { useState } from "preact/hooks";
import type { NotebookReport } from "../../page-data.js";
import { addressOf, go } from "../address.js";
import { FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { Link } from "../link.js";
import { text } from "../texts.js";
import { notebookText } from "./notebook-texts.js";

/** The notebooks of the user's folder, those that come with barlake, and a new one. */
export function NotebookList() {
  const { value, fault } = useJson<{ notebooks: NotebookReport[]; folder: string | null }>("/api/notebooks");
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
      <Cards notebooks={own} />
      {value !== undefined &&
        (value.folder === null ? <p class="quiet">{notebookText("noFolder")}</p> : <NewNotebook />)}
      <h2>{text("shipped")}</h2>
      <Cards notebooks={shipped} />
    </>
  );
}

function Cards({ notebooks }: { readonly notebooks: readonly NotebookReport[] }) {
  return (
    <ul class="notebooks">
      {notebooks.map(({ name, title }) => (
        <li key={name}>
          <Link to={addressOf(`/notebook/${encodeURIComponent(name)}`)}>
            <b>{title}</b> <small>{name}</small>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Opens a notebook that has no file yet: it has one when it is saved. */
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
