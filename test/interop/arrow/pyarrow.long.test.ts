import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { klinesFromIpc, klinesToIpc } from "../../../src/arrow/kline-ipc.js";
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

/** What the script writes of any file, in another layout. */
const LAYOUTS = [
  "same",
  "batches",
  "stream",
  "reversed",
  "sliced",
  "string",
  "large_string",
  "string_view",
  "int8",
  "int16",
  "uint32",
  "us",
  "ns",
  "replacements",
  "deltas",
];

type AllColumns = Readonly<Record<string, KlineColumns>>;

interface Exchange {
  /** What pyarrow found in our files, by name. */
  readonly found: Readonly<Record<string, unknown>>;
  /** Reads what pyarrow wrote of a file in another layout. */
  readonly read: (name: string, layout: string) => KlineColumns;
}

function exchange(all: AllColumns): Exchange {
  const folder = temporaryFolder();
  const [ours, theirs] = [join(folder, "ours"), join(folder, "theirs")];
  for (const name of [ours, theirs]) mkdirSync(name);
  for (const [name, columns] of Object.entries(all)) {
    writeFileSync(join(ours, `${name}.arrow`), klinesToIpc(columns));
  }
  return {
    found: runPython("arrow/read_arrow.py", ours, theirs) as Exchange["found"],
    read: (name, layout) => klinesFromIpc(readFileSync(join(theirs, name, `${layout}.arrow`))),
  };
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

describe.skipIf(!ready)("pyarrow and we", () => {
  test("read each other's files of any bars", () => {
    fc.assert(
      fc.property(fc.array(anyBars, { minLength: 20, maxLength: 20 }), (samples) => {
        const all = Object.fromEntries(samples.map((bars, i) => [`bars-${i}`, columnsOf(bars)]));
        const { found, read } = exchange(all);
        for (const [name, columns] of Object.entries(all)) {
          expect(found[name], name).toEqual(everything(columns));
          for (const layout of LAYOUTS) {
            expect(listsOf(read(name, layout)), `${name}, ${layout}`).toEqual(listsOf(columns));
          }
        }
      }),
      { numRuns: 1, endOnFailure: true },
    );
  });

  test("read each other's files of a simulated market", () => {
    const [start, end] = ["2026-01-01", "2026-11-20"] as [TradingDate, TradingDate];
    const market = simulateMarket({ seed: 3, symbols: 40, days: 80, end });
    const symbols = market.instruments.map((instrument) => instrument.symbol);
    const simulated = market.dailyBars(symbols, start, end);
    expect(simulated.rows).toBeGreaterThan(1_000);
    const { found, read } = exchange({ simulated });
    expect(found.simulated).toEqual(everything(simulated));
    for (const layout of [...LAYOUTS, "s"]) {
      expect(listsOf(read("simulated", layout)), layout).toEqual(listsOf(simulated));
    }
  });

  test("do not take compressed bytes or instants without a zone for what they are not", () => {
    const { read } = exchange({ one: columnsOf({ "A.US": [{ timestamp: 1, volume: 2n }] }) });
    expect(() => read("one", "compressed")).toThrow(
      "bytes cannot be read as Arrow IPC: Record batch is compressed",
    );
    expect(() => read("one", "zoneless")).toThrow("column timestamp: is Timestamp<MICROSECOND>; expected");
  });
});
