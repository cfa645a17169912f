import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { NotebookSource } from "../../page-data.js";
import { FaultBox } from "../fault-box.js";
import type { Fault } from "../fetch-data.js";
import { useStateAddress } from "../lake-state.js";
import { text } from "../texts.js";
import { CellSection } from "./cell-section.js";
import { lazyCatalog } from "./editor/lazy-catalog.js";
import { NotebookBar } from "./notebook-bar.js";
import {
  canMove,
  type DocumentCell,
  documentOf,
  type NotebookDocument,
  textOf,
  withEdited,
  withMoved,
  withNewCell,
  withoutCell,
  withRestored,
} from "./notebook-document.js";
import { notebookText } from "./notebook-texts.js";
import { useRun } from "./run/use-run.js";
import { draftKey, readDraft } from "./saving/drafts.js";
import { SaveSigns } from "./saving/save-signs.js";
import { useDraft } from "./saving/use-draft.js";
import { type FileContent, useSaving } from "./saving/use-saving.js";
import { usePage } from "./use-page.js";

/** A notebook that can be read, run, edited and saved. */
export function NotebookDesk({ source }: { readonly source: NotebookSource }) {
  const { name } = source;
  const key = draftKey(source.folder ?? "", name);
  const [draft] = useState(() => {
    const found = readDraft(localStorage, key);
    return found?.text === source.text ? undefined : found;
  });
  const isOlder = draft !== undefined && draft.before !== source.hash;
  const [document_, setDocument] = useState(() => documentOf(draft?.text ?? source.text));
  const saving = useSaving(
    source,
    isOlder ? { kind: "changed", theirs: source } : { kind: "idle" },
    // The content of the older file is not known, so any text counts as different from it.
    { text: "", hash: draft?.before ?? null },
  );
  const whole = textOf(document_);
  const { isStored, forget } = useDraft(key, whole, saving.base);
  const runs = useRun(name, document_);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const catalogAddress = useStateAddress("catalog");
  const catalog = useMemo(() => lazyCatalog(catalogAddress), [catalogAddress]);
  const [deleted, setDeleted] = useState<{ readonly cell: DocumentCell; readonly at: number }>();
  const parameters = runs.run?.parameters ?? [];
  // Editors remain open while the page is drawn again, and call the functions with which they were opened.
  const newest = useRef(document_);
  newest.current = document_;
  const change = (next: NotebookDocument): void => {
    newest.current = next;
    setDocument(next);
  };
  const toggle = (id: number, isOpen: boolean): void => {
    setOpen((before) => new Set([...before].filter((one) => one !== id).concat(isOpen ? [id] : [])));
    // If the user typed a line `-- %%`, it begins a new cell when the editor is closed.
    if (!isOpen) change(documentOf(textOf(newest.current), newest.current));
  };
  const run = (id: number): void => runs.start(newest.current, new Set([id]));
  const add = (after: number | undefined): void => {
    const { document: next, id } = withNewCell(newest.current, after);
    change(next);
    toggle(id, true);
  };
  const runAndNext = (id: number): void => {
    run(id);
    const { cells } = newest.current;
    const next = cells[cells.findIndex((cell) => cell.id === id) + 1];
    if (next === undefined) add(id);
    else toggle(next.id, true);
  };
  const remove = (cell: DocumentCell, at: number): void => {
    setDeleted({ cell, at });
    change(withoutCell(newest.current, cell.id));
  };
  const show = (content: FileContent): void => {
    forget();
    saving.rebase(content);
    const next = documentOf(content.text, newest.current);
    change(next);
    runs.start(next, undefined);
  };
  const isChanged = whole !== saving.base.text;
  // A second request while one is in flight would name a content that the first request replaces.
  const isSavable = isChanged && source.isExact && saving.state.kind !== "saving";
  const save = (): void => {
    if (isSavable) void saving.save(textOf(newest.current));
  };
  useSaveKey(save);
  const page = usePage(name, newest);
  document.title = `${runs.run?.title ?? name} · barlake`;
  return (
    <>
      <NotebookBar
        name={name}
        parameters={parameters}
        runs={runs}
        onRunAll={() => runs.start(newest.current, undefined)}
        saving={saving.state}
        isChanged={isChanged}
        isSavable={isSavable}
        onSave={save}
        onPage={page.make}
      />
      <SaveSigns
        source={source}
        saving={saving}
        draftAt={draft?.at}
        isOlder={isOlder}
        isChanged={isChanged}
        isStored={isStored}
        text={whole}
        onShow={show}
        onSavedAs={forget}
      />
      {(runs.fault ?? page.fault) !== undefined && <FaultBox fault={(runs.fault ?? page.fault) as Fault} />}
      {runs.run === undefined && runs.fault === undefined && <p class="quiet">{text("running")} …</p>}
      {deleted !== undefined && (
        <p class="save-sign" role="status">
          {notebookText("cellDeleted")}{" "}
          <button
            type="button"
            onClick={() => {
              change(withRestored(newest.current, deleted.cell, deleted.at));
              setDeleted(undefined);
            }}
          >
            {notebookText("undo")}
          </button>
        </p>
      )}
      <div class={runs.isWaiting && runs.run === undefined ? "cells stale" : "cells"}>
        {document_.cells.map((cell, at) => (
          <CellSection
            key={cell.id}
            cell={cell}
            number={at + 1}
            output={runs.run?.outputs.get(cell.id)}
            isOpen={open.has(cell.id)}
            isStale={runs.ran.has(cell.id) && runs.ran.get(cell.id) !== cell.body}
            canMove={canMove(document_, cell.id)}
            links={{
              label: `${notebookText("editorOf")} ${at + 1}: ${notebookText("editorKeys")}`,
              onChange: (typed) => change(withEdited(newest.current, cell.id, typed)),
              catalog,
              parameters: () => parameters.map((parameter) => parameter.name),
              run: () => run(cell.id),
              runAndNext: () => runAndNext(cell.id),
            }}
            actions={{
              toggle: () => toggle(cell.id, !open.has(cell.id)),
              run: () => run(cell.id),
              add: () => add(cell.id),
              move: (by) => change(withMoved(newest.current, cell.id, by)),
              remove: () => remove(cell, at),
            }}
          />
        ))}
      </div>
    </>
  );
}

/** Ctrl+S saves, no matter which element has the focus. */
function useSaveKey(save: () => void): void {
  const newest = useRef(save);
  newest.current = save;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      newest.current();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
