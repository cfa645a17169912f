import { expect, test } from "vitest";
import { BARS_1M } from "../../../src/schema/bars.js";
import type { Klines } from "../reference-klines.js";
import { landedBar, landRows, serveForTest } from "../served-lake.js";

const ZONE_OF: Readonly<Record<string, string>> = { SH: "+08:00", HK: "+08:00", US: "-04:00" };
const instant = (symbol: string, clock: string): number =>
  Date.parse(`2024-03-15T${clock}:00${ZONE_OF[symbol.split(".")[1] as string]}`);

const bars = (symbol: string, clocks: readonly string[]) =>
  clocks.map((clock) => landedBar(symbol, instant(symbol, clock)));

/** A minute's label and, per period, the label of the bar that it goes into; from the exchanges' trading hours. */
const LABELS: readonly (readonly [symbol: string, period: string, minute: string, bar: string])[] = [
  ["600000.SH", "60m", "09:30", "10:30"],
  ["600000.SH", "60m", "09:31", "10:30"],
  ["600000.SH", "60m", "10:30", "10:30"],
  ["600000.SH", "60m", "10:31", "11:30"],
  ["600000.SH", "60m", "11:30", "11:30"],
  ["600000.SH", "60m", "13:01", "14:00"],
  ["600000.SH", "60m", "14:01", "15:00"],
  ["600000.SH", "60m", "15:00", "15:00"],
  ["600000.SH", "5m", "09:30", "09:35"],
  ["600000.SH", "5m", "13:05", "13:05"],
  ["600000.SH", "10m", "11:21", "11:30"],
  ["600000.SH", "15m", "13:16", "13:30"],
  ["600000.SH", "30m", "14:31", "15:00"],
  ["600000.SH", "60m", "15:30", "16:00"],
  ["00700.HK", "60m", "09:30", "10:30"],
  ["00700.HK", "60m", "11:31", "12:00"],
  ["00700.HK", "60m", "12:00", "12:00"],
  ["00700.HK", "60m", "13:01", "14:00"],
  ["00700.HK", "60m", "16:00", "16:00"],
  ["00700.HK", "60m", "16:10", "17:00"],
  ["AAPL.US", "60m", "04:01", "04:30"],
  ["AAPL.US", "60m", "09:30", "09:30"],
  ["AAPL.US", "60m", "09:31", "10:30"],
  ["AAPL.US", "60m", "15:31", "16:00"],
  ["AAPL.US", "60m", "16:01", "16:30"],
  ["AAPL.US", "60m", "19:59", "20:30"],
  ["AAPL.US", "30m", "15:59", "16:00"],
];

test("minute bars are anchored to the sessions, and labelled with their end", async () => {
  for (const symbol of ["600000.SH", "00700.HK", "AAPL.US"]) {
    const own = LABELS.filter((row) => row[0] === symbol);
    const { ask } = await serveForTest((lake) =>
      landRows(lake, BARS_1M, bars(symbol, [...new Set(own.map((row) => row[2]))])),
    );
    for (const period of new Set(own.map((row) => row[1]))) {
      const path = `/v1/klines/batch?symbols=${symbol}&period=${period}`;
      const { body } = await ask<{ data: Readonly<Record<string, Klines>> }>(path);
      const labels = body.data[symbol]?.timestamp ?? [];
      for (const row of own.filter((one) => one[1] === period))
        expect(labels).toContain(instant(symbol, row[3]));
    }
  }
});
