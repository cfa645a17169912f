import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { systemClock } from "../../../client/system-clock.js";
import { UsageError } from "../../../core/errors.js";
import { type Cli, EXIT } from "../../cli.js";
import { readConfig } from "../../config-file.js";
import { lakeOption } from "../../options/lake-option.js";
import { urlOption } from "../../options/service-option.js";
import { CONFIG_FILE, SCHEMA_FILES } from "../../settings.js";
import { paint } from "../../text.js";

export interface StarterOptions {
  readonly lake: string;
  readonly url: string | undefined;
  /** First date of the dataset and of the bars that the pipeline asks for. */
  readonly from: string;
}

export const STARTER = { pipeline: "my-daily", notebook: "my-market", dataset: "my-dataset" } as const;

function schemaPath(file: string, schema: string): string {
  const installed = posix.relative(posix.dirname(file), `node_modules/barlake/dist/json-schema/${schema}`);
  return installed.startsWith(".") ? installed : `./${installed}`;
}

/** The files of a new project, by path: a config, a pipeline, a notebook and a dataset's spec. All of them run as they are. */
export function starterFiles({ lake, url, from }: StarterOptions): Map<string, string> {
  const dataset = `datasets/${STARTER.dataset}.json`;
  const json = (content: object): string => `${JSON.stringify(content, null, 2)}\n`;
  return new Map([
    [
      CONFIG_FILE,
      json({
        $schema: schemaPath(CONFIG_FILE, SCHEMA_FILES.config),
        lake,
        ...(url !== undefined && { url }),
      }),
    ],
    [`pipelines/${STARTER.pipeline}.ts`, pipelineText(from)],
    [`notebooks/${STARTER.notebook}.sql`, NOTEBOOK],
    [
      dataset,
      json({
        $schema: schemaPath(dataset, SCHEMA_FILES.dataset),
        name: STARTER.dataset,
        doc: "Daily bars of Chinese stocks with a factor: for a first backtest.",
        universe: { region: "CN", types: ["stock"] },
        from,
        fields: [
          "open",
          "high",
          "low",
          "close",
          "adjusted_volume",
          "factor",
          {
            name: "momentum",
            sql: "close / lag(close, 20) OVER (PARTITION BY symbol ORDER BY trade_date) - 1",
          },
        ],
      }),
    ],
  ]);
}

function pipelineText(from: string): string {
  return `// Asks the service for daily bars: npx barlake run ${STARTER.pipeline}
// Every field is described in docs/operations.md of the package.
export default {
  name: "${STARTER.pipeline}",
  kind: "bars",
  doc: "Daily bars of Chinese stocks and ETFs.",
  period: "1d",
  from: "${from}",
  // The last days are asked for again: what the service has corrected is merged.
  lookback: "3d",
  // The factors of dividends and splits, where the service has them.
  exFactors: true,
  // Instead of all instruments of the regions: symbols: ["600519.SH"] or universes: ["CN_ETF"].
  regions: ["CN"],
  // When npx barlake schedule runs it, in the zone of the exchange.
  schedule: { at: "18:30", region: "CN" },
} satisfies import("barlake").PipelineDefinition;
`;
}

const NOTEBOOK = `-- # My market
-- One instrument and its market. In the terminal: \`npx barlake sql -f ${STARTER.notebook}\`; as a page that needs no
-- network: \`npx barlake sql -f ${STARTER.notebook} --html page.html --watch\`.
-- %% param symbol = (SELECT symbol FROM bars_1d GROUP BY symbol ORDER BY sum(amount) DESC NULLS LAST, symbol LIMIT 1)
-- %% param days = 120

-- %% chart candlestick x=trade_date height=320 title="Daily bars" empty="No bars: choose another with --param symbol=."
FROM (FROM bars_1d WHERE symbol = $symbol ORDER BY trade_date DESC LIMIT $days) ORDER BY trade_date;

-- %% chart line x=trade_date y=close,ma_20 title="Close times the factors of its ex-events, and its mean of 20 days" empty="No bars of the symbol."
SELECT trade_date, close, avg(close) OVER (ORDER BY trade_date ROWS 19 PRECEDING) AS ma_20
FROM adjusted('1d', 'backward') WHERE symbol = $symbol ORDER BY trade_date DESC LIMIT $days;

-- %% table rows=20 percent=change
-- ## The largest turnovers of the newest day
-- In the region of the symbol, in millions of its currency.
WITH market AS (FROM bars_1d WHERE region = (SELECT any_value(region) FROM bars_1d WHERE symbol = $symbol))
SELECT trade_date, symbol, close, close / prev_close - 1 AS change, round(amount / 1e6, 1) AS millions
FROM market WHERE trade_date = (SELECT max(trade_date) FROM market) ORDER BY amount DESC NULLS LAST LIMIT 20;
`;

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
    .addOptions(lakeOption(), urlOption())
    .option("--force", "replace files that are there")
    .notes(`
Makes ${CONFIG_FILE}, a pipeline, a notebook and a dataset's spec in the working directory, and a .gitignore where there is
none: files with keys and data do not belong into git. What it makes runs as it is.

Examples:
  barlake init
  barlake init --url https://service.example --lake s3://bucket/lake
  barlake init --lake data/demo/lake                     on the lake that barlake demo has made`)
    .does(async (options: Options) => {
      init(options);
      return EXIT.done;
    });
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
  npx barlake schedule                          # runs both at their times, until it is stopped
Or without one, on a lake that is empty:
  npx barlake sim                               # a simulated market
Then:
  npx barlake sql -f ${STARTER.notebook}
  npx barlake dataset build ./datasets/${STARTER.dataset}.json
  npx barlake config                            # the settings, and where each comes from
`;
}
