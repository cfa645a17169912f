import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { PipelineDefinition } from "./definition.js";

/** Where the build puts the definitions of the pipelines that come with barlake. */
export const BUILT_PIPELINES = new URL("own-pipelines.json", import.meta.url);

/** The definition that a file had when barlake was built. */
export interface BuiltPipeline {
  /** The hash of the file's text: where the file was changed since the build, the file is loaded instead. */
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
 * The definition of a pipeline that comes with barlake, as the build has evaluated it: importing its file loads TypeScript,
 * and the whole package that the file imports, which is more than half of the start of a run.
 *
 * @returns undefined where the file is not as it was then, or the program runs without a build.
 */
export async function builtPipeline(name: string, file: string): Promise<PipelineDefinition | undefined> {
  try {
    const built = JSON.parse(await readFile(BUILT_PIPELINES, "utf8")) as Record<string, BuiltPipeline>;
    const own = built[name];
    return own !== undefined && own.sha256 === (await hashOfFile(file)) ? own.definition : undefined;
  } catch {
    return undefined;
  }
}
