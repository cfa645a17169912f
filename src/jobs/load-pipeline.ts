import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { register as registerCommonJs } from "tsx/cjs/api";
import { type NamespacedUnregister, register as registerModules } from "tsx/esm/api";
import { messageOf, UsageError } from "../core/errors.js";
import { definePipeline, type Pipeline, type PipelineDefinition } from "./pipeline.js";

/** The pipelines that come with barlake. */
const OWN_PIPELINES = fileURLToPath(new URL("../../pipelines", import.meta.url));
/** A user's own, below the working directory. */
const USERS_PIPELINES = "pipelines";

const ENDING = /(?<!\.d)\.[cm]?[jt]s$/;

/**
 * Files of the pipelines that have a name, by that name: those that come with barlake, and those in the folder
 * `pipelines` of the working directory, which take the place of one of the same name.
 */
export async function pipelineFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const folder of [OWN_PIPELINES, resolve(USERS_PIPELINES)]) {
    const names = await readdir(folder).catch((): string[] => []);
    for (const name of names.filter((one) => ENDING.test(one)).sort())
      files.set(name.replace(ENDING, ""), join(folder, name));
  }
  return files;
}

/**
 * Loads a pipeline: by its name, or a TypeScript or JavaScript file by its path.
 *
 * @throws {UsageError} when there is none, or when its definition breaks a rule.
 */
export async function loadPipeline(nameOrPath: string): Promise<Pipeline> {
  if (ENDING.test(nameOrPath) || isAbsolute(nameOrPath)) return loadFile(resolve(nameOrPath));
  const files = await pipelineFiles();
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
  if (!existsSync(file)) throw new UsageError(`pipeline file ${file} does not exist`);
  let exported: { default?: unknown };
  try {
    exported = (await importTypeScript(pathToFileURL(file).href)) as { default?: unknown };
  } catch (cause) {
    if (cause instanceof Error && cause.name === "UsageError") throw asOurs(cause);
    throw new UsageError(`pipeline file ${file} cannot be loaded: ${messageOf(cause)}`, {
      cause,
      hint: 'where barlake is not installed beside it, write "export default { ... }" and import nothing',
    });
  }
  const definition = unwrap(exported.default);
  if (definition === undefined) throw new UsageError(`pipeline file ${file} has no default export`);
  return definePipeline(definition as PipelineDefinition);
}

let typeScript: NamespacedUnregister | undefined;

/** Imports a file; all of them in one scope of their own, so that what they share is loaded once. */
async function importTypeScript(url: string): Promise<unknown> {
  const scope = { namespace: "pipelines" };
  if (typeScript === undefined) registerCommonJs(scope);
  typeScript ??= registerModules(scope);
  return typeScript.import(url, import.meta.url);
}

/** A file has its own instance of this package, so what it throws is of another class of the same name. */
function asOurs(error: Error & { readonly hint?: string }): UsageError {
  return new UsageError(error.message, { cause: error, hint: error.hint });
}

/** A file that is loaded as CommonJS, as outside a package of ES modules, has its default export one level deeper. */
function unwrap(exported: unknown): unknown {
  const isModule = typeof exported === "object" && exported !== null && "__esModule" in exported;
  return isModule ? (exported as { default?: unknown }).default : exported;
}
