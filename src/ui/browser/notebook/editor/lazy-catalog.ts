import type { Catalog } from "../../../../db/catalog/catalog.js";
import { askJson } from "../../fetch-data.js";
import type { EditorLinks } from "./code-editor.js";

/** Asks for the names that SQL knows when they are needed first; undefined where they cannot be had. */
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
