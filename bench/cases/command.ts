import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openLake } from "../../src/api/lake/open-lake.js";
import { twoYearsLake } from "../lakes/two-years-lake.js";
import type { Benchmark, Case } from "../measure/benchmark.js";
import { temporaryFolder } from "../measure/temporary-folder.js";

const run = promisify(execFile);

/** The built command line. */
const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const PLAIN = fileURLToPath(new URL("../baselines/duckdb-command.mjs", import.meta.url));

/** Makes a process write the processor time of all its threads, in microseconds, as it ends. */
const COUNTED = `data:text/javascript,process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write("processor " + (user + system));
});`;

const QUESTIONS = {
  "select 1": "SELECT 1 AS n",
  "a symbol's quarter": `SELECT count(*) AS n, sum(volume) AS volume FROM bars_1d
    WHERE symbol = '600003.SH' AND trade_date >= DATE '2025-10-01'`,
};

/** One statement as a whole process, from its start to its end: by `barlake sql`, and by DuckDB's client on `lake.duckdb`. */
export const command: Benchmark = {
  name: "command",
  doc: "one statement as a whole command: barlake sql, and DuckDB's client on lake.duckdb",
  shared: true,
  async prepare(size) {
    const folder = temporaryFolder();
    const { lake, summary } = await twoYearsLake(folder.path, size);
    const cache = join(folder.path, "cache");
    {
      await using open = openLake(lake.location, { segments: { folder: cache } });
      await open.buildSegments();
    }
    return {
      summary,
      work: { "commands/s": 1 },
      cases: Object.entries(QUESTIONS).flatMap(([name, sql]) => {
        const baseline = `DuckDB's client: ${name}`;
        return [
          processCase(baseline, baseline, folder.path, [PLAIN, lake.databaseFile, sql]),
          ...[
            { how: "barlake sql", segments: "off" },
            { how: "barlake sql, with the copy", segments: cache },
          ].map(({ how, segments }) =>
            processCase(
              `${how}: ${name}`,
              baseline,
              folder.path,
              [MAIN, "sql", "--lake", lake.location, sql],
              segments,
            ),
          ),
        ];
      }) as [Case, ...Case[]],
      async close() {
        folder[Symbol.dispose]();
      },
    };
  },
};

/** Runs a program that prints the names of columns, and below them the values of a row. */
function processCase(
  name: string,
  baseline: string,
  cwd: string,
  parameters: readonly string[],
  segments = "off",
): Case {
  return {
    name,
    baseline,
    async run(timed) {
      const { stdout, stderr } = await timed(() =>
        run(process.execPath, ["--import", COUNTED, ...parameters], {
          cwd,
          env: { ...process.env, BARLAKE_SEGMENTS: segments },
        }),
      );
      const [names = "", values = ""] = stdout.split("\n").map((line) => line.trim());
      const numbers = values.split(/\s+/).map(Number);
      const checks = Object.fromEntries(
        names.split(/\s+/).map((column, at) => [column, numbers[at] ?? Number.NaN]),
      );
      return { checks, processesMs: Number(/processor (\d+)$/.exec(stderr)?.[1]) / 1000 };
    },
  };
}
