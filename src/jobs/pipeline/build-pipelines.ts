import { writeFileSync } from "node:fs";
import { definePipeline, type PipelineDefinition } from "./definition.js";
import {
  BUILT_PIPELINES,
  type BuiltPipeline,
  hashOfFile,
  importDefinition,
  ownPipelines,
} from "./load-pipeline.js";

/** A step of the build: writes the definitions of the pipelines that come with barlake. */
const built: Record<string, BuiltPipeline> = {};
for (const [name, file] of await ownPipelines()) {
  const definition = definePipeline((await importDefinition("pipeline", file)) as PipelineDefinition);
  built[name] = { sha256: await hashOfFile(file), definition };
}
writeFileSync(BUILT_PIPELINES, `${JSON.stringify(built, null, 2)}\n`);
