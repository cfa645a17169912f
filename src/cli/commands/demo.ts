import { join } from "node:path";
import { type Command, Option } from "commander";
import { ServiceClient } from "../../client/service-client.js";
import { systemClock } from "../../client/system-clock.js";
import { BarlakeError } from "../../core/errors.js";
import { compareLakes } from "../../jobs/maintenance/compare-lakes.js";
import { definePipeline } from "../../jobs/pipeline/definition.js";
import type { RunReport } from "../../jobs/run/run-pipeline.js";
import { byteCount, type Lake, rowCount } from "../../lake/lake.js";
import { openReader } from "../../lake/open-reader.js";
import { REGIONS } from "../../market/regions.js";
import type { Environment } from "../../object-store/access/credential-source.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { startService } from "../../serve/http/service.js";
import { plainKeys } from "../../serve/keys/key-ring.js";
import { type Candle, candleChart } from "../charts/candles.js";
import { type Cli, EXIT } from "../cli.js";
import { emptyDemoLakes, startDemoStore } from "../demo/demo-lakes.js";
import { type DemoMarket, fillDemo, importActions, MARKET, SYMBOLS } from "../demo/demo-market.js";
import { printTables, runShown, say, sayRun } from "../demo/demo-output.js";
import { wholeNumber } from "../options/options.js";
import { rpmOption, type ServiceOptions, urlOption } from "../options/service-option.js";
import { count, duration, paint, size, table } from "../text.js";

const KEY = "demo-key";
/** The demo's folder if no option names another. */
const FOLDER = "data/demo";
const LIVE_FOLDER = "data/live";
/** Most instruments of a live demo: with a small quota, a minute of requests. */
const LIVE_SYMBOLS = 50;

interface DemoOptions {
  readonly lake: string;
  readonly store?: true;
  readonly live?: true;
  readonly symbols?: number;
  readonly universe?: string;
  readonly requests: number;
  readonly minutes: number;
  readonly url?: string;
  readonly rpm?: Exclude<ServiceOptions["rpm"], undefined>;
}

const PIPELINES = [
  definePipeline({ name: "reference", kind: "reference" }),
  definePipeline({ name: "daily", kind: "bars", period: "1d", from: "-900d", exFactors: true }),
  definePipeline({ name: "minute", kind: "bars", period: "1m", from: "-60d", regions: ["CN"] }),
  definePipeline({ name: "financials", kind: "statements" }),
];

export function addDemo(cli: Cli): void {
  cli.program
    .command("demo")
    .addOption(
      new Option(
        "--lake <location>",
        "folder, or s3://bucket/prefix, for the demo's two lakes; replaced each time",
      ).default(FOLDER),
    )
    .addOption(
      new Option(
        "--store",
        `on an object store: starts a versitygw or MinIO of this machine, with its files in ${FOLDER}/store, and stops it at the end`,
      ).conflicts("lake"),
    )
    .addOption(
      new Option(
        "--live",
        `real data instead: of one universe of the service that BARLAKE_URL names, into the lake ${LIVE_FOLDER}, which is kept`,
      ).conflicts("store"),
    )
    .option("--universe <id>", "with --live: the universe (default: a small one that the service has)")
    .option("--requests <n>", "with --live: requests at which it ends", wholeNumber, 100)
    .option("--minutes <n>", "with --live: minutes after which it ends", wholeNumber, 10)
    .option(
      "--symbols <n>",
      `instruments of the simulated market (default: ${SYMBOLS}), or most of the universe (default: ${LIVE_SYMBOLS})`,
      wholeNumber,
    )
    .addOptions(urlOption(), rpmOption())
    .notes(`
Needs no key and no network, but with --live: a service of this interface, and its key where it needs one (BARLAKE_API_KEY).
What a live demo has received is not asked for again: the same command goes on after its end. --store takes the program that BARLAKE_VERSITYGW or BARLAKE_MINIO names, else one in
~/.cache/barlake/bin (test/interop/stores.sh of the sources builds both there) or in PATH. Lakes in a store need DuckDB's
extension httpfs: docs/beyond-one-machine.md.

Examples:
  barlake demo
  barlake demo --lake /tmp/demo
  barlake demo --live --url https://HOST --universe CN_ETF
  barlake demo --store
  barlake demo --lake s3://bucket/demo`)
    .does(async (options: DemoOptions, command: Command) => {
      const { lake, store, live, symbols = SYMBOLS } = options;
      if (!live) return store ? demoOnOwnStore(cli, symbols) : demo(cli, lake, symbols);
      const { liveDemo } = await import("../demo/live-demo.js");
      const isGiven = command.getOptionValueSource("lake") !== "default";
      const most = options.symbols ?? LIVE_SYMBOLS;
      return liveDemo({
        ...options,
        lake: isGiven ? lake : LIVE_FOLDER,
        symbols: most,
        signal: cli.signal,
      });
    });
}

async function demo({ signal }: Cli, location: string, symbols: number): Promise<number> {
  const at = await demoIn(location, { environment: process.env, symbols, signal });
  if (at === undefined) return EXIT.interrupted;
  printNext(at);
  return EXIT.done;
}

async function demoOnOwnStore({ signal }: Cli, symbols: number): Promise<number> {
  const store = await startDemoStore(FOLDER, process.env);
  let at: string | undefined;
  try {
    say("0", store.description);
    at = await demoIn(store.location, { environment: store.environment, symbols, signal });
  } finally {
    await store.stop();
  }
  if (at === undefined) return EXIT.interrupted;
  process.stdout.write(`
The store has stopped. These lines start it again, with the two lakes:
${store.restart.map((line) => `  ${line}\n`).join("")}`);
  printNext(at);
  return EXIT.done;
}

/** Runs the demo. @returns where the second lake is, as commands take it; undefined where it was interrupted. */
async function demoIn(
  location: string,
  {
    environment,
    symbols: instruments,
    signal,
  }: { readonly environment: Environment; readonly symbols: number; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const startedAt = performance.now();
  const { market, lake } = await emptyDemoLakes(location, environment);

  say(
    "1",
    `a simulated market fills a lake: ${instruments} instruments, ${MARKET.days} days, ${MARKET.minuteDays} of them by the minute`,
  );
  const filling = performance.now();
  const filled = await fillDemo(market, instruments, signal);
  if (signal.aborted) return undefined;
  say("", `${count(filled.bars)} bars in ${duration(performance.now() - filling)}`);

  say("2", "the lake is served over HTTP, and everything is asked for through the interface");
  const reports = await ingest(market, lake, filled, signal);
  if (signal.aborted) return undefined;
  const importing = performance.now();
  const { announced, corrected } = await importActions(lake, filled.actions, signal);
  say(
    "",
    `${count(announced)} corporate actions from a file, and ${count(corrected)} corrections from another  ${duration(performance.now() - importing)}`,
  );

  say("3", "what was served and what was landed are compared, bit by bit");
  await compare(market, lake);

  const at = isObjectUrl(location) ? lake.location : join(location, "lake");
  say("4", "the second lake holds");
  await printTables(lake);
  await printQuery(at, lake);

  say("5", "figures");
  await printFigures(lake, reports, performance.now() - startedAt);
  return at;
}

function printNext(at: string): void {
  process.stdout.write(`
Try next:
  npx barlake ui --lake ${at}
  npx barlake sql --lake ${at} "from daily_fundamentals where total_equity is not null limit 10"
  npx barlake sql --lake ${at} -f market-overview --html overview.html
  npx barlake status --lake ${at}
  npx barlake dataset build cn-daily --lake ${at} --format qlib
  npx barlake serve --lake ${at}
`);
}

async function ingest(
  market: Lake,
  lake: Lake,
  { symbols, minuteSymbols }: Pick<DemoMarket, "symbols" | "minuteSymbols">,
  signal: AbortSignal,
): Promise<RunReport[]> {
  const service = await startService(market, { port: 0, keys: plainKeys([KEY]), clock: systemClock });
  const client = new ServiceClient({ baseUrl: service.url, apiKey: KEY, clock: systemClock });
  const reports: RunReport[] = [];
  try {
    for (const pipeline of PIPELINES) {
      const demand =
        pipeline.kind === "reference"
          ? {}
          : { symbols: pipeline.name === "minute" ? minuteSymbols : symbols };
      const report = await runShown(pipeline, demand, { lake, client, signal });
      if (signal.aborted) return reports;
      if (report.status !== "complete") {
        const reason = report.stopped ?? report.failures[0]?.reason;
        throw new BarlakeError(`pipeline ${pipeline.name} ended ${report.status}: ${reason}`);
      }
      reports.push(report);
      sayRun(report);
    }
  } finally {
    await client.close();
    await service.close();
  }
  return reports;
}

async function compare(market: Lake, lake: Lake): Promise<void> {
  const comparisons = await compareLakes(market, lake);
  const different = comparisons.filter((c) => c.onlyLeft + c.onlyRight > 0);
  if (different.length > 0) {
    const what = different.map(
      (c) => `${c.table}: ${c.onlyLeft} rows only served, ${c.onlyRight} only landed`,
    );
    throw new BarlakeError(`the two lakes differ: ${what.join("; ")}`);
  }
  const rows = comparisons.reduce((sum, c) => sum + c.rows, 0);
  say("", `${paint("green", "equal")}: ${count(rows)} rows in ${comparisons.length} tables`);
}

async function printQuery(at: string, lake: Lake): Promise<void> {
  const { session } = await openReader(lake);
  using reader = session;
  const query = `SELECT symbol, name, trade_date, close, round(close * total_shares / total_equity, 2) AS price_to_book,
  balance_sheet_period_end AS reported, balance_sheet_announce_date AS announced
FROM daily_fundamentals
WHERE region = 'CN' AND trade_date = (SELECT max(trade_date) FROM bars_1d WHERE region = 'CN') AND total_equity > 0
ORDER BY amount DESC LIMIT 5`;
  process.stdout.write(`\n${paint("dim", `npx barlake sql --lake ${at} "…"`)}\n${paint("cyan", query)}\n\n`);
  const { names, rows } = await reader.preview(query, 5);
  process.stdout.write(`${table(names, rows as (string | number | null)[][])}\n`);
  const [symbol, name] = (rows[0] ?? []) as string[];
  const candles = await reader.json<Candle>(
    `SELECT trade_date::VARCHAR AS label, open, high, low, close, volume::DOUBLE AS volume FROM bars_1d
     WHERE symbol = $1 AND volume > 0 ORDER BY trade_date DESC LIMIT 72`,
    [symbol ?? ""],
  );
  if (candles.length > 0)
    process.stdout.write(
      `\n${paint("bold", `${symbol} ${name}`)}, daily\n${candleChart(candles.reverse(), { width: 100, height: 14, rising: REGIONS.CN.rising })}\n`,
    );
}

async function printFigures(lake: Lake, reports: readonly RunReport[], ms: number): Promise<void> {
  const bars = reports.filter((r) => r.pipeline === "daily" || r.pipeline === "minute");
  const sum = (of: (report: RunReport) => number, from = bars): number =>
    from.reduce((total, report) => total + of(report), 0);
  const landed = [await lake.snapshot(BARS_1D), await lake.snapshot(BARS_1M)];
  const rows = landed.reduce((total, s) => total + rowCount(s), 0);
  const bytes = landed.reduce((total, s) => total + byteCount(s), 0);
  const perSecond = (sum((r) => r.rows) / sum((r) => r.durationMs)) * 1000;
  say(
    "",
    `${count(perSecond)} bars a second from HTTP to committed Parquet (the service takes its share of the same cores)`,
  );
  say(
    "",
    `${count(sum((r) => r.requests.sent, [...reports]))} requests, ${size(sum((r) => r.bytes, [...reports]))} received`,
  );
  say(
    "",
    `${(bytes / rows).toFixed(1)} bytes a bar on disk, against ${(sum((r) => r.bytes) / sum((r) => r.rows)).toFixed(1)} on the wire`,
  );
  say("", `${duration(ms)} in all`);
}
