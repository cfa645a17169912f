import { existsSync } from "node:fs";
import { register } from "node:module";
import { pathToFileURL } from "node:url";
import type { NamespacedUnregister } from "tsx/esm/api";
import { messageOf, UsageError } from "../../core/errors.js";

/**
 * Imports the default export of a user's TypeScript or JavaScript file.
 *
 * @param kind what the file defines, for error messages.
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

/** The index of this package, where it runs compiled. */
const OWN_INDEX = new URL("../../index.js", import.meta.url).href;
/** The index of the modules that run: `src/cli/bundle.js` puts that of the bundle here. */
const RUNNING_INDEX = OWN_INDEX;

/**
 * A hook of Node's loader: where a file's `barlake` is this very package, it gets the modules that run already. Else the
 * whole package is transformed and loaded a second time, two seconds of processor time for each command.
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

/** Loads what imports TypeScript: only definitions need it. */
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

/** A file may have its own instance of this package, whose errors are of another class of the same name. */
function asOurs(error: Error & { readonly hint?: string }): UsageError {
  return new UsageError(error.message, { cause: error, hint: error.hint });
}

/** In a file loaded as CommonJS, as outside a package of ES modules, the default export is one level deeper. */
function unwrap(exported: unknown): unknown {
  const isModule = typeof exported === "object" && exported !== null && "__esModule" in exported;
  return isModule ? (exported as { default?: unknown }).default : exported;
}
