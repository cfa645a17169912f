import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Table, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { klineBatch } from "../../../src/arrow/kline-ipc.js";
import type { TradingDate } from "../../../src/core/time.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { DOUBLE_COLUMNS, type KlineColumns, OPTIONAL_COLUMNS } from "../../../src/wire/kline-columns.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { anyBars, columnsOf } from "../../wire/any-kline-columns.js";
import { listsOf } from "../column-lists.js";
import { pythonHas, runPython } from "../python.js";

const ready = pythonHas("pyarrow");

const OUR_TYPES = {
  symbol: "dictionary<values=string, indices=int32, ordered=0>",
  timestamp: "timestamp[ms, tz=UTC]",
  ...Object.fromEntries(
    DOUBLE_COLUMNS.map((name) => [name, `double${OPTIONAL_COLUMNS.has(name) ? "?" : ""}`]),
  ),
  volume: "int64",
};

/** What pyarrow finds in files of bars, by name. */
function readByPyarrow(all: Readonly<Record<string, KlineColumns>>): Readonly<Record<string, unknown>> {
  const folder = temporaryFolder();
  for (const [name, columns] of Object.entries(all))
    writeFileSync(join(folder, `${name}.arrow`), tableToIPC(new Table([klineBatch(columns)]), "file"));
  return runPython("arrow/read_arrow.py", folder) as Readonly<Record<string, unknown>>;
}

/** What pyarrow finds where it finds everything; the script's JSON has integers as text. */
function everything(columns: KlineColumns): unknown {
  const { timestamp, volume, ...others } = listsOf(columns);
  return {
    batches: 1,
    types: OUR_TYPES,
    values: { ...others, timestamp: timestamp.map(String), volume: volume.map(String) },
  };
}

describe.skipIf(!ready)("pyarrow reads our files", () => {
  test("of any bars", () => {
    fc.assert(
      fc.property(fc.array(anyBars, { minLength: 20, maxLength: 20 }), (samples) => {
        const all = Object.fromEntries(samples.map((bars, i) => [`bars-${i}`, columnsOf(bars)]));
        const found = readByPyarrow(all);
        for (const [name, columns] of Object.entries(all))
          expect(found[name], name).toEqual(everything(columns));
      }),
      { numRuns: 1, endOnFailure: true },
    );
  });

  test("of a simulated market", () => {
    const [start, end] = ["2026-01-01", "2026-11-20"] as [TradingDate, TradingDate];
    const market = simulateMarket({ seed: 3, symbols: 40, days: 80, end });
    const symbols = market.instruments.map((instrument) => instrument.symbol);
    const simulated = market.dailyBars(symbols, start, end);
    expect(simulated.rows).toBeGreaterThan(1_000);
    expect(readByPyarrow({ simulated }).simulated).toEqual(everything(simulated));
  });
});
