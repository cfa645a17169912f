import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { RunReport } from "./test/run-report.js";
import { TZ } from "./test/seed.js";

/** Ends a test that hangs. No test that goes on takes as long, on however slow a machine. */
const HANG_MS = 900_000;

/** Folders whose tests compute: no process, no service, no lake. */
const PURE = ["*.test.ts", "arrow/**", "calendar/**", "core/**", "plan/**", "schema/**", "sim/**", "wire/**"];

/** Files with sweeps: `npm test` takes few of their cases, and the long tests take more. */
const SWEEPS = [
  "cli/schedule",
  "client/key-lock",
  "export/dataset/build-dataset",
  "export/dataset/no-look-ahead",
  "faults/eight-writers",
  "faults/killed-writers",
  "faults/simulated-ingest",
  "lake/land-klines",
  "lake/model",
  "lake/two-writers",
  "lake/upsert",
  "plan/request-units",
  "serve/klines/read-klines",
  "sim/market",
  "sql/look-ahead",
].map((path) => `test/${path}.test.ts`);

/** Files that may take longer than 30 seconds, each with the reason. */
const MAY_BE_SLOW: Readonly<Record<string, string>> = {};

process.env.TZ = TZ;
process.env.TEST_COMMIT ??= commitOf();

/**
 * A part of the tests. Its files share the worker processes and what these have loaded: to load the program for each
 * file would take longer than most files. So a test must give back whatever it changes in its process.
 */
function project(
  name: string,
  groupOrder: number,
  files: { include: string[]; exclude?: string[]; env?: Record<string, string> },
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
      project("long", 2, {
        include: ["test/**/*.long.test.ts", ...SWEEPS],
        env: { TEST_SWEEP: process.env.TEST_SWEEP ?? "more" },
      }),
    ],
  },
});

/** The commit that is tested, in hexadecimal digits: sweeps draw other cases for each. */
function commitOf(): string {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : "0";
}
