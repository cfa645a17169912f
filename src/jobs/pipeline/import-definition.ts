import { existsSync } from "node:fs";
import { register } from "node:module";
import { pathToFileURL } from "node:url";
import type { NamespacedUnregister } from "tsx/esm/api";
import { messageOf, UsageError } from "../../core/errors.js";

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
