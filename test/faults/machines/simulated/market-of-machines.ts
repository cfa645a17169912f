import type { RunEnvironment } from "../../../../src/jobs/run/run-pipeline.js";
import type { Seen } from "../../service/scripted-server.js";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** When a simulation starts. */
export const START = Date.parse("2024-01-13T00:00:17Z");
export const [FROM, TO] = ["2023-10-02", "2023-12-23"];
export const DAILY = { name: "days", period: "1d", table: "bars_1d", bars: 1 } as const;
export const MINUTES = { name: "minutes", period: "1m", table: "bars_1m", bars: 4 } as const;

/** Midnights of Shanghai that begin a trading day: all but weekends. */
export const DAYS = Array.from(
  { length: 82 },
  (_, n) => Date.parse("2023-10-01T16:00:00Z") + n * DAY_MS,
).filter((ms) => ![5, 6].includes(new Date(ms).getUTCDay()));
/** Minutes of a day that have a bar. */
const MINUTES_OF_DAY = [571, 600, 690, 900];

/** Requests of a symbol in each pipeline, by the caps below. */
const REQUESTS = 4;
/** Known limits of the service. */
export const KNOWN: NonNullable<RunEnvironment["limits"]> = {
  limits: {
    requestsPerMinute: {},
    symbolsPerRequest: { klines: 1 },
    rowCap: { "1d": 17, "1m": 17 * 240 },
  },
  learn: () => {},
};

/** Symbols of which each pipeline has work for so many minutes of the whole quota. */
const WORK_MINUTES = 10;

export function symbolsFor(rpm: number): string[] {
  const count = Math.ceil((WORK_MINUTES * rpm) / REQUESTS);
  return Array.from({ length: count }, (_, n) => `${600_100 + n}.SH`);
}

/** The data of a response: the bars of its window. */
export function barsOf({ query }: Seen): object {
  const [start, end] = [Number(query.get("start_time")), Number(query.get("end_time"))];
  const all =
    query.get("period") === "1d"
      ? DAYS
      : DAYS.flatMap((day) => MINUTES_OF_DAY.map((minute) => day + minute * MINUTE_MS));
  const timestamp = all.filter((ms) => ms >= start && ms <= end);
  const of = (value: number): number[] => timestamp.map(() => value);
  const prices = { open: of(10), high: of(10), low: of(10), close: of(10) };
  const bars = { timestamp, ...prices, volume: of(100), amount: of(1e5) };
  return Object.fromEntries((query.get("symbols") ?? "").split(",").map((symbol) => [symbol, bars]));
}
