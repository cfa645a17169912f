import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import {
  type BuiltPipeline,
  hashOfFile,
  loadPipeline,
  ownPipelines,
} from "../../../src/jobs/pipeline/load-pipeline.js";

const BUILT = fileURLToPath(new URL("../../../dist/jobs/pipeline/own-pipelines.json", import.meta.url));

const PACKAGE = new URL("../../../package.json", import.meta.url);

test("the build has every pipeline that comes with it, as its file defines it", async () => {
  const built = JSON.parse(readFileSync(BUILT, "utf8")) as Record<string, BuiltPipeline>;
  const files = await ownPipelines();
  expect(Object.keys(built).sort()).toEqual([...files.keys()].sort());
  for (const [name, file] of files) {
    // Here no build is next to the loader, so that it imports the file.
    expect(definePipeline(built[name]?.definition as PipelineDefinition)).toEqual(await loadPipeline(name));
    expect(built[name]?.sha256).toBe(await hashOfFile(file));
  }
});

test("a build that ends early leaves no definitions of the build before", () => {
  const { scripts } = JSON.parse(readFileSync(fileURLToPath(PACKAGE), "utf8")) as {
    scripts: Record<"build", string>;
  };
  const [first, ...others] = scripts.build.split(" && ");
  expect(first).toBe(`node -e "fs.rmSync('dist/jobs/pipeline/own-pipelines.json', { force: true })"`);
  expect(others).toContain("node dist/jobs/pipeline/build-pipelines.js");
});
