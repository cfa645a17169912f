import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { defineDataset } from "../../../src/dataset/spec.js";
import { EVENTFUL, engineLake, SESSIONS } from "../../dataset/formats/engine-lake.js";
import { marketLake } from "../../dataset/market-lake.js";
import { queryLake, temporaryFolder } from "../../lake/temporary-lake.js";
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
       WHERE symbol IN (${LIST}) AND ex_date > first AND ex_date <= last ORDER BY symbol, day`,
      );
      expect(events.length).toBeGreaterThan(4);
      expect(found.splits).toEqual(
        events.map(({ symbol, day, factor }) => [nameOf(symbol), day, 1 / factor]),
      );
    },
  );
});

/** What a position of 1000 shares of `AAA_US` comes to in zipline, and the closes that it then has. */
interface Position {
  readonly splits: readonly (readonly [sid: number, date: string, ratio: number])[];
  readonly payouts: readonly (readonly [sid: number, exDate: string, payDate: string, amount: number])[];
  readonly value: number;
  readonly history: readonly number[];
}

test.runIf(isDrawn("zipline") && interpreterHas(ZIPLINE_PYTHON, "zipline"))(
  "splits and dividends, by zipline's own writer, are worth what they are by hand",
  async () => {
    const lake = await engineLake(EVENTFUL);
    const output = join(temporaryFolder(), "out");
    await buildDataset(
      lake,
      defineDataset({
        name: "acts",
        universe: EVENTFUL.map(({ symbol }) => symbol),
        from: SESSIONS[0] as string,
        adjustment: "none",
        format: "zipline-csvdir",
        output,
      }),
    );
    const found = runScript(ZIPLINE_PYTHON, "datasets/ingest_actions.py", output, "AAA_US") as Position;
    const rowsOf = (name: string): string[][] =>
      readFileSync(join(output, `adjustments/${name}.csv`), "utf8")
        .trimEnd()
        .split("\n")
        .slice(1)
        .map((row) => row.split(","));
    expect(found.splits).toEqual(
      rowsOf("splits").map(([sid, , date, ratio]) => [Number(sid), date, expect.closeTo(Number(ratio), 12)]),
    );
    expect(found.payouts).toEqual(
      rowsOf("dividends").map(([sid, , ex, , , pays, cash]) => [Number(sid), ex, pays, Number(cash)]),
    );
    const closes = await queryLake<{ traded: number; adjusted: number }>(
      lake,
      `SELECT b.close AS traded, a.close AS adjusted FROM bars_1d AS b JOIN adjusted('1d', 'forward') AS a USING (symbol, trade_date)
       WHERE symbol = 'AAA.US' ORDER BY trade_date`,
    );
    // Prices are in thousandths, of which zipline adjusts those before a split of 1 for 10.
    expect(found.history).toHaveLength(closes.length);
    for (const [at, { adjusted }] of closes.entries())
      expect(Math.abs((found.history[at] as number) - adjusted), SESSIONS[at]).toBeLessThan(0.01);
    // Bought at the second close. 0.5 for each; 4 for 1; 0.3 for each of those, and 2 for 1; 1 for 10.
    const price = (at: number): number => Math.round((closes.at(at)?.traded as number) * 1000) / 1000;
    const dividends = 1000 * 0.5 + 4000 * 0.3;
    expect(found.value).toBeCloseTo(1e6 - 1000 * price(1) + dividends + 800 * price(-1), 2);
  },
);
