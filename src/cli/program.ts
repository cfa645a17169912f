import { Command, CommanderError } from "commander";
import { BarlakeError, messageOf, QueryError, UsageError } from "../core/errors.js";
import type { Cli } from "./cli.js";
import { EXIT } from "./exit-codes.js";
import { paint } from "./text.js";
import { VERSION } from "./version.js";

/** Every command, in the order of the help. A command is loaded when it is asked for, so that it starts quickly. */
const COMMANDS: Readonly<Record<string, () => Promise<(cli: Cli) => void>>> = {
  demo: async () => (await import("./commands/demo.js")).addDemo,
  import: async () => (await import("./commands/import.js")).addImport,
  run: async () => (await import("./commands/run.js")).addRun,
  schedule: async () => (await import("./commands/schedule.js")).addSchedule,
  pipelines: async () => (await import("./commands/pipelines.js")).addPipelines,
  runs: async () => (await import("./commands/runs.js")).addRuns,
  plan: async () => (await import("./commands/plan.js")).addPlan,
  status: async () => (await import("./commands/status.js")).addStatus,
  check: async () => (await import("./commands/check.js")).addCheck,
  history: async () => (await import("./commands/history.js")).addHistory,
  optimize: async () => (await import("./commands/optimize.js")).addOptimize,
  vacuum: async () => (await import("./commands/vacuum.js")).addVacuum,
  sql: async () => (await import("./commands/sql.js")).addSql,
  serve: async () => (await import("./commands/serve.js")).addServe,
  keys: async () => (await import("./commands/keys.js")).addKeys,
  sim: async () => (await import("./commands/sim.js")).addSim,
};

/** Runs the command line; gives the exit code and never throws. */
export async function runCli(argv: string[]): Promise<number> {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    if (process.stderr.isTTY)
      process.stderr.write("\nstopping: what is under way is finished; once more to stop at once\n");
    controller.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  let exitCode: number = EXIT.done;
  const program = new Command("barlake")
    .description(
      "A columnar toolkit for market data: ingest, lake, SQL views, and the same interface served back out.",
    )
    .version(VERSION)
    .enablePositionalOptions()
    .showHelpAfterError("(add --help for what it takes)")
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText(
      "after",
      `
Examples:
  barlake demo                               the whole way on a simulated market
  barlake import bars_1d prices/*.csv        land files of your own
  barlake run daily --symbols 600519.SH      ask a service (BARLAKE_URL, BARLAKE_API_KEY)
  barlake sql "from bars_1d limit 5"         look at it
  barlake serve                              serve it back out`,
    );
  const cli: Cli = {
    program,
    signal: controller.signal,
    async action(work) {
      exitCode = await work();
    },
  };
  const asked = argv[2] ?? "";
  for (const name of Object.hasOwn(COMMANDS, asked) ? [asked] : Object.keys(COMMANDS))
    (await COMMANDS[name]?.())?.(cli);
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return exitOfError(error, controller.signal);
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  }
}

/** Tells the user what went wrong and what to do next. */
function exitOfError(error: unknown, signal: AbortSignal): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (signal.aborted) return EXIT.interrupted;
  process.stderr.write(`${paint("red", "error:")} ${messageOf(error)}\n`);
  if (error instanceof BarlakeError && error.hint)
    process.stderr.write(`${paint("dim", "hint:")}  ${error.hint}\n`);
  if (!(error instanceof BarlakeError) && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return error instanceof UsageError || isWrongQuery(error) ? EXIT.usage : EXIT.partial;
}

/** Says whether a query failed for what it says, and not for what it met (a full disk, say). */
function isWrongQuery(error: unknown): boolean {
  return error instanceof QueryError && /^(Parser|Binder|Catalog|Conversion) Error/.test(error.message);
}
