import type { Catalog } from "../../../db/catalog.js";
import { askJson } from "../fetch-data.js";
import { isChinese } from "../texts.js";
import type { EditorLinks } from "./code-editor.js";

/** Comments are in the language of the browser. */
async function readCatalog(address: string): Promise<Catalog> {
  const catalog = await askJson<Catalog>(address);
  if (!isChinese) return catalog;
  const { chineseCatalog } = await import("./chinese-catalog.js");
  return chineseCatalog(catalog);
}

/** Loads the names that SQL can use, when they are first needed; undefined where they cannot be loaded. */
export function lazyCatalog(address: string | undefined): EditorLinks["catalog"] {
  let asked: Promise<Catalog | undefined> | undefined;
  return () => {
    if (address === undefined) return Promise.resolve(undefined);
    asked ??= readCatalog(address).catch(() => {
      asked = undefined;
      return undefined;
    });
    return asked;
  };
}
