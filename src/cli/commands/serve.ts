import { InvalidArgumentError, Option } from "commander";
import { pino } from "pino";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import type { Lake } from "../../lake/lake.js";
import { knownAtText } from "../../market/known-at.js";
import { REGIONS } from "../../market/regions.js";
import { splitList } from "../../market/symbol.js";
import { offsetMs } from "../../market/zone.js";
import { startService } from "../../serve/http/service.js";
import { PermitQuota } from "../../serve/keys/count/permit-quota.js";
import { parseReplayTime, REPLAY_PATH, type Replay, replayRange } from "../../serve/replay/add-replay.js";
import { instantText, MAX_SPEED, ReplayClock } from "../../serve/replay/replay-clock.js";
import { type Cli, EXIT } from "../cli.js";
import { isLoopback, keysAt, keysOf, keysOption } from "../options/keys-option.js";
import { type CommonOptions, lakeOption, openExistingLake, reportMovedLake } from "../options/lake-option.js";
import {
  knownAtOptions,
  type PointInTimeOptions,
  pointInTimeOf,
  pointInTimeOptions,
  portOption,
  wholeNumber,
} from "../options/options.js";
import { paint } from "../text.js";

interface Options extends CommonOptions, PointInTimeOptions {
  readonly keys: string;
  readonly port: number;
  readonly host: string;
  readonly rpm?: number;
  readonly maxSymbols?: number;
  readonly cors?: string[];
  readonly udf?: boolean;
  readonly verify: boolean;
  readonly warmUp: boolean;
  readonly replay?: string;
  readonly speed?: number;
  readonly assumeReference?: boolean;
}

/**
 * A client waits for the response, and can ask again: after one to seven seconds of failed requests to a store it gets 503.
 */
const PATIENCE = { retries: 3, timeoutMs: 10_000 };

export function addServe(cli: Cli): void {
  const [knownAt] = knownAtOptions();
  cli.program
    .command("serve")
    .addOption(
      new Option("--port <n>", "port; 0 takes a free one")
        .env("BARLAKE_PORT")
        .default(8080)
        .argParser(portOption),
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--no-verify", "do not compare files with the hashes in their names before they are first read")
    .option("--no-warm-up", "do not read at the start what the first requests for minutes and quotes need")
    .addOption(keysOption())
    .option("--rpm <n>", "requests a minute of each key for which the file has no number", wholeNumber)
    .option(
      "--max-symbols <n>",
      "symbols of one request, for each key without a separate number (default: no limit)",
      wholeNumber,
    )
    .option(
      "--cors <origins>",
      "origins whose pages may call the service from a browser, comma-separated; * is every one (default: none)",
      originsOf,
    )
    .option(
      "--udf",
      "also speak TradingView's UDF protocol at /udf, without a key for pages of this machine unless --host is given",
    )
    .option(
      "--replay <time>",
      "serve the lake as it was seen then, with the clock running; without a zone, the time at the lake's exchanges; without a date, of the newest day",
    )
    .option(
      "--speed <n>",
      `replayed seconds for each second, up to ${MAX_SPEED}; 0 holds the time (default: 1)`,
      speedOf,
    )
    .option(
      "--assume-reference",
      "in a replay, or with --known-at: instruments and universes that the lake first saw later were the same before",
    )
    .addOptions(...pointInTimeOptions(), knownAt, lakeOption())
    .notes(`
Keys are those of the file that barlake keys writes, whose changes take effect while the service runs, and those of
BARLAKE_SERVE_KEYS, comma-separated, which may request everything. Without any key, the service listens on this machine
only, and prints a key made for this run.
Services on several machines that share --keys (a folder, or s3://bucket/prefix) hold the requests a minute of each key
together.

Examples:
  barlake serve
  barlake serve --as-of 2026-11-01
  barlake serve --known-at 2026-06-30                what was known at the end of that day, and nothing later
  barlake keys add alice --allow klines,reference --rpm 60
  barlake serve --replay 09:25+08:00 --speed 60      the newest day in China
  barlake serve --replay 2026-11-20T09:25+08:00 --speed 60
  barlake serve --replay 2026-11-20T01:25Z --speed 0
  barlake serve --host 0.0.0.0 --port 8080
  barlake serve --host 0.0.0.0 --keys s3://bucket/service --lake s3://bucket/lake      on several machines
  barlake serve --cors https://research.example
  barlake serve --udf --cors http://localhost:3000   a chart page whose datafeed is http://127.0.0.1:8080/udf/forward
  curl -H "x-api-key: KEY" "http://127.0.0.1:8080/v1/klines/batch?symbols=600519.SH&count=5&adjust=none"`)
    .does(async (options: Options) => {
      const logger = pino({ name: "barlake", level: "info" }, pino.destination(2));
      const location = keysAt(options.keys);
      const { ring, own } = await keysOf(options.host, location, (error) => {
        logger.error({ err: error }, "keys could not be read again: the earlier ones remain valid");
      });
      const { shared } = location;
      const onFault = (error: unknown): void =>
        logger.error(
          { err: error, place: options.keys },
          "requests of the keys cannot be counted: their permits end 45 s after the last contact",
        );
      const lake = await openExistingLake(options, { patience: PATIENCE });
      await reportMovedLake(lake);
      const replay = await replayOf(lake, options);
      // In a replay, the assumption is the replay's.
      const { assumeReference: _, ...ofReplay } = options;
      const pointInTime = pointInTimeOf(replay === undefined ? options : ofReplay);
      const service = await startService(lake, {
        host: options.host,
        port: options.port,
        keys: ring,
        clock: systemClock,
        pointInTime,
        logger,
        verify: options.verify,
        warmUp: options.warmUp,
        ...(replay === undefined ? {} : { replay }),
        ...(shared && { quota: new PermitQuota(shared, systemClock, onFault) }),
        ...(options.rpm === undefined ? {} : { maxRequestsPerMinute: options.rpm }),
        ...(options.maxSymbols === undefined ? {} : { maxSymbols: options.maxSymbols }),
        ...(options.udf === true ? { udf: isLoopback(options.host) ? "open" : "keys" } : {}),
        ...(options.cors === undefined ? {} : { corsOrigins: options.cors }),
      });
      process.stdout.write(`serving ${options.lake} at ${paint("bold", service.url)} (Ctrl-C ends it)\n`);
      process.stdout.write(`its interface, for people: ${service.url}/docs\n`);
      if (replay !== undefined) process.stdout.write(replayText(replay));
      if (options.knownAt !== undefined)
        process.stdout.write(`it shows what was known at ${knownAtText(options.knownAt)}\n`);
      if (options.udf === true)
        process.stdout.write(
          `datafeed of a chart page: ${service.url}/udf (as traded), ${service.url}/udf/forward\n`,
        );
      if (own !== undefined) {
        process.stdout.write(`key for this run: ${own}\n\n`);
        process.stdout.write(`  curl -H "x-api-key: ${own}" "${service.url}/v1/exchanges"\n`);
        process.stdout.write(
          `  BARLAKE_URL=${service.url} BARLAKE_API_KEY=${own} npx barlake run reference --lake other\n`,
        );
      }
      await new Promise<void>((resolve) => {
        if (cli.signal.aborted) resolve();
        cli.signal.addEventListener("abort", () => resolve());
      });
      await service.close();
      return EXIT.done;
    });
}

/** The replay that the options ask for. @throws {UsageError} for a time that is not in the lake. */
async function replayOf(lake: Lake, options: Options): Promise<Replay | undefined> {
  const { replay: text, speed = 1, assumeReference = false } = options;
  if (text === undefined) {
    const isAssumed = assumeReference && options.knownAt === undefined;
    if (options.speed === undefined && !isAssumed) return undefined;
    throw new UsageError("--speed and --assume-reference need --replay", {
      hint: "add --replay 09:25+08:00",
    });
  }
  if (options.knownAt !== undefined)
    throw new UsageError("--replay has a clock that runs, --known-at one that stands still", {
      hint: "leave one of them out",
    });
  const { range, regions } = await replayRange(
    lake,
    { asOf: options.asOf, versions: options.version },
    systemClock.now(),
  );
  const time = parseReplayTime(text, regions);
  const clock = new ReplayClock(systemClock, range, { time, speed });
  return { clock, regions, assumesReference: assumeReference };
}

function replayText({ clock, regions }: Replay): string {
  const { time, speed } = clock.state;
  const wall = (zone: string): string => new Date(time + offsetMs(zone, time)).toISOString().slice(0, 19);
  const local = [...regions.keys()].map((region) => `${wall(REGIONS[region].zone)} in ${region}`).join(", ");
  const pace = speed === 0 ? "standing still" : `at speed ${speed}`;
  return `replaying ${instantText(time)} (${local}), ${pace}; POST ${REPLAY_PATH} sets time and speed\n`;
}

/** @throws {InvalidArgumentError} */
function speedOf(text: string): number {
  const speed = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (speed <= MAX_SPEED) return speed;
  throw new InvalidArgumentError(`It is not a number from 0 to ${MAX_SPEED}.`);
}

/** @throws {InvalidArgumentError} for a text that is not an origin as a browser sends it. */
function originsOf(text: string): string[] {
  const origins = splitList(text);
  const wrong = origins.find((one) => one !== "*" && !(URL.canParse(one) && new URL(one).origin === one));
  if (origins.length > 0 && wrong === undefined) return origins;
  throw new InvalidArgumentError(
    `${JSON.stringify(wrong ?? text)} is not an origin such as https://research.example`,
  );
}
