import { CommanderError } from "commander";
import { BarlakeError, QueryError, UsageError } from "../core/errors.js";
import { nearestName } from "../core/text-order.js";
import { VERSION } from "../core/version.js";
import { TrinoQueryError } from "../trino/trino-client.js";
import { type Cli, CliCommand, EXIT, endAtOnce } from "./cli.js";
import { errorText, StatementError, systemFaultOf } from "./error-text.js";
import { loadSettings } from "./load-settings.js";

interface CommandEntry {
  readonly does: string;
  readonly load: () => Promise<(cli: Cli) => void>;
}

/** Every command, in the order of the help. A command's module is loaded only when it is used, for a quick start. */
const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  demo: {
    does: "the whole way: a simulated market, served over HTTP, ingested into a second lake, compared, queried",
    load: async () => (await import("./commands/demo.js")).addDemo,
  },
  init: {
    does: "begin a project: a config, a pipeline, a notebook and a dataset, in the working directory",
    load: async () => (await import("./commands/project/init.js")).addInit,
  },
  import: {
    does: "land files of your own (CSV, Parquet, JSON; text also .gz or .zst) in a table",
    load: async () => (await import("./commands/import.js")).addImport,
  },
  run: {
    does: "run a pipeline: ask a service for what the lake does not have, and land it",
    load: async () => (await import("./commands/pipelines/run.js")).addRun,
  },
  schedule: {
    does: "run pipelines at their times, until it is stopped",
    load: async () => (await import("./commands/pipelines/schedule.js")).addSchedule,
  },
  pipelines: {
    does: "list the pipelines with their schedules, or check files of your own",
    load: async () => (await import("./commands/pipelines/pipelines.js")).addPipelines,
  },
  runs: {
    does: "runs of pipelines, newest first: when, how each ended, what it received",
    load: async () => (await import("./commands/pipelines/runs.js")).addRuns,
  },
  plan: {
    does: "show what a pipeline would ask for; sends nothing",
    load: async () => (await import("./commands/pipelines/plan.js")).addPlan,
  },
  status: {
    does: "what is in the lake: tables, coverage, last runs",
    load: async () => (await import("./commands/lake/status.js")).addStatus,
  },
  check: {
    does: "search for damage: the log, the files, and with --deep every row of them",
    load: async () => (await import("./commands/lake/check.js")).addCheck,
  },
  compare: {
    does: "how two lakes or files differ: each difference by its kind, symbol and date",
    load: async () => (await import("./commands/lake/compare.js")).addCompare,
  },
  repair: {
    does: "remove lost and damaged files from the tables, and have their content requested again",
    load: async () => (await import("./commands/lake/repair.js")).addRepair,
  },
  withdrawn: {
    does: "bars that the service no longer has: list them, or remove them from the current version",
    load: async () => (await import("./commands/lake/withdrawn.js")).addWithdrawn,
  },
  history: {
    does: "versions of a table: when, by which run, and what changed",
    load: async () => (await import("./commands/lake/history.js")).addHistory,
  },
  restore: {
    does: "undo: give a table, or the lake, the rows again that it had at a version or a time",
    load: async () => (await import("./commands/lake/restore.js")).addRestore,
  },
  optimize: {
    does: "compact tables: many small files become few large ones; the rows do not change",
    load: async () => (await import("./commands/lake/optimize.js")).addOptimize,
  },
  vacuum: {
    does: "delete files that only old versions have",
    load: async () => (await import("./commands/lake/vacuum.js")).addVacuum,
  },
  copy: {
    does: "copy a lake with its history: to another folder, to an object store, or back",
    load: async () => (await import("./commands/lake/copy.js")).addCopy,
  },
  sql: {
    does: "query the lake; without a query, a shell",
    load: async () => (await import("./commands/sql.js")).addSql,
  },
  ui: {
    does: "the workspace: the lake in a browser, with charts and notebooks",
    load: async () => (await import("./commands/ui.js")).addUi,
  },
  trino: {
    does: "the lake's tables and views in a Trino, for questions that are too large for one machine",
    load: async () => (await import("./commands/trino.js")).addTrino,
  },
  dataset: {
    does: "datasets for backtests: aligned, free of look-ahead, reproducible",
    load: async () => (await import("./commands/dataset.js")).addDataset,
  },
  serve: {
    does: "serve the lake through the HTTP interface that it was ingested from",
    load: async () => (await import("./commands/serve.js")).addServe,
  },
  mcp: {
    does: "the lake for agents: tools of the Model Context Protocol, over standard input or HTTP",
    load: async () => (await import("./commands/mcp.js")).addMcp,
  },
  keys: {
    does: "keys of the service that serve starts: add, list, revoke",
    load: async () => (await import("./commands/keys.js")).addKeys,
  },
  sim: {
    does: "fill a lake with a simulated market: for trying things out and for load tests",
    load: async () => (await import("./commands/sim.js")).addSim,
  },
  completion: {
    does: "print the script that makes bash, zsh or fish complete commands, options and values",
    load: async () => (await import("./commands/project/completion.js")).addCompletion,
  },
  config: {
    does: "show the settings, and where each comes from: environment, .env, barlake.config.json",
    load: async () => (await import("./commands/project/config.js")).addConfig,
  },
};

/** Commands that also run where the config file is wrong. */
const WITHOUT_SETTINGS = ["init", "completion"];

/** Runs the command line; returns the exit code and never throws. */
export async function runCli(given: readonly string[]): Promise<number> {
  const argv = withHelpLast(given);
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) return endAtOnce(signal === "SIGTERM" ? signal : "SIGINT");
    if (process.stderr.isTTY)
      process.stderr.write("\nstopping after the current work; a second signal stops at once\n");
    controller.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  const { settings, fault } = await loadSettings();
  const program = new CliCommand("barlake")
    .description(
      "A columnar toolkit for market data: ingest, lake, SQL views, and the same interface served back out.",
    )
    .version(VERSION)
    .enablePositionalOptions()
    .showHelpAfterError("(add --help for what it takes)")
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(choiceText(text)) })
    .hook("preAction", (_, command) => {
      if (fault !== undefined && !WITHOUT_SETTINGS.includes(command.name())) throw fault;
    })
    .notes(`
Examples:
  barlake demo                               the whole way on a simulated market
  barlake import bars_1d prices/*.csv        land files of your own
  barlake run daily --symbols 600519.SH      ask a service (BARLAKE_URL, BARLAKE_API_KEY)
  barlake sql "from bars_1d limit 5"         look at it
  barlake serve                              serve it back out`);
  const cli: Cli = {
    program,
    settings,
    async load(name) {
      if (!Object.hasOwn(COMMANDS, name)) return undefined;
      const other = new CliCommand();
      (await COMMANDS[name]?.load())?.({ ...cli, program: other });
      return other.commands.at(-1);
    },
    signal: controller.signal,
  };
  const asked = argv[2] === "help" ? argv[3] : argv[2];
  const isUnknown = asked !== undefined && !asked.startsWith("-") && !Object.hasOwn(COMMANDS, asked);
  for (const [name, { does, load }] of Object.entries(COMMANDS)) {
    if (name === asked) (await load())(cli);
    else program.command(name);
    program.commands.at(-1)?.description(does);
  }
  try {
    // Without the rest, because --help after a name that is not known would show the general help.
    await program.parseAsync(isUnknown ? [...argv.slice(0, 2), asked] : argv);
    return program.exit.code;
  } catch (error) {
    return exitOfError(error, controller.signal);
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  }
}

/** Commander's message about a value that is none of the choices, with the nearest of them. Others remain as they are. */
function choiceText(text: string): string {
  const [, option, value = "", argument, list = ""] =
    /^error: (?:command-argument value|option '(.+?)'.*? argument) '(.*)' is invalid(?: for argument '(.+?)')?\. Allowed choices are (.*)\.\n$/.exec(
      text,
    ) ?? [];
  if (list === "") return text;
  const likely = nearestName(value, list.split(", "));
  const proposal = likely === undefined ? "" : `did you mean ${likely}? `;
  return `error: ${option ?? argument}: there is no ${value}\nhint:  ${proposal}it is one of ${list}\n`;
}

/** `help dataset build` shows the same as `dataset build --help`. */
function withHelpLast(argv: readonly string[]): readonly string[] {
  const [node = "", file = "", first, ...names] = argv;
  return first === "help" && names.length > 1 ? [node, file, ...names, "--help"] : argv;
}

function exitOfError(error: unknown, signal: AbortSignal): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (signal.aborted) return EXIT.interrupted;
  process.stderr.write(`${errorText(error)}\n`);
  if (isOwnFault(error)) process.stderr.write(`${error.stack}\n`);
  return error instanceof UsageError || isWrongQuery(error) ? EXIT.usage : EXIT.partial;
}

/** Whether the cause of an error is this program, so that its stack is worth a report. The system's refusals are not. */
function isOwnFault(error: unknown): error is Error {
  return error instanceof Error && !(error instanceof BarlakeError) && systemFaultOf(error) === undefined;
}

/** Whether the text of a query is the cause of its failure, and not the environment (a full disk, for example). */
function isWrongQuery(error: unknown): boolean {
  if (error instanceof StatementError) return isWrongQuery(error.cause);
  if (error instanceof TrinoQueryError) return error.isWrongStatement;
  return error instanceof QueryError && /^(Parser|Binder|Catalog|Conversion) Error/.test(error.message);
}
