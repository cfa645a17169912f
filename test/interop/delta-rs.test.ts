import { expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { rowCount } from "../../src/lake/lake.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { TABLES } from "../../src/schema/tables.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { liveRows, openSession, T0, temporaryLake } from "../lake/temporary-lake.js";
import { pythonHas, runPython } from "./python.js";

const ready = pythonHas("deltalake", "pyarrow");

const ARROW_TYPE = {
  string: "string",
  double: "double",
  int64: "int64",
  int32: "int32",
  boolean: "bool",
  date: "date32[day]",
  timestamp: "timestamp[us, tz=UTC]",
  "string[]": "list<element: string not null>",
} as const;

interface Found {
  readonly version: number;
  readonly partitions: string[];
  readonly columns: Record<string, string>;
  readonly rows: number;
}

test.skipIf(!ready)(
  "delta-rs and pyarrow read every table: same version, rows, columns and types",
  async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    const market = simulateMarket({ seed: 5, symbols: 40, days: 120, end: "2026-11-20" as TradingDate });
    await fillLake(lake, market, { minuteDays: 3, runId: "sim", now: T0 });
    const snapshots = (await lake.snapshots()).filter((snapshot) => snapshot.version >= 0);
    expect(snapshots).toHaveLength(TABLES.length - 1);
    const names = snapshots.map((snapshot) => snapshot.table.name);
    const found = runPython("read_tables.py", lake.folder, ...names) as Record<string, Found>;
    for (const snapshot of snapshots) {
      expect(found[snapshot.table.name]).toEqual({
        version: snapshot.version,
        partitions: snapshot.table.partition,
        columns: Object.fromEntries(snapshot.columns.map((column) => [column.name, ARROW_TYPE[column.type]])),
        rows: rowCount(snapshot),
      });
    }
    const ours = await liveRows<{ symbol: string; close: number; volume: bigint; trade_date: Date }>(
      session,
      lake,
      BARS_1D,
      "SELECT symbol, close, volume, trade_date FROM live ORDER BY symbol, timestamp LIMIT 3",
    );
    expect(
      (found.sample as unknown as Record<string, string>[]).map((row) => [
        row.symbol,
        Number(row.close),
        row.volume,
        row.trade_date,
      ]),
    ).toEqual(
      ours.map((row) => [
        row.symbol,
        row.close,
        String(row.volume),
        row.trade_date.toISOString().slice(0, 10),
      ]),
    );
  },
);
