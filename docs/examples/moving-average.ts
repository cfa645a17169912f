import { realpathSync } from "node:fs";
import { dataset, Lake } from "barlake";
import { Broker, type Quote } from "./broker.js";
import { type Backtest, type Day, printReport } from "./report.js";

/** Shares of one portfolio at most. */
const PLACES = 8;

/** Holds what has its 10-day average above its 40-day average. What is decided at a close is done at the next open. */
export async function movingAverageCross(lake: Lake, cash = 1_000_000): Promise<Backtest> {
  using data = await dataset(lake, {
    name: "moving-average",
    universe: { region: "CN", types: ["stock"] },
    from: "2024-07-01",
    fields: [
      "open",
      "close",
      "factor",
      { name: "fast", sql: "avg(close) OVER (PARTITION BY symbol ORDER BY trade_date ROWS 9 PRECEDING)" },
      { name: "slow", sql: "avg(close) OVER (PARTITION BY symbol ORDER BY trade_date ROWS 39 PRECEDING)" },
      { name: "top", sql: "daily_status.limit_up_price" },
      { name: "bottom", sql: "daily_status.limit_down_price" },
    ],
    masks: ["tradable", "in_universe"],
    minHistory: 40,
  });
  const broker = new Broker(cash);
  const orders = new Map<string, "buy" | "sell">();
  const closes = new Map<string, number>();
  const days: Day[] = [];
  let value = cash;

  for await (const batch of data.batches()) {
    const { symbols, symbol, labels, fields, masks } = data.rowsOf(batch);
    const at = (name: string, row: number): number => fields[name]?.[row] as number;
    const nameOf = (row: number): string => symbols[symbol[row] as number] as string;

    /** A row's open, as traded. A limit is a price as traded too; where there is none, NaN stops nobody. */
    const openOf = (row: number, date: string): Quote => {
      const price = at("open", row) / at("factor", row);
      const isTraded = masks.tradable?.[row] === 1;
      return {
        date,
        price,
        factor: at("factor", row),
        canBuy: isTraded && !(price > at("top", row) - 0.0005),
        canSell: isTraded && !(price < at("bottom", row) + 0.0005),
      };
    };

    for (const { date, start, end } of labels) {
      // At the open: orders of earlier closes. Sales come first, their cash pays for what is bought.
      for (const side of ["sell", "buy"] as const) {
        for (let row = start; row < end; row++) {
          const name = nameOf(row);
          if (orders.get(name) !== side) continue;
          const isDone =
            side === "sell"
              ? broker.sell(name, Number.POSITIVE_INFINITY, openOf(row, date))
              : broker.symbols.length < PLACES && broker.buy(name, value / PLACES, openOf(row, date));
          if (isDone) orders.delete(name);
        }
      }
      // At the close: what it is all worth, and what to do tomorrow. What did not trade keeps its last close.
      for (let row = start; row < end; row++) {
        const name = nameOf(row);
        if (!Number.isNaN(at("close", row))) closes.set(name, at("close", row));
        const hasPosition = broker.worth(name, 1) > 0;
        const isUp = at("fast", row) > at("slow", row);
        const isDown = at("fast", row) < at("slow", row);
        if (hasPosition && isDown) orders.set(name, "sell");
        else if (!hasPosition && isUp && masks.in_universe?.[row] === 1) orders.set(name, "buy");
        else if (isUp || isDown) orders.delete(name);
      }
      value = broker.symbols.reduce(
        (sum, name) => sum + broker.worth(name, closes.get(name) as number),
        broker.cash,
      );
      days.push({ date, cash: broker.cash, value });
    }
  }
  return { days, fills: broker.fills };
}

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  printReport("Moving averages", await movingAverageCross(new Lake(process.argv[2] ?? "data")));
}
