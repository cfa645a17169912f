import { readdirSync } from "node:fs";
import { OWN_VIEWS } from "../../db/views/view-files.js";
import { pipelineFiles } from "../../jobs/pipeline/load-pipeline.js";
import { REGIONS } from "../../market/regions.js";
import { shippedNotebooks } from "../../notebook/shipped-notebooks.js";
import { TABLES } from "../../schema/tables.js";
import { shippedSpecs } from "../dataset/load-spec.js";
import { usersNotebooks } from "../notebook/find-notebook.js";
import { usersPipelines } from "../options/users-pipelines.js";
import type { Proposal, Proposals } from "./propose.js";

const FILES: Proposals = { kind: "files", words: [] };
const FOLDERS: Proposals = { kind: "folders", words: [] };

const named = (names: Iterable<string>, does = ""): Proposal[] => [...names].map((word) => ({ word, does }));

/** The endings of names of files with SQL. */
const SQL = /\.sql$/;

/** Values by the name of the option or argument, where that says more than its placeholder. */
const BY_NAME: Readonly<Record<string, () => Promise<Proposals>>> = {
  file: async () => ({
    kind: "files",
    words: [
      ...named(sqlFilesIn(usersNotebooks()), "your notebook"),
      ...shippedNotebooks().map(({ name, title }) => ({ word: name, does: title })),
    ],
  }),
  query: async () => ({
    kind: "words",
    words: relations().map((name) => ({ word: `from ${name}`, does: "" })),
  }),
};

/** Values by placeholder: `<table>`, `[pipelines...]`. */
const BY_PLACEHOLDER: Readonly<Record<string, () => Promise<Proposals>>> = {
  pipeline: pipelines,
  pipelines,
  name: async () => ({ kind: "words", words: [] }),
  spec: async () => ({
    kind: "files",
    words: shippedSpecs().map(({ name, doc }) => ({ word: name, does: doc })),
  }),
  datasets: async () => FOLDERS,
  "table=n": async () => ({ kind: "words", words: named(TABLES.map(({ name }) => `${name}=`)) }),
  list: async () => ({ kind: "words", words: named(Object.keys(REGIONS)) }),
  location: async () => FOLDERS,
  from: async () => FOLDERS,
  to: async () => FOLDERS,
  file: async () => FILES,
  files: async () => FILES,
};

/** The values that are known without a look into a lake, and without running a file of the user. */
export async function knownValues(name: string, placeholder: string): Promise<Proposals | undefined> {
  return (BY_NAME[name] ?? BY_PLACEHOLDER[placeholder])?.();
}

async function pipelines(): Promise<Proposals> {
  return { kind: "files", words: named((await pipelineFiles(usersPipelines())).keys(), "pipeline") };
}

/** Tables and views of every lake. */
function relations(): string[] {
  return [...new Set([...TABLES.map(({ name }) => name), ...sqlFilesIn(OWN_VIEWS)])].sort();
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
