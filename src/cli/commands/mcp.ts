import { Option } from "commander";
import { messageOf, UsageError } from "../../core/errors.js";
import { LakeQuestions } from "../../mcp/lake-questions.js";
import { MCP_HOST, serveStdin, startHttp } from "../../mcp/serve-mcp.js";
import { type Cli, EXIT } from "../cli.js";
import { keysAt, keysOf, keysOption } from "../options/keys-option.js";
import { type CommonOptions, lakeOption, openExistingLake } from "../options/lake-option.js";
import {
  knownAtOptions,
  type PointInTimeOptions,
  pointInTimeOf,
  pointInTimeOptions,
  portOption,
} from "../options/options.js";
import { paint } from "../text.js";

interface Options extends CommonOptions, PointInTimeOptions {
  readonly http?: number;
  readonly keys: string;
}

export function addMcp(cli: Cli): void {
  cli.program
    .command("mcp")
    .addOption(
      new Option(
        "--http <port>",
        "serve over HTTP on this machine, and not over standard input; 0 takes a free port",
      ).argParser(portOption),
    )
    .addOptions(keysOption(), ...pointInTimeOptions(), ...knownAtOptions(), lakeOption())
    .notes(`
An agent starts it, and asks over its standard input: search, describe, query, bars, statements and dataset_plan. It only
reads, and no question moves its point in time. docs/agents.md has the line of set-up for the usual clients.
Over HTTP it listens on this machine only, and a request has a key: one of --keys or of BARLAKE_SERVE_KEYS, as for barlake
serve. Without any, it prints one made for this run.

Examples:
  barlake mcp --lake data/demo/lake
  barlake mcp --known-at 2026-06-30      what was known at the end of that day, and nothing that came later
  barlake mcp --as-of 2026-11-01
  claude mcp add barlake -- npx barlake mcp --lake /data/lake
  barlake mcp --http 8765 --keys keys.json`)
    .does((options: Options) => serveLake(cli, options));
}

async function serveLake(cli: Cli, options: Options): Promise<number> {
  // Standard output has only the protocol.
  const onFault = (error: unknown): void => {
    process.stderr.write(`${paint("yellow", "warning:")} ${messageOf(error)}\n`);
  };
  const lake = await openExistingLake(options);
  await using questions = new LakeQuestions(lake, pointInTimeOf(options));
  if (options.http === undefined) {
    if (process.stdin.isTTY)
      throw new UsageError("an agent starts this command, and talks to it over its standard input", {
        hint: "docs/agents.md has the line of set-up for each client; --http PORT serves over HTTP",
      });
    await serveStdin(questions, cli.signal, onFault);
    return EXIT.done;
  }
  const { ring, own } = await keysOf(MCP_HOST, keysAt(options.keys), onFault);
  await using service = await startHttp(questions, { port: options.http, keys: ring }, onFault);
  process.stderr.write(`${options.lake} at ${paint("bold", service.url)} (Ctrl-C ends it)\n`);
  if (own !== undefined) process.stderr.write(`key for this run: ${own}\n`);
  await new Promise<void>((resolve) => {
    if (cli.signal.aborted) resolve();
    cli.signal.addEventListener("abort", () => resolve());
  });
  return EXIT.done;
}
