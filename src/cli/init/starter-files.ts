import { posix } from "node:path";
import { SCHEMA_FILES } from "../schemas/schema-files.js";
import { CONFIG_FILE } from "../settings/settings.js";

/** What the files of a new project are made for. */
export interface StarterOptions {
  readonly lake: string;
  readonly url: string | undefined;
  /** First date of the dataset and of the bars that the pipeline asks for. */
  readonly from: string;
}

/** Names of what a new project has. */
export const STARTER = { pipeline: "my-daily", notebook: "my-market", dataset: "my-dataset" } as const;

/** Where the schemas are, seen from a file of a project that has barlake installed. */
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
