import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { starterFiles } from "../../src/cli/commands/project/init.js";
import { temporaryFolder } from "../lake/temporary-lake.js";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** The pipeline that init makes. */
const PIPELINE = "pipelines/my-daily.ts";

/** Installs the package as npm packs it, next to the packages that it needs. */
async function installed(): Promise<string> {
  const folder = temporaryFolder();
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: PROJECT });
  const archive = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "barlake"), { recursive: true });
  await run("tar", ["-xzf", join(folder, archive), "--strip-components=1", "-C", join(modules, "barlake")]);
  for (const name of readdirSync(join(PROJECT, "node_modules")))
    if (!name.startsWith(".")) symlinkSync(join(PROJECT, "node_modules", name), join(modules, name));
  return folder;
}

test("a program that uses the packed package compiles strictly against its types, and runs", async () => {
  const folder = await installed();
  copyFileSync(join(PROJECT, "test/package/consumer.ts.txt"), join(folder, "consumer.mts"));
  mkdirSync(join(folder, "pipelines"));
  const starter = starterFiles({ lake: "data", url: undefined, from: "2025-01-01" });
  writeFileSync(join(folder, PIPELINE), starter.get(PIPELINE) as string);
  const compilerOptions = {
    target: "ES2023",
    module: "NodeNext",
    moduleResolution: "NodeNext",
    strict: true,
    exactOptionalPropertyTypes: true,
    types: ["node"],
    skipLibCheck: true,
  };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["consumer.mts", PIPELINE] }),
  );
  const compiler = join(PROJECT, "node_modules/.bin/tsc");
  const compiled = await run(compiler, ["-p", folder]).catch((error: { stdout: string }) => error);
  expect(compiled.stdout).toBe("");
  const { stdout } = await run(process.execPath, ["consumer.mjs"], { cwd: folder });
  expect(stdout).toBe("1 panel\n");
});
