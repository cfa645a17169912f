import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Option } from "commander";
import { systemClock } from "../../../client/system-clock.js";
import { UsageError } from "../../../core/errors.js";
import type { Cli } from "../../cli.js";
import { EXIT } from "../../exit-codes.js";
import { STARTER, starterFiles } from "../../init/starter-files.js";
import { lakeOption } from "../../options/lake-option.js";
import { urlOption } from "../../options/service-option.js";
import { readConfig } from "../../settings/config-file.js";
import { CONFIG_FILE } from "../../settings/settings.js";
import { paint } from "../../text/text.js";

interface Options {
  readonly lake: string;
  readonly url?: string;
  readonly force?: boolean;
}

/** Years before this one that the pipeline and the dataset begin with. */
const YEARS = 1;

export function addInit(cli: Cli): void {
  cli.program
    .command("init")
    .addOption(lakeOption())
    .addOption(urlOption())
    .addOption(new Option("--force", "replace files that are there"))
    .addHelpText(
      "after",
      `
Makes ${CONFIG_FILE}, a pipeline, a notebook and a dataset's spec in the working directory, and a .gitignore where there is
none: files with keys and data do not belong into git. What it makes runs as it is.

Examples:
  barlake init
  barlake init --url https://service.example --lake s3://bucket/lake
  barlake init --lake data/demo/lake                     on the lake that barlake demo has made`,
    )
    .action((options: Options) =>
      cli.action(async () => {
        init(options);
        return EXIT.done;
      }),
    );
}

/** @throws {UsageError} where a file is there already; then nothing is written. */
function init({ lake, url, force = false }: Options): void {
  const year = new Date(systemClock.now()).getUTCFullYear() - YEARS;
  const files = starterFiles({ lake, url: url || undefined, from: `${year}-01-01` });
  readConfig(files.get(CONFIG_FILE) as string);
  const there = [...files.keys()].filter((file) => existsSync(file));
  if (there.length > 0 && !force)
    throw new UsageError(`init: ${there.join(", ")} ${there.length === 1 ? "is" : "are"} there already`, {
      hint: `nothing was written; --force replaces ${there.length === 1 ? "it" : "them"}`,
    });
  for (const [file, text] of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: force ? "w" : "wx" });
    process.stdout.write(`${paint("green", "made")} ${file}\n`);
  }
  process.stdout.write(`${keepOutOfGit(lake)}${nextText(url)}`);
}

/** Writes a .gitignore where there is none. @returns what is to be said of it. */
function keepOutOfGit(lake: string): string {
  const isInProject = !/^([/\\]|[a-z]:|\.\.)|:\/\//i.test(lake);
  if (!existsSync(".gitignore")) {
    writeFileSync(".gitignore", `.env\nnode_modules/\n${isInProject ? `${lake.replace(/\/$/, "")}/\n` : ""}`);
    return `${paint("green", "made")} .gitignore\n`;
  }
  const hasLine = /^\/?\.env\s*$/m.test(readFileSync(".gitignore", "utf8"));
  return hasLine ? "" : `${paint("yellow", "note:")}  add .env to .gitignore before it has a key\n`;
}

function nextText(url: string | undefined): string {
  const service = url
    ? "echo 'BARLAKE_API_KEY=...' >> .env              # the key of the service"
    : "export BARLAKE_URL=https://...                # or url in barlake.config.json; and the key: BARLAKE_API_KEY in .env";
  return `
Next, with a service:
  ${service}
  npx barlake run reference                     # instruments and universes: the others choose from them
  npx barlake plan ${STARTER.pipeline}                     # what it would request; sends nothing
  npx barlake run ${STARTER.pipeline}
Or without one, on a lake that is empty:
  npx barlake sim                               # a simulated market
Then:
  npx barlake sql -f ${STARTER.notebook}
  npx barlake dataset build ./datasets/${STARTER.dataset}.json
  npx barlake config                            # the settings, and where each comes from
`;
}
