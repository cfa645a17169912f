import { realpathSync } from "node:fs";
import { WebSocket } from "ws";

/** What a chart needs from a service. */
export interface ChartOptions {
  /** Address of the service, such as http://127.0.0.1:8080. */
  readonly url: string;
  readonly key: string;
  readonly symbols: readonly string[];
  /** Takes each drawing: a chart of the day so far for each symbol. */
  readonly show: (text: string) => void;
  readonly signal?: AbortSignal;
}

interface Klines {
  readonly timestamp: readonly number[];
  readonly close: readonly number[];
}

interface Quote {
  readonly symbol: string;
  readonly timestamp: number;
  readonly last_price: number;
  readonly prev_close: number;
}

/** The prices of one symbol on a day, by the end of their minute (epoch milliseconds). */
type Day = Map<number, number>;

const WIDTH = 72;
const HEIGHT = 8;

/**
 * Draws the minutes of the latest day of symbols, and draws them again with each quote that the service pushes.
 *
 * @returns when the connection is over.
 * @throws {Error} where the service refuses.
 */
export async function watch({ url, key, symbols, show, signal }: ChartOptions): Promise<void> {
  const headers = { "x-api-key": key };
  const response = await fetch(`${url}/v1/klines/intraday/batch?symbols=${symbols.join()}`, { headers });
  if (!response.ok) throw new Error(await response.text());
  const { data } = (await response.json()) as { data: Readonly<Record<string, Klines>> };
  const days = new Map(
    symbols.map((symbol): [string, Day] => {
      const { timestamp = [], close = [] } = data[symbol] ?? {};
      return [symbol, new Map(timestamp.map((at, k) => [at, close[k] as number]))];
    }),
  );
  const quotes = new Map<string, Quote>();
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/v1/ws/stream`, { headers });
  signal?.addEventListener("abort", () => socket.close(), { once: true });
  await new Promise<void>((resolve, reject) => {
    socket.on("open", () => socket.send(JSON.stringify({ op: "subscribe", channel: "quotes", symbols })));
    socket.on("message", (message: Buffer) => {
      const { op, data: changed = [], message: fault } = JSON.parse(message.toString());
      if (op === "error") return reject(new Error(fault));
      if (op !== "quotes") return;
      for (const quote of changed as readonly Quote[]) {
        quotes.set(quote.symbol, quote);
        const day = days.get(quote.symbol) as Day;
        const [first] = day.keys();
        // The first minute of the next day begins a new chart.
        if (first !== undefined && quote.timestamp - first > 12 * 3_600_000) day.clear();
        day.set(quote.timestamp, quote.last_price);
      }
      show(symbols.map((symbol) => drawing(symbol, days.get(symbol) as Day, quotes.get(symbol))).join("\n"));
    });
    socket.on("error", reject);
    socket.on("close", () => resolve());
  });
}

/** One symbol: its last price and change, and the chart of its day. */
function drawing(symbol: string, day: Day, quote: Quote | undefined): string {
  if (quote === undefined) return `${symbol}  no bar so far\n`;
  const { last_price, prev_close, timestamp } = quote;
  const change = prev_close > 0 ? `${(100 * (last_price / prev_close - 1)).toFixed(2)} %` : "";
  const time = new Date(timestamp).toISOString().slice(0, 16).replace("T", " ");
  return `${symbol}  ${last_price}  ${change}  ${time} UTC\n${chart([...day.values()])}\n`;
}

const BLOCKS = " ▁▂▃▄▅▆▇█";

/** Draws values as columns, each the last value of its part, with the greatest and the least value next to them. */
export function chart(values: readonly number[], width = WIDTH, height = HEIGHT): string {
  const columns = Math.min(width, values.length);
  const shown = Array.from(
    { length: columns },
    (_, k) => values[Math.ceil(((k + 1) * values.length) / columns) - 1] as number,
  );
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const eighths = shown.map(
    (value) => 1 + Math.round(((value - least) / (most - least || 1)) * (8 * height - 1)),
  );
  return Array.from({ length: height }, (_, row) => {
    const below = 8 * (height - 1 - row);
    const cells = eighths.map((full) => BLOCKS[Math.max(0, Math.min(8, full - below))]).join("");
    const label = row === 0 ? most : row === height - 1 ? least : "";
    return `${cells.padEnd(columns)}  ${label}`.trimEnd();
  }).join("\n");
}

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const [, , url = "", key = "", ...symbols] = process.argv;
  await watch({ url, key, symbols, show: (text) => process.stdout.write(`\u001b[2J\u001b[H${text}`) });
}
