import type { Lake } from "../../../src/lake/lake.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { type LandedBar, landRows } from "../served-lake.js";

export const at = (text: string): number => Date.parse(`${text}+08:00`);

/** Minute bars of a symbol: `09:31` has a price of its own; a time with `-` has no trade. */
export function minutesOf(symbol: string, date: string, times: readonly string[], lot?: number): LandedBar[] {
  return times.map((text, k) => {
    const isQuiet = text.endsWith("-");
    const close = 10 + ((k * 7) % 5) + Number(date.slice(-2)) / 100;
    return {
      symbol,
      timestamp: at(`${date}T${text.slice(0, 5)}`),
      open: isQuiet ? 0 : close - 0.25,
      high: isQuiet ? 0 : close + 0.5,
      low: isQuiet ? 0 : close - 0.5,
      close,
      volume: isQuiet ? 0 : 149 + k,
      amount: isQuiet ? 0 : 1000.1 + k,
      prev_close: k === 0 && symbol === "600001.SH" ? 9.5 : null,
      ...(lot === undefined ? {} : { lot }),
    };
  });
}

const daily = (symbol: string, date: string, close: number, prev_close: number | null = null): LandedBar => ({
  symbol,
  timestamp: at(`${date}T00:00`),
  open: close,
  high: close,
  low: close,
  close,
  volume: 5,
  amount: 50,
  prev_close,
});

const MORNING = ["09:31", "09:32-", "10:00", "11:30"];
const AFTERNOON = ["13:01", "13:02", "14:59-", "15:00"];
export const ALL_DAY = [...MORNING, ...AFTERNOON];
const DATES = ["2026-10-29", "2026-10-30", "2026-11-02"];
/** Of all regions; the last two have no bars. */
export const SYMBOLS =
  "600000.SH 600001.SH 600002.SH 600003.SH 600004.SH 600005.SH 00001.HK AAPL.US 600009.SH nothing".split(" ");

/** Fills a lake with bars of three days. */
export async function fillDays(lake: Lake): Promise<void> {
  await landRows(lake, BARS_1M, [
    ...DATES.flatMap((date) => minutesOf("600000.SH", date, ALL_DAY)),
    // In shares and not in lots; with the previous close in its first minute.
    ...DATES.flatMap((date) => minutesOf("600001.SH", date, ALL_DAY, 1)),
    // Begins in the afternoon; has no landed daily bar.
    ...DATES.flatMap((date) => minutesOf("600002.SH", date, AFTERNOON)),
    // Has no minutes on the second day, and none of the last.
    ...minutesOf("600003.SH", "2026-10-29", ALL_DAY),
    // Trades until the evening, when the day is final.
    ...minutesOf("600005.SH", "2026-10-30", [...ALL_DAY, "18:00"]),
    ...DATES.flatMap((date) => minutesOf("00001.HK", date, [...ALL_DAY, "16:00"])),
    ...minutesOf("AAPL.US", "2026-10-29", ["21:31", "23:00"]),
    ...minutesOf("AAPL.US", "2026-10-30", ["03:00", "04:00"]),
  ]);
  const landed = ["600000.SH", "600001.SH", "600003.SH", "600004.SH", "600005.SH", "00001.HK"];
  await landRows(
    lake,
    BARS_1D,
    ["2026-10-28", ...DATES].flatMap((date, day) =>
      landed.map((symbol, k) => daily(symbol, date, 10 + k + day, day === 2 ? 8 + k : null)),
    ),
  );
}
