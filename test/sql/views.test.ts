import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Session } from "../../src/db/session.js";
import { publish } from "../../src/lake/publish.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { TABLES } from "../../src/schema/tables.js";
import { land, openSession, temporaryLake } from "../lake/temporary-lake.js";

const VIEWS = fileURLToPath(new URL("../../sql/views", import.meta.url));
const names = readdirSync(VIEWS).map((file) => file.replace(/\.sql$/, ""));

test("each view stands in a file of its name, with purpose, grain and inputs in its header", () => {
  for (const name of names) {
    const sql = readFileSync(`${VIEWS}/${name}.sql`, "utf8");
    expect(sql).toMatch(/^-- [A-Z]/);
    expect(sql).toMatch(/^-- Grain: .*Inputs: /m);
    expect(sql).toContain(`CREATE OR REPLACE VIEW ${name} AS`);
    expect(sql).toContain(`COMMENT ON VIEW ${name} IS`);
  }
});

test("lake.duckdb opens in a client of its own, read-only, and shows tables, views and comments", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [
    { at: "2024-01-01T16:00:00Z", volume: 300, close: 10.25, amount: 3075 },
  ]);
  await publish(lake);
  using client = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
  const bars = await client.json("SELECT symbol, trade_date::VARCHAR AS d, shares, vwap FROM bars_1d");
  expect(bars).toEqual([{ symbol: "600519.SH", d: "2024-01-02", shares: 300n, vwap: 10.25 }]);
  const views = await client.json<{ schema_name: string; view_name: string; comment: string | null }>(
    "SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal",
  );
  const main = views.filter((view) => view.schema_name === "main");
  expect(main.map((view) => view.view_name).sort()).toEqual(names.sort());
  expect(main.filter((view) => !view.comment)).toEqual([]);
  const [volume] = await client.json(
    "SELECT comment FROM duckdb_columns() WHERE schema_name = 'raw' AND table_name = 'bars_1d' AND column_name = 'volume'",
  );
  expect(volume).toEqual({ comment: expect.stringContaining("[lot shares]") });
  for (const table of TABLES) await client.json(`SELECT count(*) FROM raw.${table.name}`);
});

test("whoever has the old views open keeps them while new ones are put in their place", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z" }]);
  await publish(lake);
  using old = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
  await land(session, lake, BARS_1D, [
    { at: "2024-01-01T16:00:00Z", close: 9.5 },
    { at: "2024-01-02T16:00:00Z" },
  ]);
  await publish(lake);
  expect(await old.json("SELECT close FROM bars_1d")).toEqual([{ close: 10.5 }]);
  using fresh = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
  expect(await fresh.json("SELECT close FROM bars_1d ORDER BY trade_date")).toEqual([
    { close: 9.5 },
    { close: 10.5 },
  ]);
});
