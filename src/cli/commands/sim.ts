import { InvalidArgumentError } from "commander";
import { subHours } from "date-fns/subHours";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import { parseTradingDate } from "../../core/time.js";
import { newRunId } from "../../jobs/run/run-pipeline.js";
import { localDate } from "../../market/zone.js";
import { fillLake } from "../../sim/fill-lake.js";
import { simulateMarket } from "../../sim/market.js";
import { type Cli, EXIT } from "../cli.js";
import { type CommonOptions, jsonOption, lakeOption, openLake, printJson } from "../options/lake-option.js";
import { progressView } from "../progress.js";
import { count, duration, paint } from "../text.js";

interface Options extends CommonOptions {
  readonly symbols: number;
  readonly days: number;
  readonly minuteDays: number;
  readonly seed: number;
  readonly end?: string;
}

export function addSim(cli: Cli): void {
  cli.program
    .command("sim")
    .option("--symbols <n>", "instruments", whole, 300)
    .option("--days <n>", "trading days of history", whole, 500)
    .option("--minute-days <n>", "newest trading days that get minute bars (CN)", whole, 20)
    .option("--seed <n>", "another market", whole, 1)
    .option("--end <date>", "last date of the history (default: yesterday)")
    .addOptions(lakeOption(), jsonOption())
    .notes(`
The same options make the same market.

Examples:
  barlake sim --lake data/sim
  barlake sim --lake data/big --symbols 5000 --days 250 --minute-days 250`)
    .does(async (options: Options) => {
      const lake = openLake(options);
      if ((await lake.snapshots()).some((snapshot) => snapshot.version >= 0)) {
        throw new UsageError(`lake ${options.lake} has data already`, {
          hint: "a simulated market needs an empty lake: give another --lake",
        });
      }
      const startedAt = performance.now();
      const now = systemClock.now();
      const yesterday = localDate(subHours(now, 24).getTime(), "UTC");
      const end = options.end ? parseTradingDate(options.end) : yesterday;
      const { symbols, days, minuteDays, seed } = options;
      const view = progressView("sim");
      let bars = 0;
      await fillLake(lake, simulateMarket({ seed, symbols, days, end }), {
        minuteDays,
        withActions: true,
        runId: newRunId(now),
        now,
        signal: cli.signal,
        onStep: ({ done, steps, bars: landed, doing }) => {
          bars = landed;
          view.update({ done, total: steps, unit: "steps", rows: landed, doing });
        },
      }).finally(() => view.stop());
      const ms = performance.now() - startedAt;
      if (options.json) printJson({ bars, durationMs: Math.round(ms), end });
      else
        process.stdout.write(
          `${paint("green", "filled")} ${options.lake}: ${count(bars)} bars up to ${end} in ${duration(ms)}\n`,
        );
      return cli.signal.aborted ? EXIT.interrupted : EXIT.done;
    });
}

function whole(text: string): number {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 0) throw new InvalidArgumentError("must be a whole number");
  return n;
}
