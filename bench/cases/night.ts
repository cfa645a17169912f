import { execFile } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { publish } from "../../src/lake/publish.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { AFTER, NIGHT, type NightSpec, writeNights } from "../lakes/night-lake.js";
import type { Benchmark, Case } from "../measure/benchmark.js";
import { temporaryFolder } from "../measure/temporary-folder.js";
import { API_KEY } from "../serving/minute-service.js";
import { startServing } from "../serving/serving.js";

const run = promisify(execFile);

/** The built command line. */
const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const PLAIN = fileURLToPath(new URL("../baselines/plain-night.mjs", import.meta.url));

/** Makes a process write the processor time of all its threads, in microseconds, as it ends. */
const COUNTED = `data:text/javascript,process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write("processor " + (user + system));
});`;

const SIZES: Readonly<Record<"full" | "smoke", NightSpec>> = {
  full: { symbols: 5500, years: Array.from({ length: 10 }, (_, n) => 2016 + n), nights: 365 },
  smoke: { symbols: 150, years: [2025], nights: 5 },
};

/** The run of a night on a large lake, as a whole process: where the lake has all, and where it lacks a day. */
export const night: Benchmark = {
  name: "night",
  doc: "a nightly run on ten years of 5,500 symbols, as a whole command: nothing to ask, and one new day",
  shared: true,
  lengthy: true,
  async prepare(size) {
    const folder = temporaryFolder();
    const whole = await writeNights(join(folder.path, "whole"), SIZES[size], AFTER);
    const before = await writeNights(join(folder.path, "before"), SIZES[size], NIGHT);
    const serving = await startServing("barlake", whole.location, API_KEY, Date.now());
    for (const lake of [whole, before]) await publish(lake);
    const place = join(folder.path, "night");
    const cases = [
      ["nothing to ask", whole],
      ["one new day", before],
    ] as const;
    return {
      summary: `${rowCount(await whole.snapshot(BARS_1D))} daily bars of ${SIZES[size].symbols} symbols; ${SIZES[size].nights} nights in the ledger`,
      work: { "nights/s": 1 },
      cases: cases.flatMap(([what, lake]) => {
        const plain = `a script with DuckDB: ${what}`;
        const parameters = [PLAIN, join(place, BARS_1D.name), NIGHT, serving.url, API_KEY];
        const command = [MAIN, "run", "daily", "--region", "CN", "--from", "2016-01-01", "--to", AFTER];
        const options = ["--rpm", "60000", "--lake", place, "--url", serving.url, "--json"];
        return [
          nightCase(plain, plain, lake, place, parameters),
          nightCase(`barlake run: ${what}`, plain, lake, place, [...command, ...options]),
        ];
      }) as unknown as [Case, ...Case[]],
      async close() {
        await serving.close();
        folder[Symbol.dispose]();
      },
    };
  },
};

/** Runs a program on a copy of a lake; it prints what it has landed. */
function nightCase(
  name: string,
  baseline: string,
  lake: Lake,
  place: string,
  parameters: readonly string[],
): Case {
  return {
    name,
    baseline,
    async run(timed) {
      rmSync(place, { recursive: true, force: true });
      cpSync(lake.location, place, { recursive: true });
      // The copy is in another place, which its views name.
      await publish(new Lake(place));
      const env = { ...process.env, BARLAKE_API_KEY: API_KEY };
      const { stdout, stderr } = await timed(() =>
        run(process.execPath, ["--import", COUNTED, ...parameters], { env }),
      );
      return {
        checks: { rows: rowsOf(JSON.parse(stdout)) },
        processesMs: Number(/processor (\d+)$/.exec(stderr)?.[1]) / 1000,
      };
    },
  };
}

/** The new bars, as the script or a run's report says. */
function rowsOf(printed: {
  readonly rows: number;
  readonly landed?: readonly { readonly table: string; readonly inserted: number }[];
}): number {
  if (printed.landed === undefined) return printed.rows;
  return printed.landed.reduce((sum, one) => sum + (one.table === BARS_1D.name ? one.inserted : 0), 0);
}
