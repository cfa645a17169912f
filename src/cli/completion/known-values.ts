import { readdirSync } from "node:fs";
import { basename } from "node:path";
import type { Proposal, Proposals } from "./propose.js";

const FILES: Proposals = { kind: "files", words: [] };
const FOLDERS: Proposals = { kind: "folders", words: [] };

const named = (names: Iterable<string>, does = ""): Proposal[] => [...names].map((word) => ({ word, does }));

/** The endings of names of files with SQL. */
const SQL = /\.sql$/;

const CREATES_VIEW = /^CREATE\s+(OR\s+REPLACE\s+)?VIEW\b/im;

/** Values by the name of the option or argument, where that says more than its placeholder. */
const BY_NAME: Readonly<Record<string, () => Promise<Proposals>>> = {
  file: notebooks,
  query: async () => ({
    kind: "words",
    words: (await relations()).map((name) => ({ word: `from ${name}`, does: "" })),
  }),
};

/** Values by placeholder: `<table>`, `[pipelines...]`. */
const BY_PLACEHOLDER: Readonly<Record<string, () => Promise<Proposals>>> = {
  pipeline: pipelines,
  pipelines,
  spec: specs,
  datasets: async () => FOLDERS,
  "table=n": async () => ({ kind: "words", words: named((await tables()).map((name) => `${name}=`)) }),
  list: regions,
  location: async () => FOLDERS,
  from: async () => FOLDERS,
  to: async () => FOLDERS,
  file: async () => FILES,
  files: async () => FILES,
};

/**
 * The values that are known without reading a lake, and without running a file of the user. What knows them is loaded
 * only when they are asked for: somebody waits at the keyboard.
 */
export async function knownValues(name: string, placeholder: string): Promise<Proposals | undefined> {
  return (BY_NAME[name] ?? BY_PLACEHOLDER[placeholder])?.();
}

async function notebooks(): Promise<Proposals> {
  const { usersNotebooks } = await import("../notebook/find-notebook.js");
  const { shippedNotebooks } = await import("../../notebook/shipped-notebooks.js");
  const shipped = shippedNotebooks().map(({ name, title }) => ({ word: name, does: title }));
  return { kind: "files", words: [...named(sqlFilesIn(usersNotebooks()), "your notebook"), ...shipped] };
}

async function pipelines(): Promise<Proposals> {
  const { pipelineFiles } = await import("../../jobs/pipeline/load-pipeline.js");
  const { usersPipelines } = await import("../options/users-pipelines.js");
  return { kind: "files", words: named((await pipelineFiles(usersPipelines())).keys(), "pipeline") };
}

async function specs(): Promise<Proposals> {
  const { shippedSpecs } = await import("../dataset/load-spec.js");
  return { kind: "files", words: shippedSpecs().map(({ name, doc }) => ({ word: name, does: doc })) };
}

async function regions(): Promise<Proposals> {
  const { REGION_NAMES } = await import("../../market/regions.js");
  return { kind: "words", words: named(REGION_NAMES) };
}

async function tables(): Promise<string[]> {
  const { TABLES } = await import("../../schema/tables.js");
  return TABLES.map(({ name }) => name);
}

/** Tables and views of every lake, and the user's views; a macro needs parameters and is left out. */
async function relations(): Promise<string[]> {
  const { OWN_VIEWS, readViewFiles, readViewTree } = await import("../../db/views/view-files.js");
  const views = [...readViewTree(OWN_VIEWS), ...readViewFiles(process.env.BARLAKE_VIEWS || "sql/views")]
    .filter(({ sql }) => CREATES_VIEW.test(sql))
    .map(({ path }) => basename(path, ".sql"));
  return [...new Set([...(await tables()), ...views])].sort();
}

function sqlFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => SQL.test(file))
      .map((file) => file.replace(SQL, ""))
      .sort();
  } catch {
    return [];
  }
}
