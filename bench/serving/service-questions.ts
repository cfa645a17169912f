import { UNIVERSE } from "../lakes/market-lake.js";
import type { LoadRequest } from "./load-connection.js";

/** Requests of one kind, and how many clients send them. */
export interface Question {
  readonly name: string;
  readonly connections: number;
  /** Whether most of what is asked for is not cached, so that segments are read. */
  readonly readsSegments?: true;
  readonly requestOf: (number: number, symbols: readonly string[]) => LoadRequest;
}

const batch = (number: number, symbols: readonly string[]): LoadRequest => ({
  method: "GET",
  path: `/v1/klines/batch?symbols=${some(number, symbols, 100).join(",")}&count=100&adjust=none`,
});

export const QUESTIONS: readonly Question[] = [
  { name: "100 symbols x 100 days, 8 clients", connections: 8, requestOf: batch },
  { name: "100 symbols x 100 days, 32 clients", connections: 32, requestOf: batch },
  {
    name: "100 symbols x 100 days of the past, never asked for before, 8 clients",
    connections: 8,
    readsSegments: true,
    requestOf: (number, symbols) => {
      const end = Date.UTC(2024, 5) - number * 3_600_000;
      const window = `start_time=${end - 150 * 86_400_000}&end_time=${end}`;
      return { method: "GET", path: `${batch(number, symbols).path}&${window}` };
    },
  },
  {
    name: "1 symbol x 5,520 minutes, 8 clients",
    connections: 8,
    readsSegments: true,
    requestOf: (number, symbols) => ({
      method: "GET",
      path: `/v1/klines/batch?symbols=${some(number, symbols, 1).join(",")}&period=1m&count=10000&adjust=none`,
    }),
  },
  {
    name: "intraday of a universe, 8 clients",
    connections: 8,
    requestOf: () => ({ method: "GET", path: `/v1/klines/intraday/universe?universes=${UNIVERSE}` }),
  },
  {
    name: "quotes of a universe, 8 clients",
    connections: 8,
    requestOf: () => ({
      method: "POST",
      path: "/v1/quotes",
      body: JSON.stringify({ universes: [UNIVERSE] }),
    }),
  },
];

/** Symbols of a request: different in each request, the same in every run. */
function some(number: number, symbols: readonly string[], count: number): string[] {
  const start = (number * 7919) % symbols.length;
  const chosen = Array.from(
    { length: count },
    (_, k) => symbols[(start + k * 37) % symbols.length] as string,
  );
  return [...new Set(chosen)];
}
