import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { subHours } from "date-fns/subHours";
import { systemClock } from "../../client/system-clock.js";
import { runImport } from "../../jobs/import/run-import.js";
import { newRunId } from "../../jobs/run/run-pipeline.js";
import type { Lake } from "../../lake/lake.js";
import { localDate } from "../../market/zone.js";
import { type FillProgress, fillLake, SIMULATED } from "../../sim/fill-lake.js";
import { type ActionVersion, simulateMarket } from "../../sim/market.js";
import { progressView } from "../progress.js";

/** The market of the demo: large enough to show rates, small enough to finish within seconds. */
export const MARKET = { seed: 7, days: 500, minuteDays: 20 } as const;
/** Instruments of the market, if no option gives another number. */
export const SYMBOLS = 240;

/** What the lake was filled with. Services do not list delisted instruments, so their symbols are known from here. */
export interface DemoMarket {
  readonly bars: number;
  readonly symbols: readonly string[];
  /** The versions of its corporate actions: services have no list of them. */
  readonly actions: readonly ActionVersion[];
  readonly minuteSymbols: readonly string[];
}

export async function fillDemo(lake: Lake, instruments: number, signal: AbortSignal): Promise<DemoMarket> {
  const now = systemClock.now();
  const end = localDate(subHours(now, 24).getTime(), "UTC");
  const { minuteDays, ...spec } = MARKET;
  const market = simulateMarket({ ...spec, symbols: instruments, end });
  const view = progressView("sim");
  let bars = 0;
  const onStep = ({ done, steps, bars: landed, doing }: FillProgress): void => {
    bars = landed;
    view.update({ done, total: steps, unit: "steps", rows: landed, doing });
  };
  try {
    await fillLake(lake, market, {
      minuteDays,
      withActions: true,
      runId: newRunId(now),
      now,
      signal,
      onStep,
    });
  } finally {
    view.stop();
  }
  const firstMinutes = spec.days - minuteDays;
  const withMinutes = market.instruments.filter((one) => one.region === "CN" && one.end > firstMinutes);
  const symbols = market.instruments.map(({ symbol }) => symbol);
  return {
    bars,
    symbols,
    actions: market.actionVersions(symbols),
    minuteSymbols: withMinutes.map(({ symbol }) => symbol),
  };
}

const COLUMNS = [
  "symbol",
  "ex_date",
  "kind",
  "cash",
  "ratio",
  "price",
  "currency",
  "announce_date",
  "record_date",
  "pay_date",
] as const satisfies readonly (keyof ActionVersion)[];

interface ImportedActions {
  readonly announced: number;
  readonly corrected: number;
}

/**
 * Imports corporate actions as `barlake import corporate_actions` does: a file of what was announced, and one of what was
 * corrected since.
 *
 * @param versions those of one action follow one another, oldest first.
 */
export async function importActions(
  lake: Lake,
  versions: readonly ActionVersion[],
  signal: AbortSignal,
): Promise<ImportedActions> {
  const isCorrection = ({ symbol, ex_date, kind }: ActionVersion, index: number): boolean => {
    const before = versions[index - 1];
    return before?.symbol === symbol && before.ex_date === ex_date && before.kind === kind;
  };
  const corrections = versions.filter(isCorrection);
  const announced = versions.filter((version, index) => !isCorrection(version, index));
  const folder = await mkdtemp(join(tmpdir(), "barlake-demo-"));
  try {
    for (const [name, rows] of [
      ["announced.csv", announced],
      ["corrections.csv", corrections],
    ] as const) {
      if (rows.length === 0) continue;
      const file = join(folder, name);
      await writeFile(file, csvOf(rows));
      const run = { runId: newRunId(systemClock.now()), source: SIMULATED, signal };
      await runImport(lake, "corporate_actions", [file], run, systemClock);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return { announced: announced.length, corrected: corrections.length };
}

function csvOf(rows: readonly ActionVersion[]): string {
  const lines = rows.map((row) => COLUMNS.map((name) => row[name] ?? "").join(","));
  return `${[COLUMNS.join(","), ...lines].join("\n")}\n`;
}
