import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { useMemoryFolder } from "./test/memory-folder.js";
import { RunReport } from "./test/run-report.js";
import { TZ } from "./test/seed.js";
import { slowFirst } from "./test/slow-first.js";
import { BUILT_MODULES, testedModules } from "./test/tested-modules.js";

/** Ends a test that hangs. No test that goes on takes as long, on however slow a machine. */
const HANG_MS = 900_000;

/** Folders whose tests compute: no process, no service, no lake. */
const PURE = ["*.test.ts", "arrow/**", "core/**", "market/**", "plan/**", "schema/**", "sim/**", "wire/**"];

/** The size of the sweeps of the long tests. */
const LONG_SWEEP = process.env.TEST_SWEEP ?? "more";

/**
 * Files of which `npm test` runs a part, and the long tests more: those that take the size of a sweep, or choose by it,
 * and those of which a part needs Python.
 */
const IN_PART = [
  ...readdirSync(new URL("test", import.meta.url), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts") && !name.endsWith(".long.test.ts"))
    .map((name) => `test/${name}`)
    .filter((path) => {
      const text = readFileSync(new URL(path, import.meta.url), "utf8");
      if (!/\b(cases|SWEEP|pickFrom|pickCases)\b.*\/sweep\.js"/.test(text)) return false;
      return LONG_SWEEP === "all" || /\bSWEEP\b|\bmore: [\da-z]/.test(text);
    }),
  "test/interop/query-result.test.ts",
];

/** Long tests that may take more than 30 seconds, each with the reason. They are started first, in this order. */
const MAY_BE_SLOW: Readonly<Record<string, string>> = {
  "test/interop/trino/trino.long.test.ts": "a server of Java, and all rows of every view by two engines",
  "test/e2e/real-data.long.test.ts": "three real markets are imported, served, ingested and compared",
  "test/jobs/maintenance/years-of-nights.long.test.ts": "400 nights, each a run and what follows it",
  "test/cli/commands/demo.long.test.ts":
    "the whole demo on a store, and with all cases in a folder and on each store",
  "test/package/installed.long.test.ts":
    "the package is installed with all that it needs, and run under another Node",
  "test/serve/replay/replay.test.ts": "every endpoint at many instants, against lakes that end there",
  "test/jobs/import/cases.test.ts": "some 270 imports of files, each into a lake of its own",
  "test/jobs/import/round-trip.test.ts": "every table in every format, written and imported again",
  "test/sql/agreement.long.test.ts": "5 times the bars of service, view and dataset, of real data",
  "test/faults/simulated-ingest.test.ts": "7 schedules of faults and kills",
  "test/interop/delta/delta-writers.long.test.ts": "two engines write, and three read after each write",
  "test/interop/datasets/dataset-backtests.long.test.ts":
    "libraries of Python that compile themselves when they are loaded",
  "test/faults/killed.long.test.ts": "8 commands that are killed, and as many that go on",
  "test/dataset/build-dataset.test.ts": "four formats, each built four times",
  "test/dataset/store/append/append-days.test.ts":
    "five kinds of datasets are appended to day by day, and compared with builds",
  "test/lake/known-at.test.ts":
    "every view, macro and endpoint at the dates of nights, against the lake of each",
  "test/sql/look-ahead.test.ts": "every view as of several dates, on lakes cut at each of them",
  "test/ui/notebook-editor.long.test.ts": "twelve notebooks that are typed into, run and saved in a browser",
  "test/interop/clients/python-package.long.test.ts":
    "a package that is installed, its types checked, and its frames compared with the service's",
  "test/interop/clients/schemathesis.long.test.ts": "some 1,000 generated requests",
  "test/mcp/mcp.long.test.ts":
    "some 140 processes of statements, one of which runs into its limit of 30 seconds",
  "test/interop/delta/delta-readers.long.test.ts": "three engines read every version of every table",
  "test/sql/agreement.test.ts": "11 times the bars of service, view and dataset",
  "test/interop/datasets/dataset-qlib.long.test.ts": "a library of Python that is slow to load",
  "test/docs/backtests.long.test.ts": "libraries of Python that are slow to load",
  "test/docs/commands.long.test.ts": "some 90 commands of the pages, each a process, after the whole demo",
  "test/interop/datasets/dataset-zipline.long.test.ts": "a library of Python that is slow to load",
  "test/cli/commands/pipelines/schedule.test.ts": "schedules run by the machine's clock, each in a process",
  "test/cli/completion/shells.long.test.ts":
    "a process of the command for each word that three shells complete",
  "test/faults/machines/network-machines.long.test.ts":
    "leases become stale by the clock of a real store; only test:soak runs it",
  "test/faults/machines/simulated-machines.long.test.ts": "schedules of 25 minutes on three machines",
  "test/faults/machines/store-schedules.long.test.ts":
    "leases become stale by the clock of a real store; only test:soak runs it",
};

process.env.TZ = TZ;
useMemoryFolder();
// Tests of segments name their folder: no other test depends on what earlier runs have left on the machine.
process.env.BARLAKE_SEGMENTS = "off";
if (process.env.TEST_JITTER !== undefined)
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --import ${new URL("./test/jitter.mjs", import.meta.url).href}`;
/** Threads of a session of DuckDB that does not name their number, in the processes of the tests. */
const TEST_THREADS = process.env.TEST_THREADS ?? "1";

/** The environment of `npm test`. The long tests run every file with a sweep once more, so all of its cases are theirs. */
const FEW = { TEST_THREADS, TEST_SWEEP: "few" };

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
  resolve: { alias: testedModules() },
  test: {
    env: { TZ },
    pool: "forks",
    // Most functions run for a short time here, so to compile them costs more than it saves: they run for longer first
    // than is usual.
    execArgv: ["--interrupt-budget=400000"],
    isolate: false,
    // A sixth of the time of tests is waiting for processes and files: one worker more than cores uses it.
    maxWorkers: availableParallelism() + 1,
    // Built modules are loaded by Node, as they are.
    server: { deps: { external: [BUILT_MODULES] } },
    setupFiles: ["test/threads.mjs", "test/setup.ts"],
    testTimeout: HANG_MS,
    hookTimeout: HANG_MS,
    sequence: { sequencer: slowFirst(Object.keys(MAY_BE_SLOW)) },
    reporters: ["default", new RunReport(MAY_BE_SLOW)],
    coverage: { provider: "v8", include: ["src/**"] },
    projects: [
      project("pure", 0, {
        include: PURE.map((path) => (path.endsWith("**") ? `test/${path}/*.test.ts` : `test/${path}`)),
        exclude: ["test/**/*.long.test.ts"],
        env: FEW,
      }),
      project("process", 1, {
        include: ["test/**/*.test.ts"],
        exclude: ["test/**/*.long.test.ts", ...PURE.map((path) => `test/${path}`)],
        env: FEW,
      }),
      project("long", 2, {
        include: ["test/**/*.long.test.ts", ...IN_PART],
        env: { TEST_THREADS, TEST_SWEEP: LONG_SWEEP, TEST_ONCE: "skip" },
      }),
    ],
  },
});
