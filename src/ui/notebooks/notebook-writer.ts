import { deleteNotebook, type KnownFile, type MoveOutcome, renameNotebook } from "./move-notebook.js";
import { type SavedNotebook, type SaveOutcome, saveNotebook } from "./save-notebook.js";

/** Changes the files of a folder of notebooks. */
export interface NotebookWriter {
  readonly save: (notebook: SavedNotebook) => Promise<SaveOutcome>;
  readonly rename: (file: KnownFile & { readonly to: string }) => Promise<MoveOutcome>;
  readonly remove: (file: KnownFile) => Promise<MoveOutcome>;
}

/** Makes the functions that change the notebooks of a folder. Changes are made one after the other. */
export function notebookWriter(folder: string | undefined): NotebookWriter {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn =
    <A, T>(change: (folder: string | undefined, what: A) => Promise<T>) =>
    (what: A): Promise<T> => {
      const changing = last.then(() => change(folder, what));
      last = changing.catch(() => {});
      return changing;
    };
  return { save: inTurn(saveNotebook), rename: inTurn(renameNotebook), remove: inTurn(deleteNotebook) };
}
