import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { buildDataset } from "../../src/dataset/build-dataset.js";
import { type DatasetDefinition, defineDataset } from "../../src/dataset/spec.js";
import { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { openReader } from "../../src/lake/open-reader.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { fixtureLake } from "../lake/fixture-lake.js";

/**
 * A small market of 400 sessions, 14 April 2025 to 20 November 2026, the last two of them with minutes. `600339.SH` has
 * rows without trades, `000469.SZ` lacks them; `300516.SZ` is in SIM_CN_50 from 2 January to 31 March 2026; `600725.SH` ends on
 * 18 December 2025; `600217.SH` splits.
 */
export const MARKET = simulateMarket({ seed: 7, symbols: 24, days: 400, end: "2026-11-20" as TradingDate });

/** A lake of {@link MARKET}, for the tests of a file. */
export function marketLake(): {
  readonly lake: Lake;
  readonly session: Session;
  /** A folder for what the tests make. */
  readonly folder: string;
  /** Builds a dataset. @returns its folder */
  build(definition: DatasetDefinition): Promise<string>;
} {
  const made: { folder?: string; lake?: Lake; session?: Session } = {};
  const the = <K extends keyof typeof made>(key: K) => made[key] as NonNullable<(typeof made)[K]>;
  beforeAll(async () => {
    made.folder = mkdtempSync(join(tmpdir(), "barlake-"));
    const now = Date.parse("2026-11-21T00:00:00Z");
    const fixture = { filledBy: import.meta.url, name: "market" };
    made.lake = await fixtureLake(join(made.folder, "lake"), fixture, (empty) =>
      fillLake(empty, MARKET, { minuteDays: 2, runId: "sim", now }),
    );
    made.session = (await openReader(made.lake, { memoryLimit: "1GB" })).session;
  });
  afterAll(() => {
    made.session?.close();
    if (made.folder) rmSync(made.folder, { recursive: true, force: true });
  });
  return {
    get lake() {
      return the("lake");
    },
    get session() {
      return the("session");
    },
    get folder() {
      return the("folder");
    },
    build: async (definition) => (await buildDataset(the("lake"), defineDataset(definition))).folder,
  };
}
