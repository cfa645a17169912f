import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import { dataset } from "../../src/dataset/dataset.js";
import { Session } from "../../src/db/session/session.js";
import { runImport } from "../../src/jobs/import/run-import.js";
import { Lake } from "../../src/lake/lake.js";
import { newLake } from "../serve/served-lake.js";

/** Real market data: see its SOURCES.md for where it is from and which defects it has. */
const DATA = resolve(process.env.BARLAKE_REALDATA ?? "../shared/realdata");
const isPresent = existsSync(join(DATA, "MANIFEST.csv"));
if (!isPresent) console.warn(`skipped: no real data at ${DATA}; set BARLAKE_REALDATA to its folder`);

/** Relative difference up to which daily growth is taken to be equal: the sources' factors have four decimals. */
const CLOSE = 4e-4;

describe.skipIf(!isPresent)("adjusted closes of real data", () => {
  const { lake, remove } = newLake();

  beforeAll(async () => {
    const files = ["bars_1d_adj2024"].flatMap((folder) =>
      readdirSync(join(DATA, folder)).map((file) => join(DATA, folder, file)),
    );
    const options = { map: {}, volumeUnit: "shares", barLabel: "end", runId: "import" } as const;
    await runImport(new Lake(lake.location), "bars_1d", files, options, systemClock);
    return remove;
  });

  test("grow day by day as the vendor's do, through 42 ex-dates", async () => {
    using reference = await Session.open();
    const rows = await reference.json<{ symbol: string; day: string; close_hfq: number }>(
      `SELECT regexp_extract(filename, '([^/]+)\\.csv', 1) AS symbol, close_hfq,
         CAST(make_timestamp(timestamp_ms * 1000 + 28800000000)::DATE AS VARCHAR) AS day
       FROM read_csv('${DATA}/bars_1d_adj2024/*.csv*', filename = true) WHERE volume > 0 ORDER BY symbol, timestamp_ms`,
    );
    const bySymbol = new Map<string, Map<string, number>>();
    for (const { symbol, day, close_hfq } of rows) {
      const own = bySymbol.get(symbol) ?? new Map<string, number>();
      bySymbol.set(symbol, own.set(day, close_hfq));
    }
    using data = await dataset(lake, {
      name: "real",
      universe: { region: "CN" },
      from: "2024-01-01",
      fields: ["close", "factor"],
    });
    const { symbols, dates, fields } = await data.columns();
    const { close, factor } = fields as { close: Float64Array; factor: Float64Array };
    expect(symbols.length).toBe(bySymbol.size);
    let [compared, steps] = [0, 0];
    for (const [s, symbol] of symbols.entries()) {
      let last: { ours: number; theirs: number; factor: number } | undefined;
      for (const [label, date] of dates.entries()) {
        const ours = close[s * dates.length + label] as number;
        const theirs = bySymbol.get(symbol)?.get(date);
        expect(Number.isNaN(ours), `${symbol} ${date}`).toBe(theirs === undefined);
        if (theirs === undefined) continue;
        const now = { ours, theirs, factor: factor[s * dates.length + label] as number };
        if (last !== undefined) {
          expect(
            Math.abs(now.ours / last.ours / (theirs / last.theirs) - 1),
            `${symbol} ${date}`,
          ).toBeLessThan(CLOSE);
          if (now.factor !== last.factor) steps++;
          compared++;
        }
        last = now;
      }
    }
    expect(compared).toBeGreaterThan(5000);
    expect(steps).toBeGreaterThan(15);
  });
});
