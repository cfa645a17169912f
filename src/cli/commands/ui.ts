import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { replacedText } from "../../lake/lake.js";
import { startWorkspace, type Workspace } from "../../ui/start-workspace.js";
import { type Cli, EXIT } from "../cli.js";
import { usersNotebooks } from "../notebook/find-notebook.js";
import { lakeOption, openExistingLake } from "../options/lake-option.js";
import { portOption, usersPipelines } from "../options/options.js";
import {
  rpmOption,
  type ServiceOptions,
  shareOption,
  urlOption,
  workspaceRuns,
} from "../options/service-option.js";
import { paint } from "../text.js";

/** A range of ports that systems by default neither reserve nor use for outgoing connections. */
const FIRST = 20_000;
const NUMBER = 10_000;

/**
 * The port for a lake, which is always the same. A browser stores data by address, for example drafts of notebooks, and
 * finds it again after a restart of the workspace.
 */
export function steadyPort(location: string): number {
  return FIRST + (createHash("sha256").update(location).digest().readUInt32BE(0) % NUMBER);
}

interface Options extends ServiceOptions {
  readonly port?: number;
  readonly open: boolean;
  readonly notebooks: string;
  readonly pipelines?: string;
}

export function addUi(cli: Cli): void {
  cli.program
    .command("ui")
    .option(
      "--port <n>",
      "port; 0 takes a free one (default: the same for each lake, where it is free)",
      portOption,
    )
    .option("--no-open", "print the address, and open no browser")
    .option(
      "--notebooks <folder>",
      "folder of your notebooks; those that come with barlake are there too (env: BARLAKE_NOTEBOOKS)",
      usersNotebooks(),
    )
    .option(
      "--pipelines <folder>",
      "folder of your pipelines (default: pipelines, if it is there; env: BARLAKE_PIPELINES)",
    )
    .addOptions(urlOption(), rpmOption(), shareOption(), lakeOption())
    .notes(`
It listens on this machine only. An address admits one browser, once; Enter opens a new one. It writes the notebooks that
you save, into --notebooks, and what a pipeline lands that you run from the page, which needs BARLAKE_URL and
BARLAKE_API_KEY; Ctrl-C ends such a run as that of barlake run.

Examples:
  barlake ui --lake data/demo/lake
  barlake ui --port 8090 --no-open
  barlake ui --notebooks research`)
    .does(async (options: Options) => {
      const lake = await openExistingLake(options);
      lake.onReplaced((facts) =>
        process.stderr.write(`${paint("yellow", "warning:")} ${replacedText(facts)}\n`),
      );
      await using workspace = await startWorkspace(lake, {
        port: options.port,
        preferredPort: steadyPort(lake.location),
        location: options.lake,
        notebooks: options.notebooks,
        pipelines: options.pipelines ?? usersPipelines(),
        runPlace: workspaceRuns(lake, options),
      });
      process.stdout.write(`${options.lake} at ${paint("bold", workspace.url)} (Ctrl-C ends it)\n`);
      show(workspace, options);
      const input = process.stdin.isTTY ? createInterface(process.stdin) : undefined;
      input?.on("line", () => show(workspace, options));
      await new Promise<void>((resolve) => {
        if (cli.signal.aborted) resolve();
        cli.signal.addEventListener("abort", () => resolve());
        // The interface takes Ctrl-C from the terminal.
        input?.on("SIGINT", () => resolve());
      });
      input?.close();
      return EXIT.done;
    });
}

function show(workspace: Workspace, { open }: Options): void {
  const address = workspace.address();
  process.stdout.write(`open ${paint("cyan", address)}\n`);
  if (open) openBrowser(address);
}

const OPENERS: Readonly<Record<string, { readonly program: string; readonly before?: readonly string[] }>> = {
  darwin: { program: "open" },
  win32: { program: "rundll32", before: ["url.dll,FileProtocolHandler"] },
};

/** Opens the browser of the user's desktop; where there is none, the printed address remains. */
function openBrowser(address: string): void {
  const { program, before = [] } = OPENERS[process.platform] ?? { program: "xdg-open" };
  const child = spawn(program, [...before, address], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
