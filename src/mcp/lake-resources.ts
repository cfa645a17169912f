import { readFile } from "node:fs/promises";
import type { McpServer } from "@modelcontextprotocol/server";
import { type Catalog, splitUnit } from "../db/catalog.js";
import type { LakeQuestions } from "./lake-questions.js";

const PAGES = [
  { name: "agents", about: "The tools, and what they promise" },
  { name: "sql", about: "Every view and macro with its columns and units" },
  { name: "lake", about: "Tables, versions, and how rows of a date are kept free of what came later" },
  { name: "datasets", about: "Definitions of datasets, for dataset_plan" },
] as const;

export function addLakeResources(server: McpServer, questions: LakeQuestions): void {
  const json = "application/json";
  server.registerResource(
    "catalog",
    "barlake://catalog",
    {
      title: "Catalog",
      description: "Views and macros with columns, types, units and notes",
      mimeType: json,
    },
    async ({ href: uri }) => {
      const catalog = await questions.catalog(await questions.moment());
      return { contents: [{ uri, mimeType: json, text: JSON.stringify(shownCatalog(catalog)) }] };
    },
  );
  for (const { name, about } of PAGES) {
    const mimeType = "text/markdown";
    server.registerResource(
      name,
      `barlake://docs/${name}`,
      { title: `docs/${name}.md`, description: about, mimeType },
      async ({ href: uri }) => {
        const text = await readFile(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
        return { contents: [{ uri, mimeType, text }] };
      },
    );
  }
}

/** The catalog as data: comments without the units, which are members of their own. */
export function shownCatalog({ relations, macros }: Catalog) {
  const says = (comment: string | undefined) => comment ?? "";
  return {
    relations: relations.map(({ name, kind, comment, columns }) => ({
      name,
      kind,
      says: says(comment),
      columns: columns.map(({ name: column, type = "", comment: text }) => {
        const { text: note, unit } = splitUnit(text);
        return { name: column, type, unit, note };
      }),
    })),
    macros: macros.map(({ name, kind, summary, parameters }) => ({
      name,
      kind,
      says: says(summary),
      parameters: parameters.map((one) => ({ name: one.name, note: says(one.comment) })),
    })),
  };
}
