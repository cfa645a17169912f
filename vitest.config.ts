import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { RunReport } from "./test/run-report.js";
import { TZ } from "./test/seed.js";

/** Ends what hangs; on a slow machine nothing else takes as long. */
const HANG_MS = 300_000;

/** Folders whose tests compute: no process, no service, no lake. */
const PURE = [
  "architecture.test.ts",
  "arrow/**",
  "calendar/**",
  "core/**",
  "plan/**",
  "schema/**",
  "sim/**",
  "wire/**",
];

/** Files that may take longer than 30 seconds, each with the reason. */
const MAY_BE_SLOW: Readonly<Record<string, string>> = {};

process.env.TZ = TZ;

/**
 * A part of the tests. Its files share the worker processes and what these have loaded: to load the program for each
 * file would take longer than most files. So a test must give back whatever it changes in its process.
 */
function project(
  name: string,
  groupOrder: number,
  files: { include: string[]; exclude?: string[] },
): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: { name, ...files, sequence: { groupOrder } },
  };
}

export default defineConfig({
  resolve: { alias: { barlake: fileURLToPath(new URL("./src/index.ts", import.meta.url)) } },
  test: {
    env: { TZ },
    pool: "forks",
    isolate: false,
    maxWorkers: availableParallelism(),
    setupFiles: ["test/setup.ts"],
    testTimeout: HANG_MS,
    hookTimeout: HANG_MS,
    reporters: ["default", new RunReport(MAY_BE_SLOW)],
    coverage: { provider: "v8", include: ["src/**"] },
    projects: [
      project("pure", 0, {
        include: PURE.map((path) => (path.endsWith("**") ? `test/${path}/*.test.ts` : `test/${path}`)),
        exclude: ["test/**/*.long.test.ts"],
      }),
      project("process", 1, {
        include: ["test/**/*.test.ts"],
        exclude: ["test/**/*.long.test.ts", ...PURE.map((path) => `test/${path}`)],
      }),
      project("long", 2, { include: ["test/**/*.long.test.ts"] }),
    ],
  },
});
