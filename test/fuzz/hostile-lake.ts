import type { Lake } from "../../src/lake/lake.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../src/schema/reference.js";
import { BALANCE_SHEET } from "../../src/schema/statements.js";
import { type LandedBar, landFinancials, landReference, landRows } from "../serve/served-lake.js";

const DAY = 86_400_000;
const FIRST_DAY = Date.parse("2024-01-01T16:00:00Z");

/** Fills a lake that hostile requests find something in: bars of 40 symbols, so that responses are not all short. */
export async function fillHostileLake(lake: Lake): Promise<void> {
  const symbols = Array.from({ length: 40 }, (_, s) => `${600_000 + s}.SH`);
  await landRows(
    lake,
    BARS_1D,
    bars(symbols, 200, (n) => FIRST_DAY + n * DAY),
  );
  await landRows(
    lake,
    BARS_1M,
    bars(symbols, 200, (n) => FIRST_DAY + 200 * DAY + 9.5 * 3_600_000 + n * 60_000),
  );
  const own = { region: "CN" };
  await landReference(
    lake,
    INSTRUMENTS,
    symbols.map((symbol) => ({ symbol, code: symbol.slice(0, 6), exchange: "SH", type: "stock", ...own })),
  );
  await landReference(lake, UNIVERSES, [{ id: "all", name: "All", category: "x", symbol_count: 40, ...own }]);
  await landReference(lake, UNIVERSE_MEMBERS, [
    ...symbols.map((symbol) => ({ id: "all", symbol, ...own })),
    { id: "__proto__", symbol: "600000.SH", ...own },
  ]);
  await landFinancials(lake, BALANCE_SHEET, [{ symbol: "600000.SH", period_end: "2023-12-31", goodwill: 1 }]);
}

function bars(symbols: readonly string[], count: number, timeOf: (n: number) => number): LandedBar[] {
  return symbols.flatMap((symbol, s) =>
    Array.from({ length: count }, (_, n): LandedBar => {
      const price = 10 + s + (n % 17) / 100;
      return {
        symbol,
        timestamp: timeOf(n),
        open: price,
        high: price,
        low: price,
        close: price,
        volume: n,
        amount: n,
      };
    }),
  );
}
