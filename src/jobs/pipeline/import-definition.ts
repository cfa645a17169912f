import { existsSync } from "node:fs";
import { register } from "node:module";
import { pathToFileURL } from "node:url";
import { register as registerCommonJs } from "tsx/cjs/api";
import { type NamespacedUnregister, register as registerModules } from "tsx/esm/api";
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
    exported = (await importTypeScript(pathToFileURL(file).href)) as { default?: unknown };
  } catch (cause) {
    if (cause instanceof Error && cause.name === "UsageError") throw asOurs(cause);
    throw new UsageError(`${kind} file ${file} cannot be loaded: ${messageOf(cause)}`, {
      cause,
      hint: 'where barlake is not installed beside it, write "export default { ... }" and import nothing',
    });
  }
  const definition = unwrap(exported.default);
  if (definition === undefined) throw new UsageError(`${kind} file ${file} has no default export`);
  return definition;
}

/** The index of this package, where it runs compiled. */
const OWN_INDEX = new URL("../../index.js", import.meta.url).href;

/**
 * A hook of Node's loader: where a file's `barlake` is this very package, it gets the modules that run already. Else the
 * whole package is transformed and loaded a second time, two seconds of processor time for each command.
 */
const SAME_INSTANCE = `let own;
export function initialize(url) { own = url; }
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  return found.url.split("?")[0] === own ? { ...found, url: own } : found;
}`;

let typeScript: NamespacedUnregister | undefined;

/** Imports a TypeScript file; all of them share one scope, so that shared modules are loaded once. */
async function importTypeScript(url: string): Promise<unknown> {
  const scope = { namespace: "definitions" };
  if (typeScript === undefined) {
    registerCommonJs(scope);
    typeScript = registerModules(scope);
    register(`data:text/javascript,${encodeURIComponent(SAME_INSTANCE)}`, { data: OWN_INDEX });
  }
  return typeScript.import(url, import.meta.url);
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
