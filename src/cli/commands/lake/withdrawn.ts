import { Argument } from "commander";
import { systemClock } from "../../../client/system-clock.js";
import { UsageError } from "../../../core/errors.js";
import { parseTradingDate, type TimeRange } from "../../../core/time.js";
import { type WithdrawnReport, withdrawnBars } from "../../../jobs/maintenance/withdrawn-bars.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { addDays } from "../../../market/sessions.js";
import { parseSymbol, regionOf } from "../../../market/symbol.js";
import { instantOf } from "../../../market/zone.js";
import { BARS_1D, BARS_1M } from "../../../schema/bars.js";
import { type Cli, EXIT } from "../../cli.js";
import { jsonOption, lakeOption, openExistingLake, printJson } from "../../options/lake-option.js";
import { openService, type ServiceOptions, serviceOptions } from "../../options/service-option.js";
import { expectNoMore, namedSymbols, SYMBOLS_HELP, symbolsOption } from "../../options/symbols-option.js";
import { count, paint, plural, table } from "../../text.js";

interface Options extends ServiceOptions {
  readonly symbols: string[];
  readonly from: string;
  readonly to?: string;
  readonly accept?: boolean;
}

const BARS = [BARS_1D, BARS_1M];

export function addWithdrawn(cli: Cli): void {
  serviceOptions(
    cli.program
      .command("withdrawn")
      .addArgument(new Argument("<table>", "table of bars").choices(BARS.map(({ name }) => name)))
      .allowExcessArguments()
      .hook("preAction", expectNoMore)
      .requiredOption("--symbols <list>", SYMBOLS_HELP, symbolsOption)
      .requiredOption("--from <date>", "first date")
      .option("--to <date>", "date after the last one (default: the day after the first)")
      .option("--accept", "take the bars that are gone out of the current version of the table"),
  )
    .addOptions(lakeOption(), jsonOption())
    .notes(`
Asks the service twice for the symbols and days, and lists the bars of the lake that it no longer has. Without --accept
nothing changes. With it, these bars leave the current version of the table in one commit: queries no longer see them,
and --as-of and --version still do, until vacuum deletes the files of old versions.
Exit code 1: bars are gone, and were not accepted.

Examples:
  barlake withdrawn bars_1d --symbols 600519.SH --from 2026-11-02 --to 2026-11-07
  barlake withdrawn bars_1d --symbols 600519.SH --from 2026-11-02 --to 2026-11-07 --accept`)
    .does(async (name: string, options: Options) => {
      const symbols = ((await namedSymbols(options.symbols)) ?? []).map(parseSymbol);
      const window = windowOf(symbols, options);
      const lake = await openExistingLake(options);
      const service = await openService(options, lake, "withdrawn");
      try {
        const signal = AbortSignal.any([cli.signal, service.lost]);
        const report = await withdrawnBars(
          { lake, client: service.client, clock: systemClock, signal },
          name === BARS_1D.name ? BARS_1D : BARS_1M,
          { symbols, window },
          options.accept === true,
        );
        if (options.json) printJson(report);
        else process.stdout.write(`${textOf(report)}\n`);
        return report.withdrawn.length > 0 && report.accepted === undefined ? EXIT.partial : EXIT.done;
      } finally {
        await service.close();
      }
    });
}

/** The days by the calendar of the symbols' region. @throws {UsageError} for symbols of several regions. */
function windowOf(symbols: readonly string[], { from, to }: Options): TimeRange {
  const regions = new Set(symbols.map((symbol): Region | undefined => regionOf(symbol)));
  const [region] = regions;
  if (region === undefined || regions.size !== 1)
    throw new UsageError("the symbols are not of one region", { hint: "name those of one region at a time" });
  const { zone } = REGIONS[region];
  const first = parseTradingDate(from);
  const end = to === undefined ? addDays(first, 1) : parseTradingDate(to);
  return { start: instantOf(first, zone), end: instantOf(end, zone) };
}

function textOf({ table: name, bars, withdrawn, accepted }: WithdrawnReport): string {
  const gone = withdrawn.reduce((sum, one) => sum + one.bars, 0);
  const before = `${name}: the service has ${count(bars)} of the ${plural(bars + gone, "bar")} that the lake has`;
  if (gone === 0) return `${before}: ${paint("green", "nothing was withdrawn")}`;
  const rows = withdrawn.map(({ symbol, bars: n, first, last }) => [symbol, count(n), first, last]);
  const listed = table(["symbol", "withdrawn", "first", "last"], rows);
  const after =
    accepted === undefined
      ? "nothing was changed; --accept takes them out of the current version, and older versions still have them"
      : `${plural(accepted.rows, "bar")} taken out of version ${accepted.version}; older versions still have them: barlake sql --version ${name}=${accepted.version - 1}`;
  return `${before}\n${listed}\n${after}`;
}
