import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { marketLake } from "../../dataset/market-lake.js";
import { interpreterHas, runScript, ZIPLINE_PYTHON } from "../python.js";
import { isDrawn } from "./drawn-engines.js";

const FROM = "2025-06-02";
/** One that is suspended, lacks days, ends, begins, splits; and a fund. */
const SYMBOLS = ["000469.SZ", "300740.SZ", "510459.SH", "600217.SH", "600339.SH", "600725.SH"];
const LIST = SYMBOLS.map((symbol) => `'${symbol}'`).join();

interface Bundle {
  readonly sessions: readonly string[];
  readonly spans: Readonly<Record<string, readonly [string, string]>>;
  /** Open, high, low, close, volume of each session. */
  readonly prices: Readonly<Record<string, readonly (readonly (number | null)[])[]>>;
  readonly splits: readonly (readonly [symbol: string, date: string, ratio: number])[];
}

const nameOf = (symbol: string): string => symbol.replace(".", "_");

describe("a csvdir dataset", () => {
  const its = marketLake();
  let folder: string;
  let sessions: string[];
  beforeAll(async () => {
    folder = await its.build({
      name: "csvdir",
      format: "zipline-csvdir",
      universe: SYMBOLS,
      from: FROM,
      adjustment: "none",
    });
    const days = await its.session.json<{ day: string }>(
      `SELECT trade_date::VARCHAR AS day FROM raw.trading_days WHERE region = 'CN' AND trade_date >= DATE '${FROM}' ORDER BY day`,
    );
    sessions = days.map(({ day }) => day);
  });

  test("has zipline's columns, every session from the first bar to the last, and whole volumes of 32 bits", () => {
    let suspended = 0;
    for (const symbol of SYMBOLS) {
      const text = readFileSync(join(folder, "daily", `${nameOf(symbol)}.csv`), "utf8");
      const [header, ...lines] = text.trimEnd().split("\n");
      expect(header).toBe("date,open,high,low,close,volume,dividend,split");
      const rows = lines.map((line) => line.split(","));
      const dates = rows.map(([date]) => date as string);
      const first = sessions.indexOf(dates[0] as string);
      expect(dates).toEqual(sessions.slice(first, first + dates.length));
      for (const [, , , , close, volume, dividend, split] of rows) {
        expect(volume).toMatch(/^\d+$/);
        expect(Number(volume)).toBeLessThanOrEqual(0xffffffff);
        expect(dividend).toBe("0");
        expect(Number(split)).toBeGreaterThan(0);
        expect(Number(volume) === 0).toBe(Number(close) === 0);
        suspended += Number(volume === "0");
      }
    }
    expect(suspended).toBeGreaterThan(10);
  });

  test.runIf(isDrawn("zipline") && interpreterHas(ZIPLINE_PYTHON, "zipline"))(
    "is ingested by zipline: bars, spans and splits as SQL has them",
    async () => {
      const found = runScript(
        ZIPLINE_PYTHON,
        "datasets/ingest_csvdir.py",
        folder,
        JSON.stringify(sessions),
      ) as Bundle;
      expect(found.sessions).toEqual(sessions);
      const spans = await its.session.json<{ symbol: string; first: string; last: string }>(
        `SELECT symbol, min(trade_date)::VARCHAR AS first, max(trade_date)::VARCHAR AS last FROM bars_1d
       WHERE symbol IN (${LIST}) AND trade_date >= DATE '${FROM}' AND shares > 0 GROUP BY symbol`,
      );
      expect(found.spans).toEqual(
        Object.fromEntries(spans.map(({ symbol, first, last }) => [nameOf(symbol), [first, last]])),
      );
      const bars = await its.session.json<{ symbol: string; day: string; values: number[] }>(
        `SELECT symbol, trade_date::VARCHAR AS day, [open, high, low, close, shares] AS values FROM bars_1d
       WHERE symbol IN (${LIST}) AND trade_date >= DATE '${FROM}' AND shares > 0`,
      );
      const traded = new Map(bars.map(({ symbol, day, values }) => [`${nameOf(symbol)} ${day}`, values]));
      for (const [symbol, prices] of Object.entries(found.prices)) {
        for (const [i, day] of sessions.entries()) {
          const expected = traded.get(`${symbol} ${day}`) ?? [null, null, null, null, 0];
          // zipline counts prices in thousandths.
          const rounded = prices[i]?.map((value) =>
            value === null ? null : Math.round(value * 1000) / 1000,
          );
          expect(rounded, `${symbol} ${day}`).toEqual(expected);
        }
      }
      const events = await its.session.json<{ symbol: string; day: string; factor: number }>(
        `SELECT symbol, ex_date::VARCHAR AS day, factor FROM ex_events
       JOIN (SELECT symbol, min(trade_date) AS first, max(trade_date) AS last FROM bars_1d
         WHERE trade_date >= DATE '${FROM}' AND shares > 0 GROUP BY symbol) AS spans USING (symbol)
       WHERE symbol IN (${LIST}) AND ex_date BETWEEN first AND last ORDER BY symbol, day`,
      );
      expect(events.length).toBeGreaterThan(4);
      expect(found.splits).toEqual(
        events.map(({ symbol, day, factor }) => [nameOf(symbol), day, 1 / factor]),
      );
    },
  );
});
