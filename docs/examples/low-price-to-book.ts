import { realpathSync } from "node:fs";
import { dataset, Lake } from "barlake";
import { Broker, type Quote } from "./broker.js";
import { type Backtest, type Day, printReport } from "./report.js";

/**
 * Holds the fifth of an index's members that is cheapest by book value, in equal parts. It is chosen at a month's last close
 * and traded at the next close.
 */
export async function lowPriceToBook(lake: Lake, cash = 10_000_000): Promise<Backtest> {
  using data = await dataset(lake, {
    name: "low-price-to-book",
    universe: "SIM_CN_300",
    from: "2024-07-01",
    fields: ["close", "factor", { name: "pb", sql: "daily_valuation.price_to_book" }],
    minHistory: 60,
  });
  const { symbols, dates, fields, masks } = await data.columns();
  const { close, factor, pb } = fields as Record<"close" | "factor" | "pb", Float64Array>;
  const isMarked = (mask: string, cell: number): boolean => masks[mask]?.[cell] === 1;
  /** A symbol's cells are one stretch, a date after the other. */
  const cellOf = (symbol: number, date: number): number => symbol * dates.length + date;

  const broker = new Broker(cash);
  const days: Day[] = [];
  /** The last close of each symbol: what is suspended, or delisted, is worth it still. */
  const last = new Float64Array(symbols.length);
  let chosen: Set<number> | undefined;

  for (const [d, date] of dates.entries()) {
    for (let s = 0; s < symbols.length; s++) last[s] = close[cellOf(s, d)] || (last[s] as number);
    const worthOf = (s: number): number => broker.worth(symbols[s] as string, last[s] as number);
    const positions = (): number[] => symbols.flatMap((name, s) => (broker.worth(name, 1) > 0 ? [s] : []));
    const valueNow = (): number => positions().reduce((sum, s) => sum + worthOf(s), broker.cash);
    /** A symbol's close, as traded. */
    const quoteOf = (s: number): Quote => {
      const cell = cellOf(s, d);
      return {
        date,
        price: (close[cell] as number) / (factor[cell] as number),
        factor: factor[cell] as number,
        canBuy: isMarked("tradable", cell) && !isMarked("limit_up", cell),
        canSell: isMarked("tradable", cell) && !isMarked("limit_down", cell),
      };
    };

    if (chosen !== undefined && dates[d - 1]?.slice(0, 7) !== date.slice(0, 7)) {
      const part = valueNow() / chosen.size;
      for (const s of positions()) {
        if (!chosen.has(s)) broker.sell(symbols[s] as string, Number.POSITIVE_INFINITY, quoteOf(s));
        else if (worthOf(s) > part) broker.sell(symbols[s] as string, worthOf(s) - part, quoteOf(s));
      }
      for (const s of chosen) {
        if (worthOf(s) < part) broker.buy(symbols[s] as string, part - worthOf(s), quoteOf(s));
      }
    }
    if (dates[d + 1]?.slice(0, 7) !== date.slice(0, 7)) {
      const ranked = symbols
        .map((_, s) => s)
        .filter((s) => isMarked("in_universe", cellOf(s, d)) && isMarked("tradable", cellOf(s, d)))
        .filter((s) => (pb[cellOf(s, d)] as number) > 0)
        .sort((a, b) => (pb[cellOf(a, d)] as number) - (pb[cellOf(b, d)] as number));
      chosen = new Set(ranked.slice(0, Math.max(1, Math.floor(ranked.length / 5))));
    }
    days.push({ date, cash: broker.cash, value: valueNow() });
  }
  return { days, fills: broker.fills };
}

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  printReport("Low price to book", await lowPriceToBook(new Lake(process.argv[2] ?? "data")));
}
