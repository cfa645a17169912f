import type { NotebookSource } from "../../page-data.js";
import { useAddress } from "../address/address.js";
import { textOfPart } from "../address/path-part.js";
import { FaultBox } from "../fault-box.js";
import { apiAddress, useJson } from "../fetch-data.js";
import { text } from "../texts.js";
import { NotebookDesk } from "./notebook-desk.js";
import { NotebookList } from "./notebook-list.js";

/** The list of notebooks, or one notebook. */
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
  if (fault !== undefined) return <FaultBox fault={fault} />;
  if (value === undefined) return <p class="quiet">{text("loading")} …</p>;
  return <NotebookDesk source={value} />;
}
