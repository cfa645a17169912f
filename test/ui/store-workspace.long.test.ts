import { describe, expect, test } from "vitest";
import { QueryError } from "../../src/core/errors.js";
import type { TradingDate } from "../../src/core/time.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import type { LakeReport, MarketReport } from "../../src/ui/page-data.js";
import { LakeStates } from "../../src/ui/session/lake-states.js";
import { sandboxedEngine } from "../../src/ui/session/sandboxed-engine.js";
import { SessionReaders } from "../../src/ui/session/session-readers.js";
import { startWorkspace } from "../../src/ui/start-workspace.js";
import { HAS_STORE, storeLakes } from "../object-store/store-lakes.js";
import { PATIENT } from "./patient-session.js";
import { admitted, visit } from "./workspace-visit.js";

describe.skipIf(!HAS_STORE)("a workspace over a lake in an object store", () => {
  const stores = storeLakes();

  test("shows it, in sessions that read its tables and nothing else", async () => {
    const lake = stores.open(stores.newLocation());
    const market = simulateMarket({ seed: 4, symbols: 8, days: 20, end: "2026-11-20" as TradingDate });
    await fillLake(lake, market, { minuteDays: 0, runId: "sim", now: Date.parse("2026-11-21T00:00:00Z") });
    await using workspace = await startWorkspace(lake, { limits: PATIENT });
    const cookie = await admitted(workspace.port, workspace.address());
    const get = async <T>(path: string): Promise<T> =>
      JSON.parse((await visit(workspace.port, path, { cookie })).body) as T;
    const { state, tables } = await get<LakeReport>("/api/state");
    expect(tables.length).toBeGreaterThan(3);
    const { markets } = await get<{ markets: MarketReport[] }>(`/api/market?state=${state}`);
    expect(markets.length).toBeGreaterThan(0);
    await using readers = new SessionReaders(lake, lake.clock);
    const { signal } = new AbortController();
    await readers.use(
      await new LakeStates(lake).newest(),
      { signal, isForeign: true },
      async ({ session }) => {
        const engine = sandboxedEngine(session);
        expect((await engine.result("SELECT count(*) FROM bars_1d", new Map(), 1)).rows).toBe(1);
        for (const sql of [
          "FROM read_text('/etc/passwd')",
          "FROM 's3://elsewhere/x.parquet'",
          "FROM duckdb_secrets()",
        ])
          await expect(engine.result(sql, new Map(), 1), sql).rejects.toBeInstanceOf(QueryError);
      },
    );
  });
});
