import type { Catalog } from "../../../db/catalog.js";
import { askJson } from "../fetch-data.js";
import type { EditorLinks } from "./code-editor.js";

/** Loads the names that SQL can use, when they are first needed; undefined where they cannot be loaded. */
export function lazyCatalog(address: string | undefined): EditorLinks["catalog"] {
  let asked: Promise<Catalog | undefined> | undefined;
  return () => {
    if (address === undefined) return Promise.resolve(undefined);
    asked ??= askJson<Catalog>(address).catch(() => {
      asked = undefined;
      return undefined;
    });
    return asked;
  };
}
