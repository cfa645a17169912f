import { readdir } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, UsageError } from "../../core/errors.js";
import { builtPipeline } from "./built-pipelines.js";
import { definePipeline, type Pipeline, type PipelineDefinition } from "./definition.js";
import { importDefinition } from "./import-definition.js";

/** The pipelines that come with barlake. */
const OWN_PIPELINES = fileURLToPath(new URL("../../../pipelines", import.meta.url));
/** The user's pipelines, in a folder of the working directory. */
const USERS_PIPELINES = "pipelines";

const ENDING = /(?<!\.d)\.[cm]?[jt]s$/;

/**
 * Pipeline files by name: those that come with barlake, and those in the user's folder, which replace those of the same
 * name.
 *
 * @param users the user's folder. @default `pipelines` in the working directory, if it exists
 * @throws {UsageError} when a folder that was named does not exist.
 */
export async function pipelineFiles(users?: string): Promise<Map<string, string>> {
  const names = readdir(resolve(users ?? USERS_PIPELINES)).catch((cause: unknown): string[] => {
    if (users === undefined) return [];
    throw new UsageError(`folder ${users}: its pipelines cannot be listed: ${messageOf(cause)}`, { cause });
  });
  const found = filesByName(resolve(users ?? USERS_PIPELINES), await names);
  return new Map([...(await ownPipelines()), ...found]);
}

/** The files of the pipelines that come with barlake, by name. */
export async function ownPipelines(): Promise<Map<string, string>> {
  return filesByName(OWN_PIPELINES, await readdir(OWN_PIPELINES).catch((): string[] => []));
}

function filesByName(folder: string, names: readonly string[]): Map<string, string> {
  const files = names.filter((one) => ENDING.test(one)).sort();
  return new Map(files.map((name) => [name.replace(ENDING, ""), join(folder, name)]));
}

/**
 * Loads a pipeline by its name, or from the path of a TypeScript or JavaScript file.
 *
 * @param users the folder of the user's pipelines, as in {@link pipelineFiles}.
 * @throws {UsageError} when it does not exist, or when its definition breaks a rule.
 */
export async function loadPipeline(nameOrPath: string, users?: string): Promise<Pipeline> {
  if (ENDING.test(nameOrPath) || isAbsolute(nameOrPath)) return loadFile(resolve(nameOrPath));
  const files = await pipelineFiles(users);
  const file = files.get(nameOrPath);
  if (file === undefined) {
    throw new UsageError(`pipeline "${nameOrPath}" is not known`, {
      hint: `use one of ${[...files.keys()].join(", ")}, or the path of a file such as ./pipelines/mine.ts`,
    });
  }
  const pipeline = await loadFile(file);
  if (pipeline.name === nameOrPath) return pipeline;
  throw new UsageError(`pipeline ${pipeline.name}: name: must be that of its file, ${nameOrPath}`, {
    hint: `rename one of them; the file is ${file}`,
  });
}

async function loadFile(file: string): Promise<Pipeline> {
  const built =
    dirname(file) === OWN_PIPELINES
      ? await builtPipeline(basename(file).replace(ENDING, ""), file)
      : undefined;
  return definePipeline(built ?? ((await importDefinition("pipeline", file)) as PipelineDefinition));
}
