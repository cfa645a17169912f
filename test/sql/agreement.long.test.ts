import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import type { Session } from "../../src/db/session/session.js";
import { runImport } from "../../src/jobs/import/run-import.js";
import { openReader } from "../../src/lake/open-reader.js";
import { ADJUSTMENTS, PERIODS } from "../../src/market/period.js";
import { newLake, type Served, serve } from "../serve/served-lake.js";
import { cases, pickCases, pickFrom } from "../sweep.js";
import { expectAgreement } from "./agreement.js";

/** Real market data: see its SOURCES.md for where it is from and which defects it has. */
const DATA = resolve(process.env.BARLAKE_REALDATA ?? "../shared/realdata");
const isPresent = existsSync(join(DATA, "MANIFEST.csv"));
if (!isPresent) console.warn(`skipped: no real data at ${DATA}; set BARLAKE_REALDATA to its folder`);

/** Symbols that are compared, of each region in turn: more would take long. */
const MOST_SYMBOLS = cases({ few: 4, more: 4, all: 8 });
/** As many are imported of each. */
const EXCHANGES = ["SH", "SZ", "HK", "US"];

describe.skipIf(!isPresent)("service, view and dataset give the same bars of real data", () => {
  const { lake, remove } = newLake();
  let served: Served;
  let reader: Session;
  const symbols: Record<"1d" | "1m", string[]> = { "1d": [], "1m": [] };

  beforeAll(async () => {
    const options = { map: {}, volumeUnit: "shares" } as const;
    for (const [table, folder] of [
      ["bars_1d", "bars_1d"],
      ["bars_1m", "bars_1m"],
    ] as const) {
      for (const isUs of [false, true]) {
        const files = EXCHANGES.filter((exchange) => (exchange === "US") === isUs).flatMap((exchange) =>
          readdirSync(join(DATA, folder))
            .filter((file) => file.includes(`.${exchange}.csv`))
            .sort()
            .slice(0, MOST_SYMBOLS)
            .map((file) => join(DATA, folder, file)),
        );
        const runId = `${table} ${isUs}`;
        const barLabel = isUs ? "start" : "end";
        if (files.length > 0)
          await runImport(lake, table, files, { ...options, barLabel, runId }, systemClock);
      }
    }
    served = await serve(lake);
    reader = (await openReader(lake, { threads: 2 })).session;
    for (const period of ["1d", "1m"] as const) {
      const rows = await reader.json<{ symbol: string }>(
        `SELECT symbol FROM raw.bars_${period} GROUP BY symbol HAVING count(*) <= 10000
         ORDER BY row_number() OVER (PARTITION BY any_value(region) ORDER BY symbol) LIMIT ${MOST_SYMBOLS}`,
      );
      symbols[period] = rows.map(({ symbol }) => symbol);
    }
  });
  afterAll(async () => {
    reader.close();
    await served.service.close();
    remove();
  });

  // A period whose turn it is, with an adjustment: each commit begins with others.
  const [first = 0] = pickCases(ADJUSTMENTS.length, 1);
  const kinds = PERIODS.map((period, n) => ({
    period,
    adjustments: ADJUSTMENTS.map((_, k) => ADJUSTMENTS[(first + n + k) % ADJUSTMENTS.length]).flatMap(
      (adjustment) => adjustment ?? [],
    ),
  }));
  test.each(pickFrom(kinds, cases({ few: 5, more: 5, all: kinds.length })))(
    "$period, adjusted",
    async ({ period, adjustments }) => {
      const own = symbols[period.endsWith("m") ? "1m" : "1d"];
      expect(new Set(own.map((symbol) => symbol.split(".")[1])).size).toBeGreaterThan(1);
      for (const adjustment of adjustments.slice(0, cases({ few: 1, more: 1, all: ADJUSTMENTS.length }))) {
        const { view, dataset } = await expectAgreement({ served, reader }, own, period, adjustment);
        expect(view).toBeGreaterThan(own.length);
        expect(dataset).toBeGreaterThan(own.length);
      }
    },
  );
});
