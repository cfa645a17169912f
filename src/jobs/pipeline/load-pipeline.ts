import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { register } from "node:module";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { NamespacedUnregister } from "tsx/esm/api";
import { messageOf, UsageError } from "../../core/errors.js";
import { nearestName } from "../../core/text-order.js";
import { definePipeline, type Pipeline, type PipelineDefinition } from "./definition.js";

export const BUILT_PIPELINES = new URL("own-pipelines.json", import.meta.url);

export interface BuiltPipeline {
  /** The hash of the file's text. If the file was changed since the build, the file is loaded instead. */
  readonly sha256: string;
  readonly definition: PipelineDefinition;
}

/** The SHA-256 of a file's text, in hexadecimal. */
export async function hashOfFile(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}

/**
 * The definition of a pipeline that comes with barlake, as evaluated by the build. Importing its file would load a
 * TypeScript compiler and the whole package, which takes more than half of the start time of a run.
 *
 * @returns undefined where the file was changed since the build, or the program runs without a build.
 */
async function builtPipeline(name: string, file: string): Promise<PipelineDefinition | undefined> {
  try {
    const built = JSON.parse(await readFile(BUILT_PIPELINES, "utf8")) as Record<string, BuiltPipeline>;
    const own = built[name];
    return own !== undefined && own.sha256 === (await hashOfFile(file)) ? own.definition : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Imports the default export of a user's TypeScript or JavaScript file.
 *
 * @param kind the kind of thing that the file defines, for error messages.
 * @throws {UsageError} when the file does not exist, cannot be loaded, or has no default export.
 */
export async function importDefinition(kind: string, file: string): Promise<unknown> {
  if (!existsSync(file)) throw new UsageError(`${kind} file ${file} does not exist`);
  let exported: { default?: unknown };
  try {
    exported = (await importTypeScript(file)) as { default?: unknown };
  } catch (cause) {
    if (cause instanceof Error && cause.name === "UsageError") throw asOurs(cause);
    throw new UsageError(`${kind} file ${file} cannot be loaded: ${messageOf(cause)}`, {
      cause,
      hint: 'where barlake is not installed next to it, write "export default { ... }" and import nothing',
    });
  }
  const definition = unwrap(exported.default);
  if (definition === undefined) throw new UsageError(`${kind} file ${file} has no default export`);
  return definition;
}

/** The URL of this package's index, where it runs compiled. */
const OWN_INDEX = new URL("../../index.js", import.meta.url).href;
/** The URL of the index of the running modules. `src/cli/bundle.js` replaces it with that of the bundle. */
const RUNNING_INDEX = OWN_INDEX;

/**
 * A hook of Node's module loader. If a file imports this same package as `barlake`, it gets the modules that already
 * run. Otherwise the whole package would be compiled and loaded a second time, which takes two seconds of processor
 * time for each command.
 */
const SAME_INSTANCE = `let indexes;
export function initialize(given) { indexes = given; }
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  return found.url.split("?")[0] === indexes.own ? { ...found, url: indexes.running } : found;
}`;

let typeScript: Promise<NamespacedUnregister> | undefined;

/** Imports a TypeScript file; all of them share one scope, so that shared modules are loaded once. */
async function importTypeScript(file: string): Promise<unknown> {
  typeScript ??= loadTypeScript();
  return (await typeScript).import(pathToFileURL(file).href, import.meta.url);
}

/** Loads the compiler that imports TypeScript. Only definitions need it. */
async function loadTypeScript(): Promise<NamespacedUnregister> {
  const [commonJs, modules] = await Promise.all([import("tsx/cjs/api"), import("tsx/esm/api")]);
  const scope = { namespace: "definitions" };
  commonJs.register(scope);
  const registered = modules.register(scope);
  register(`data:text/javascript,${encodeURIComponent(SAME_INSTANCE)}`, {
    data: { own: OWN_INDEX, running: RUNNING_INDEX },
  });
  return registered;
}

/**
 * Converts an error to this package's class: a file may have another instance of the package, with a separate class.
 */
function asOurs(error: Error & { readonly hint?: string }): UsageError {
  return new UsageError(error.message, { cause: error, hint: error.hint });
}

/** The default export of a module. In a file that is loaded as CommonJS, it is one level deeper. */
function unwrap(exported: unknown): unknown {
  const isModule = typeof exported === "object" && exported !== null && "__esModule" in exported;
  return isModule ? (exported as { default?: unknown }).default : exported;
}

const OWN_PIPELINES = fileURLToPath(new URL("../../../pipelines", import.meta.url));
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
    const likely = nearestName(nameOrPath, [...files.keys()]);
    throw new UsageError(`pipeline "${nameOrPath}" is not known`, {
      hint: `${likely === undefined ? "" : `did you mean ${likely}? `}use one of ${[...files.keys()].join(", ")}, or the path of a file such as ./pipelines/mine.ts`,
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
