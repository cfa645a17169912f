import { describe, expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import type { LakeReport, MarketReport, NotebookLine } from "../../src/ui/page-data.js";
import { startWorkspace } from "../../src/ui/start-workspace.js";
import { HAS_STORE, storeLakes } from "../object-store/store-lakes.js";
import { PATIENT } from "./patient-session.js";
import { admitted, pageHeaders, visit } from "./workspace-visit.js";

const FORBIDDEN = [
  "FROM read_text('/etc/passwd')",
  "FROM 's3://elsewhere/x.parquet'",
  "FROM duckdb_secrets()",
];

describe.skipIf(!HAS_STORE)("a workspace over a lake in an object store", () => {
  const stores = storeLakes();

  test("shows it, and runs notebooks that read its tables and nothing else", async () => {
    const lake = stores.open(stores.newLocation());
    const market = simulateMarket({ seed: 4, symbols: 8, days: 20, end: "2026-11-20" as TradingDate });
    await fillLake(lake, market, { minuteDays: 0, runId: "sim", now: Date.parse("2026-11-21T00:00:00Z") });
    await using workspace = await startWorkspace(lake, { limits: PATIENT });
    const cookie = await admitted(workspace.port, workspace.address());
    const get = async <T>(path: string): Promise<T> =>
      JSON.parse((await visit(workspace.port, path, { cookie })).body) as T;
    const { state, tables } = await get<LakeReport>("/api/state");
    expect(tables.length).toBeGreaterThan(3);
    const bars = tables.find(({ name }) => name === "bars_1d")?.rows;
    const { markets } = await get<{ markets: MarketReport[] }>(`/api/market?state=${state}`);
    expect(markets.length).toBeGreaterThan(0);
    const text = ["SELECT count(*) AS bars FROM bars_1d", ...FORBIDDEN]
      .map((sql) => `-- %%\n${sql};\n`)
      .join("");
    const run = await visit(
      workspace.port,
      `/api/notebook/run?state=${state}`,
      pageHeaders(workspace.port, cookie),
      "POST",
      JSON.stringify({ name: "typed", text }),
    );
    const lines = run.body
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as NotebookLine);
    const cells = lines.filter((line) => line.kind === "cell");
    expect(cells.map(({ fault }) => fault === null)).toEqual([true, false, false, false]);
    expect(cells[0]?.html).toContain(`<td class="n">${bars}</td>`);
  });
});
