import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
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

  test("a universe of monthly lists has the members of each, and bars of those that the lake has", async () => {
    const { lake: place, remove: removePlace } = newLake();
    onTestFinished(removePlace);
    const lists = JSON.parse(readFileSync(join(DATA, "universes.json"), "utf8")) as {
      id: string;
      as_of: string;
      symbols: string[];
    }[];
    const months = lists
      .filter(({ id }) => id.startsWith("csi500_"))
      .map(({ as_of, symbols }) => ({ day: as_of.replace(/^(....)(..)(..)$/, "$1-$2-$3"), symbols }));
    const files = readdirSync(join(DATA, "bars_1d_adj2024")).map((file) =>
      join(DATA, "bars_1d_adj2024", file),
    );
    const options = { map: {}, volumeUnit: "shares", barLabel: "end", runId: "import" } as const;
    await runImport(new Lake(place.location), "bars_1d", files, options, systemClock);
    const rows = months.flatMap(({ day, symbols }, i) =>
      symbols.map((symbol) => `CSI500,${symbol},${day},${months[i + 1]?.day ?? ""}`),
    );
    const csv = join(place.location, "..", `members-${process.pid}.csv`);
    onTestFinished(() => rmSync(csv, { force: true }));
    writeFileSync(csv, ["id,symbol,from_date,to_date", ...rows].join("\n"));
    const report = await runImport(
      new Lake(place.location),
      "universes",
      [csv],
      { map: {}, runId: "members" },
      systemClock,
    );
    expect(report.rejected).toEqual([]);
    using reference = await Session.open();
    const bars = await reference.json<{ symbol: string; day: string }>(
      `SELECT regexp_extract(filename, '([^/]+)\\.csv', 1) AS symbol,
         CAST(make_timestamp(timestamp_ms * 1000 + 28800000000)::DATE AS VARCHAR) AS day
       FROM read_csv('${DATA}/bars_1d_adj2024/*.csv*', filename = true)`,
    );
    const has = new Set(bars.map(({ symbol, day }) => `${symbol} ${day}`));
    using data = await dataset(new Lake(place.location), {
      name: "real",
      universe: "CSI500",
      from: "2024-06-03",
      fields: ["close"],
    });
    const { coverage } = data;
    expect(coverage?.recordedFrom).toBe(months[0]?.day);
    expect(coverage?.unrecorded).toBe(data.dates.filter((date) => date < "2024-06-28").length);
    const expected = data.dates
      .filter((date) => date >= "2024-06-28")
      .map((date) => {
        const { symbols = [] } = months.findLast(({ day }) => day <= date) ?? {};
        return [date, symbols.length, symbols.filter((symbol) => has.has(`${symbol} ${date}`)).length];
      });
    expect(expected.filter(([, , withBars]) => withBars === 1).length).toBeGreaterThan(100);
    const actual = coverage?.ranges.flatMap(({ first, last, members, withBars }) =>
      data.dates.filter((date) => date >= first && date <= last).map((date) => [date, members, withBars]),
    );
    expect(actual).toEqual(expected);
    const everyone = new Set(
      months.filter(({ day }) => day <= (data.dates.at(-1) ?? "")).flatMap((one) => one.symbols),
    );
    expect(coverage?.noBars.length).toBe(
      [...everyone].filter((symbol) => !bars.some((one) => one.symbol === symbol)).length,
    );
  });
});
