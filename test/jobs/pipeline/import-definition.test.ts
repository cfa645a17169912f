import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { once } from "../../once.js";
import { SWEEP } from "../../sweep.js";

const PACKAGE = fileURLToPath(new URL("../../..", import.meta.url));
const built = (path: string): string => pathToFileURL(join(PACKAGE, "dist", path)).href;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "barlake-definition-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What the compiled package finds in a definition that exports its own `barlake`. */
function found(type: "module" | "commonjs"): unknown {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(PACKAGE, join(folder, "node_modules", "barlake"), "dir");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type }));
  const file = join(folder, "mine.ts");
  writeFileSync(
    file,
    `import { definePipeline, UsageError } from "barlake";
     const name: string = "mine";
     export default { definePipeline, UsageError, name };`,
  );
  const script = `
    const { importDefinition } = await import(${JSON.stringify(built("jobs/pipeline/load-pipeline.js"))});
    const { definePipeline } = await import(${JSON.stringify(built("jobs/pipeline/definition.js"))});
    const mine = await importDefinition("pipeline", ${JSON.stringify(file)});
    console.log(JSON.stringify({ name: mine.name, isSame: mine.definePipeline === definePipeline }));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: folder,
    encoding: "utf8",
  });
  return JSON.parse(output);
}

once("a definition gets the package that runs, not a second instance of it", () => {
  expect(found("module")).toEqual({ name: "mine", isSame: true });
});

once("a definition gets the package that runs also where it runs from the bundle of the command line", () => {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(PACKAGE, join(folder, "node_modules", "barlake"), "dir");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const file = join(folder, "mine.ts");
  writeFileSync(
    file,
    `import { definePipeline } from "barlake";
     globalThis.theirs = definePipeline;
     export default definePipeline({ name: "mine", kind: "reference" });`,
  );
  const script = `
    const { definePipeline, loadPipeline } = await import(${JSON.stringify(built("cli/bundled/index.js"))});
    const { name } = await loadPipeline(${JSON.stringify(file)});
    console.log(JSON.stringify({ name, isSame: globalThis.theirs === definePipeline }));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(JSON.parse(output)).toEqual({ name: "mine", isSame: true });
});

test.skipIf(SWEEP === "few")("a definition outside of a package of ES modules is loaded, too", () => {
  expect(found("commonjs")).toMatchObject({ name: "mine" });
});
