import { readdir } from "node:fs/promises";
import { basename, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tsImport } from "tsx/esm/api";
import { messageOf, UsageError } from "../core/errors.js";
import { definePipeline, type Pipeline, type PipelineDefinition } from "./pipeline.js";

/** The pipelines that come with barlake. */
const OWN_PIPELINES = fileURLToPath(new URL("../../pipelines", import.meta.url));

/** Names of the pipelines that come with barlake. */
export async function pipelineNames(): Promise<string[]> {
  const files = await readdir(OWN_PIPELINES);
  return files.filter((name) => name.endsWith(".ts")).map((name) => basename(name, ".ts"));
}

/**
 * Loads a pipeline: one of barlake's by its name, or a user's own TypeScript or JavaScript file by its path.
 *
 * @throws {UsageError} when there is none, or when its definition breaks a rule.
 */
export async function loadPipeline(nameOrPath: string): Promise<Pipeline> {
  const isPath = /\.[cm]?[jt]s$/.test(nameOrPath) || isAbsolute(nameOrPath);
  const names = await pipelineNames();
  if (!isPath && !names.includes(nameOrPath)) {
    throw new UsageError(`pipeline "${nameOrPath}" is not known`, {
      hint: `use one of ${names.join(", ")}, or the path of a file such as ./pipelines/mine.ts`,
    });
  }
  const file = isPath ? resolve(nameOrPath) : join(OWN_PIPELINES, `${nameOrPath}.ts`);
  let exported: { default?: unknown };
  try {
    exported = (await tsImport(pathToFileURL(file).href, import.meta.url)) as { default?: unknown };
  } catch (cause) {
    if (cause instanceof Error && cause.name === "UsageError") throw cause;
    throw new UsageError(`pipeline file ${file} cannot be loaded: ${messageOf(cause)}`, { cause });
  }
  const definition = unwrap(exported.default);
  if (definition === undefined) throw new UsageError(`pipeline file ${file} has no default export`);
  return definePipeline(definition as PipelineDefinition);
}

/** A file that is loaded as CommonJS, as outside a package of ES modules, has its default export one level deeper. */
function unwrap(exported: unknown): unknown {
  const isModule = typeof exported === "object" && exported !== null && "__esModule" in exported;
  return isModule && "default" in exported ? exported.default : exported;
}
