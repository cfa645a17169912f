import { useEffect, useId, useState } from "preact/hooks";
import { type Catalog, type CatalogRelation, splitUnit } from "../../../db/catalog.js";
import type { CellLine, NotebookLine } from "../../page-data.js";
import { FaultBox } from "../fault-box.js";
import { apiAddress, type Fault, faultOf } from "../fetch-data.js";
import { useShownState } from "../lake-state.js";
import { Table } from "../table.js";
import { text, unitText } from "../texts.js";
import { CellPart } from "./cell-section.js";
import { notebookText } from "./notebook-texts.js";
import { readLines } from "./use-run.js";

const FIRST_ROWS = 5;

/** The tables, views and table macros that SQL can use, with their columns; each can be queried in a new cell. */
export function SchemaBrowser({
  load,
  query,
}: {
  readonly load: () => Promise<Catalog | undefined>;
  readonly query: (sql: string) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [catalog, setCatalog] = useState<Catalog>();
  const [sought, setSought] = useState("");
  useEffect(() => {
    if (isOpen) void load().then(setCatalog);
  }, [isOpen, load]);
  const word = sought.trim().toLowerCase();
  const isNamed = ({ name }: CatalogRelation): boolean => name.includes(word);
  const relations = (catalog?.relations ?? []).filter(
    (one) =>
      isNamed(one) ||
      (one.comment ?? "").toLowerCase().includes(word) ||
      one.columns.some((column) => column.name.includes(word)),
  );
  const found = relations.sort((a, b) => Number(isNamed(b)) - Number(isNamed(a)));
  return (
    <details class="schema" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{notebookText("schema")}</summary>
      <input
        type="search"
        placeholder={notebookText("schemaFilter")}
        aria-label={notebookText("schemaFilter")}
        value={sought}
        onInput={(event) => setSought(event.currentTarget.value)}
      />
      {catalog === undefined && isOpen && <p class="quiet">{text("loading")} …</p>}
      {catalog !== undefined && found.length === 0 && <p class="quiet">{notebookText("schemaEmpty")}</p>}
      <ul>
        {found.map((relation) => (
          <li key={relation.name}>
            <Relation relation={relation} catalog={catalog} query={query} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Relation({
  relation: { name, kind, comment = "", columns },
  catalog,
  query,
}: {
  readonly relation: CatalogRelation;
  readonly catalog: Catalog | undefined;
  readonly query: (sql: string) => void;
}) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const parameters = catalog?.macros.find((macro) => macro.name === name)?.parameters ?? [];
  // A macro's values are for the user to write.
  const from = kind === "table macro" ? `${name}(${parameters.map((one) => one.name).join(", ")})` : name;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary id={id}>
        <code>{from}</code> <small>{comment.split(/(?<=。)|(?<=\.)\s/, 1)[0]}</small>
      </summary>
      {isOpen && (
        <>
          {comment !== "" && <p class="quiet">{comment}</p>}
          <p class="choices">
            <button type="button" onClick={() => query(`FROM ${from} LIMIT 100;`)}>
              {notebookText("queryThis")}
            </button>
          </p>
          <Table
            of={id}
            head={["column", "type", "unit", "comment"].map((one) => notebookText(one as "column"))}
          >
            <tbody>
              {columns.map((column) => {
                const { text: said, unit } = splitUnit(column.comment);
                return (
                  <tr key={column.name}>
                    <td>
                      <code>{column.name}</code>
                    </td>
                    <td>{column.type ?? ""}</td>
                    <td>{unitText(unit)}</td>
                    <td class="said-of">{said}</td>
                  </tr>
                );
              })}
            </tbody>
          </Table>
          {kind !== "table macro" && <FirstRows name={name} />}
        </>
      )}
    </details>
  );
}

/** The first rows of a table or view, as a cell gives them. */
function FirstRows({ name }: { readonly name: string }) {
  const state = useShownState().report?.state;
  const [cell, setCell] = useState<CellLine>();
  const [fault, setFault] = useState<Fault>();
  useEffect(() => {
    const stop = new AbortController();
    const take = (line: NotebookLine): void => {
      if (line.kind === "cell") setCell(line);
      if (line.kind === "fault") setFault(faultOf(new Error(line.fault.message)));
    };
    const run = {
      name,
      text: `-- %% table rows=${FIRST_ROWS}\nFROM ${name} LIMIT ${FIRST_ROWS};`,
      cells: undefined,
    };
    readLines(apiAddress("notebook/run", { state }), run, stop.signal, take).catch((error: unknown) => {
      if (!stop.signal.aborted) setFault(faultOf(error));
    });
    return () => stop.abort();
  }, [name, state]);
  if (fault !== undefined) return <FaultBox fault={fault} />;
  return cell === undefined ? <p class="quiet">{text("loading")} …</p> : <CellPart cell={cell} />;
}
