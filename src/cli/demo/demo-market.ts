import { subHours } from "date-fns/subHours";
import { systemClock } from "../../client/system-clock.js";
import { newRunId } from "../../jobs/run/run-pipeline.js";
import type { Lake } from "../../lake/lake.js";
import { localDate } from "../../market/zone.js";
import { type FillProgress, fillLake } from "../../sim/fill-lake.js";
import { type ActionVersion, simulateMarket } from "../../sim/market.js";
import { progressView } from "../text/progress.js";

/** The market of the demo: large enough to show rates, small enough to finish within seconds. */
export const MARKET = { seed: 7, days: 500, minuteDays: 20 } as const;
/** Instruments of the market, if no option gives another number. */
export const SYMBOLS = 240;

/** What the lake was filled with. Services do not list delisted instruments, so their symbols are known from here. */
export interface DemoMarket {
  readonly bars: number;
  /** The symbols of all instruments ever listed. */
  readonly symbols: readonly string[];
  /** The versions of its corporate actions: services have no list of them. */
  readonly actions: readonly ActionVersion[];
  /** The symbols that have minutes. */
  readonly minuteSymbols: readonly string[];
}

/** Fills the lake. */
export async function fillDemo(lake: Lake, instruments: number, signal: AbortSignal): Promise<DemoMarket> {
  const now = systemClock.now();
  const end = localDate(subHours(now, 24).getTime(), "UTC");
  const { minuteDays, ...spec } = MARKET;
  const market = simulateMarket({ ...spec, symbols: instruments, end });
  const view = progressView("sim", "text");
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
