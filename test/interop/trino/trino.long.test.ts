import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../src/client/system-clock.js";
import type { TradingDate } from "../../../src/core/time.js";
import { Session } from "../../../src/db/session/session.js";
import { runImport } from "../../../src/jobs/import/run-import.js";
import { Lake } from "../../../src/lake/lake.js";
import { writeCheckpoint } from "../../../src/lake/log/checkpoint.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { PERIODS } from "../../../src/market/period.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { TABLES } from "../../../src/schema/tables.js";
import { fillLake } from "../../../src/sim/fill-lake.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { installInTrino, type LakeTable, type TrinoStatus } from "../../../src/trino/install.js";
import { TrinoClient, trinoServer } from "../../../src/trino/trino-client.js";
import { TrinoEngine } from "../../../src/trino/trino-engine.js";
import { runCli } from "../../cli/run-cli.js";
import { landSomeActions } from "../../lake/land/some-actions.js";
import { cases, pickCases, pickFrom } from "../../sweep.js";
import { fillEventfulLake } from "../delta/eventful-lake.js";
import { checkpointsAlone, commitsAlone } from "../delta/log-copies.js";
import { expectSameRows } from "./trino-comparison.js";
import { asOfComparisons, barComparison, PAIRS, viewComparisons } from "./trino-questions.js";
import { startTrino, type TrinoServer, trinoIsMissing } from "./trino-server.js";

const missing = trinoIsMissing();
if (missing !== undefined) console.warn(`skipped: ${missing}`);
const DATA = resolve(process.env.BARLAKE_REALDATA ?? "../shared/realdata");
const hasData = existsSync(join(DATA, "MANIFEST.csv"));
if (!hasData) console.warn(`skipped: no real data at ${DATA}; set BARLAKE_REALDATA to its folder`);
const NOW = Date.parse("2026-11-21T00:00:00Z");

describe.skipIf(missing !== undefined)("Trino", () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-trino-"));
  let server: TrinoServer;

  beforeAll(async () => {
    server = await startTrino(folder);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const clientOf = (schema: string): TrinoClient =>
    new TrinoClient(trinoServer(server.url, { catalog: server.catalog, schema }, {}), { clock: systemClock });

  /** The tables of a lake in the server's folder. */
  async function tablesOf(name: string): Promise<LakeTable[]> {
    const lake = new Lake(join(folder, name));
    return Promise.all(
      TABLES.map(async (table) => {
        const { version } = await lake.snapshot(table);
        return {
          name: table.name,
          version: version < 0 ? undefined : version,
          location: `local:///${name}/${table.name}`,
        };
      }),
    );
  }

  /** Installs a lake and opens it in both engines. */
  async function opened(name: string) {
    const { status } = await installInTrino(clientOf(name), await tablesOf(name));
    const engine = await TrinoEngine.open(clientOf(name));
    const { session } = await openReader(new Lake(join(folder, name)), { threads: 2 });
    const close = async (): Promise<void> => {
      session.close();
      await engine.close();
    };
    return { status, engine, session, folder, [Symbol.asyncDispose]: close };
  }

  test("every table is read as we read it: checkpoints, compacted files, odd names and numbers", async () => {
    const lake = new Lake(join(folder, "eventful"));
    await fillEventfulLake(lake, NOW);
    // A second checkpoint, behind the compaction and the landings after it.
    await writeCheckpoint(lake, await lake.snapshot(BARS_1D), NOW);
    commitsAlone(lake, join(folder, "commits"));
    await checkpointsAlone(lake, join(folder, "checkpoints"), NOW);
    const checkpoints = readdirSync(join(folder, "checkpoints", "bars_1d", "_delta_log"));
    expect(checkpoints.filter((name) => name.endsWith(".checkpoint.parquet")).length).toBeGreaterThan(1);
    for (const name of ["eventful", "commits", "checkpoints"]) {
      await using place = await opened(name);
      expect(differing(place.status)).toEqual([]);
      for (const { name: table, key, columns } of TABLES) {
        // An open table has columns that came later: all of them are compared.
        const trino = `SELECT * FROM ${name}_raw.${table}`;
        const rows = await expectSameRows(place, { trino, duckdb: `FROM raw.${table}`, key });
        expect(rows, table).toBeGreaterThan(0);
        expect(columns.length).toBeGreaterThan(1);
      }
    }
  });

  describe("the views, on a simulated market", () => {
    beforeAll(async () => {
      const lake = new Lake(join(folder, "sim"));
      const market = simulateMarket({ seed: 5, symbols: 24, days: 160, end: "2026-11-20" as TradingDate });
      await fillLake(lake, market, { minuteDays: 3, runId: "sim", now: NOW });
      using session = await Session.open({ threads: 2 });
      await landSomeActions(session, lake, NOW);
      for (const table of TABLES) await optimize(session, lake, table, { runId: "test" });
      await installInTrino(clientOf("sim"), await tablesOf("sim"));
    });

    test("give the rows that DuckDB gives", async () => {
      await using place = await opened("sim");
      const comparisons = { ...viewComparisons(), ...(await asOfComparisons(place.session)) };
      for (const [name, comparison] of Object.entries(comparisons))
        expect(await expectSameRows(place, comparison), name).toBeGreaterThan(0);
      for (const period of pickFrom(PERIODS, cases({ few: 4, more: 4, all: PERIODS.length })))
        expect(await expectSameRows(place, barComparison(period)), period).toBeGreaterThan(0);
    });

    test("adjust and aggregate as DuckDB does", async () => {
      await using place = await opened("sim");
      for (const n of pickCases(PAIRS.length, cases({ few: 4, more: 4, all: PAIRS.length }))) {
        const { period, adjustment } = PAIRS[n] as (typeof PAIRS)[number];
        const rows = await expectSameRows(place, barComparison(period, adjustment));
        expect(rows, `${period} ${adjustment}`).toBeGreaterThan(0);
      }
    });

    test("are installed once, and again where they differ", async () => {
      const client = clientOf("sim");
      const tables = await tablesOf("sim");
      await installInTrino(client, tables);
      const again = await installInTrino(client, tables);
      expect([again.registered, again.created, differing(again.status)]).toEqual([[], [], []]);
      await client.rows("CREATE OR REPLACE VIEW returns AS SELECT 1 AS x");
      await client.rows("DROP VIEW members");
      await client.rows("CALL lake.system.unregister_table('sim_raw', 'bars_1m')");
      const moved = tables.map((table) =>
        table.name === "cash_flow" ? { ...table, location: "local:///eventful/cash_flow" } : table,
      );
      const repaired = await installInTrino(client, moved);
      expect(repaired.registered).toEqual(["bars_1m", "cash_flow"]);
      expect(repaired.created.sort()).toEqual(["members", "returns"]);
      expect((await installInTrino(client, tables)).registered).toEqual(["cash_flow"]);
    });

    test("of several statements exist without those that never landed", async () => {
      const absent = ["income", "metrics"];
      const tables = (await tablesOf("sim")).map((table) =>
        absent.includes(table.name) ? { ...table, version: undefined } : table,
      );
      const { status } = await installInTrino(clientOf("bare"), tables);
      const states = status.tables.filter(({ name }) => absent.includes(name)).map(({ state }) => state);
      expect(states).toEqual(["not landed", "not landed"]);
      const counted = async (schema: string, view: string, ...columns: string[]) =>
        clientOf(schema).rows(
          `SELECT count(*), ${columns.map((one) => `count(${one})`).join()} FROM ${view}`,
        );
      for (const [view, without, others] of [
        ["daily_fundamentals", "revenue", ["total_assets", "capex"]],
        ["daily_metrics", "roe", ["total_shares"]],
      ] as const) {
        const [[rows, none, ...rest] = []] = await counted("bare", view, without, ...others);
        expect([none, [[rows, ...rest]]], view).toEqual([0, await counted("sim", view, ...others)]);
        expect(Math.min(...rest.map(Number)), view).toBeGreaterThan(0);
      }
    });

    test("serve the command line: formats, errors with their place, notebooks", async () => {
      const at = ["--engine", "trino", "--server", `${server.url}/lake/sim`];
      const csv = await runCli([
        "sql",
        ...at,
        "SELECT count(*) AS n, max(volume) AS v FROM bars_1d",
        "--format",
        "csv",
      ]);
      using reader = (await openReader(new Lake(join(folder, "sim")), { threads: 1 })).session;
      const [expected] = await reader.json<{ n: bigint; v: bigint }>(
        "SELECT count(*) AS n, max(volume) AS v FROM bars_1d",
      );
      expect(csv.stdout).toBe(`n,v\n${expected?.n},${expected?.v}\n`);

      const wrong = await runCli(["sql", ...at, "SELECT symbol,\n  colse FROM bars_1d"]);
      expect(wrong.code).toBe(2);
      expect(wrong.stderr).toContain(
        "COLUMN_NOT_FOUND: Column 'colse' cannot be resolved\n  line 2:   colse FROM",
      );
      expect(wrong.stderr).toMatch(/\n {12}\^\n/);

      const file = join(folder, "notebook.sql");
      writeFileSync(
        file,
        `-- # A notebook\n-- %% param last = DATE '2026-11-20'\n-- %% param region = 'CN'\n-- %% table\n
SELECT count(*) AS n FROM bars_1d WHERE trade_date <= $last AND region = $region;\n`,
      );
      const shown = await runCli(["sql", ...at, "-f", file, "--param", "last=2026-10-30"]);
      const [count] = await reader.json<{ n: bigint }>(
        "SELECT count(*) AS n FROM bars_1d WHERE trade_date <= DATE '2026-10-30' AND region = 'CN'",
      );
      expect([shown.stderr, shown.code]).toEqual(["", 0]);
      expect(shown.stdout).toContain(String(count?.n));

      const status = await runCli([
        "trino",
        "status",
        "--server",
        `${server.url}/lake/sim`,
        "--lake",
        join(folder, "sim"),
        "--location",
        "local:///sim",
        "--json",
      ]);
      const { tables } = JSON.parse(status.stdout) as TrinoStatus;
      expect(tables.every(({ version, seen }) => version === seen)).toBe(true);
    });

    test("a query that is interrupted ends on the server too", async () => {
      await using engine = await openedEngine();
      const rows = await engine.read(
        "SELECT a.symbol FROM bars_1m AS a CROSS JOIN bars_1m AS b CROSS JOIN bars_1m AS c",
      );
      expect(await rows.take(3)).toHaveLength(3);
      engine.interrupt();
      await expect(rows.take(10_000_000)).rejects.toThrow("INTERRUPT Error: Interrupted!");
      const running =
        "SELECT count(*) FROM system.runtime.queries WHERE state NOT IN ('FINISHED', 'FAILED') AND query LIKE '%CROSS%JOIN%AS%c%'";
      await expect.poll(() => clientOf("sim").rows(running), { timeout: 60_000 }).toEqual([[1]]);
    });

    const openedEngine = async (): Promise<TrinoEngine & AsyncDisposable> => {
      const engine = await TrinoEngine.open(clientOf("sim"));
      return Object.assign(engine, { [Symbol.asyncDispose]: () => engine.close() });
    };
  });

  describe.skipIf(!hasData)("the views, on real data", () => {
    beforeAll(async () => {
      const lake = new Lake(join(folder, "real"));
      const options = { map: {}, volumeUnit: "shares", barLabel: "end" } as const;
      const load = async (
        table: Parameters<typeof runImport>[1],
        places: readonly string[],
        map: Readonly<Record<string, string>> = {},
      ): Promise<unknown> => {
        const files = places.flatMap((place) =>
          place.includes(".")
            ? [join(DATA, place)]
            : readdirSync(join(DATA, place)).map((name) => join(DATA, place, name)),
        );
        return runImport(lake, table, files, { ...options, map, runId: `import ${table}` }, systemClock);
      };
      await load("bars_1d", ["bars_1d", "bars_1d_adj2024"]);
      await load("bars_1m", ["bars_1m", "bars_1m_2024"]);
      await load("instruments", ["instruments.csv"]);
      await load("universes", ["universes.json"]);
      await load("balance_sheet", ["financials_balance_sheet.csv"], {
        total_liabilities: "total_liab",
        total_equity: "total_hldr_eqy_inc_min_int",
        cash_and_equivalents: "money_cap",
      });
      await load("cash_flow", ["financials_cash_flow.csv"], { net_operating_cash_flow: "n_cashflow_act" });
      // The data has no other statements, without which Trino lacks the views that need them.
      for (const [table, item] of Object.entries({
        income: "revenue",
        metrics: "roe",
        shares: "total_shares",
      })) {
        const file = join(folder, `${table}.csv`);
        writeFileSync(
          file,
          `symbol,period_end,announce_date,${item}\n600519.SH,2023-12-31,2024-04-03,1000\n`,
        );
        const from = { ...options, map: {}, runId: `import ${table}` };
        await runImport(lake, table as "income", [file], from, systemClock);
      }
    });

    test("give the rows that DuckDB gives", async () => {
      await using place = await opened("real");
      const comparisons = Object.entries({
        ...viewComparisons(),
        ...(await asOfComparisons(place.session)),
      });
      const bars = ["bars_1d", "bars_1m"].map((view) => comparisons.findIndex(([name]) => name === view));
      let rows = 0;
      for (const [, comparison] of pickFrom(
        comparisons,
        cases({ few: 8, more: 8, all: comparisons.length }),
        bars,
      ))
        rows += await expectSameRows(place, comparison);
      // Bars alone are 303,883 rows, and are always compared.
      expect(rows).toBeGreaterThan(cases({ few: 300_000, more: 300_000, all: 500_000 }));
      for (const n of pickCases(PAIRS.length, cases({ few: 1, more: 1, all: PAIRS.length }))) {
        const { period, adjustment } = PAIRS[n] as (typeof PAIRS)[number];
        expect(await expectSameRows(place, barComparison(period, adjustment))).toBeGreaterThan(0);
      }
    });
  });
});

/** What is not as it should be. */
function differing({ tables, views }: TrinoStatus): string[] {
  const versions = tables
    .filter(({ version, seen }) => version !== seen)
    .map(({ name }) => `version of ${name}`);
  return [
    ...versions,
    ...[...tables, ...views]
      .filter(({ state }) => state !== "current" && state !== "not landed")
      .map(({ name }) => name),
  ];
}
