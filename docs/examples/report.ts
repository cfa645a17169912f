import type { Fill } from "./broker.js";

/** What a portfolio was worth at the end of each date. */
export interface Day {
  readonly date: string;
  readonly cash: number;
  readonly value: number;
}

/** What a backtest came to. */
export interface Backtest {
  readonly days: readonly Day[];
  readonly fills: readonly Fill[];
}

/** Prints the figures of a backtest, its last fills and the curve of its value. */
export function printReport(title: string, { days, fills }: Backtest): void {
  const values = days.map(({ value }) => value);
  const [first = 1, last = 1] = [values[0], values.at(-1)];
  const returns = values.slice(1).map((value, i) => value / (values[i] as number) - 1);
  const mean = returns.reduce((sum, r) => sum + r, 0) / returns.length;
  const deviation = Math.sqrt(returns.reduce((sum, r) => sum + (r - mean) ** 2, 0) / (returns.length - 1));
  let [high, drawdown] = [0, 0];
  for (const value of values) {
    high = Math.max(high, value);
    drawdown = Math.max(drawdown, 1 - value / high);
  }
  const costs = fills.reduce((sum, { commission, stampDuty }) => sum + commission + stampDuty, 0);
  const percent = (ratio: number): string => `${(ratio * 100).toFixed(1)} %`;
  console.log(`${title}, ${days[0]?.date} to ${days.at(-1)?.date}\n`);
  printColumns([
    ["end value", last.toFixed(0)],
    ["return", percent(last / first - 1)],
    ["return a year", percent((last / first) ** (242 / returns.length) - 1)],
    ["Sharpe ratio", ((mean / deviation) * Math.sqrt(242)).toFixed(2)],
    ["deepest fall", percent(drawdown)],
    ["fills", String(fills.length)],
    ["costs", costs.toFixed(0)],
  ]);
  printColumns([
    ["date", "symbol", "shares", "price", "costs"],
    ...fills
      .slice(-5)
      .map(({ date, symbol, shares, price, commission, stampDuty }) => [
        date,
        symbol,
        shares.toFixed(2),
        price.toFixed(3),
        (commission + stampDuty).toFixed(2),
      ]),
  ]);
  console.log(curve(values));
}

function printColumns(rows: readonly (readonly string[])[]): void {
  const text = rows.map((cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(14) : cell.padStart(12))));
  console.log(`${text.map((cells) => cells.join("")).join("\n")}\n`);
}

/** The area below values, as so many columns and rows of characters. */
function curve(values: readonly number[], width = 72, height = 8): string {
  const shown = Array.from({ length: width }, (_, x) =>
    Number(values[Math.round((x / (width - 1)) * (values.length - 1))]),
  );
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const rows = Array.from({ length: height }, (_, y) => {
    const below = (height - 1 - y) * 8;
    const blocks = shown.map((value) => {
      const eighths = Math.round(((value - low) / (high - low || 1)) * height * 8);
      return " ▁▂▃▄▅▆▇█"[Math.max(0, Math.min(8, eighths - below))];
    });
    const label = y === 0 ? high : y === height - 1 ? low : undefined;
    return `${(label?.toFixed(0) ?? "").padStart(9)} ${blocks.join("").trimEnd()}`;
  });
  return rows.join("\n");
}
