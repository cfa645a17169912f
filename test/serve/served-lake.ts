import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { landBars, stageBars } from "../../src/lake/land/land-bars.js";
import { landStatements } from "../../src/lake/land/land-statements.js";
import { landVersions } from "../../src/lake/land/land-versions.js";
import { Rejects } from "../../src/lake/land/rejects.js";
import { KLINE_COLUMNS } from "../../src/schema/bars.js";
import type { TableSchema } from "../../src/schema/column.js";
import { type Service, type ServiceOptions, startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";

/** A landed bar of a test, by column; `timestamp` in epoch milliseconds. */
export interface LandedBar {
  readonly symbol: string;
  readonly timestamp: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number | bigint;
  readonly amount: number;
  readonly open_interest?: number | null;
  readonly prev_close?: number | null;
  readonly settlement_price?: number | null;
  /** @default the region's unit: 100 in CN, else 1 */
  readonly lot?: number;
}

/** A bar at one price. @param at ISO text or epoch milliseconds. */
export function landedBar(
  symbol: string,
  at: string | number,
  price = 1,
  more: Partial<LandedBar> = {},
): LandedBar {
  const prices = { open: price, high: price, low: price, close: price };
  return { symbol, timestamp: new Date(at).getTime(), ...prices, volume: 1, amount: 1, ...more };
}

/** An instrument as a list of the service has it. */
export function listed(
  symbol: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const [code = "", exchange = ""] = symbol.split(".");
  const region = exchange === "HK" || exchange === "US" ? exchange : "CN";
  return { symbol, code, exchange, region, type: "stock", ...more };
}

export const KEY = "test-key";
/** A Saturday, months after the last bar of the tests. */
export const NOW = Date.parse("2026-11-21T00:00:00Z");
const OPTIONS = { operation: "TEST", runId: "test", now: NOW };

/** A lake in a new folder. */
export function newLake(): { readonly lake: Lake; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "barlake-serve-"));
  return {
    lake: new Lake(join(folder, "lake")),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Lands bars as an ingest does. @param marketNow bars after it are set aside. */
export async function landRows(
  lake: Lake,
  table: TableSchema,
  bars: readonly LandedBar[],
  marketNow = NOW,
): Promise<void> {
  using session = await Session.open({ threads: 1 });
  await stageBars(session, "staged");
  const fields = KLINE_COLUMNS.map((c) => `"${c.name}":"${c.type === "int64" ? "VARCHAR" : "DOUBLE"}"`);
  const structure = `[{"symbol":"VARCHAR","timestamp":"BIGINT","lot":"INTEGER",${fields.join(",")}}]`;
  const rows = bars.map((bar) => ({
    ...bar,
    volume: String(bar.volume),
    lot: bar.lot ?? (/\.(SH|SZ|BJ)$/.test(bar.symbol) ? 100 : 1),
  }));
  const columns = KLINE_COLUMNS.map((c) =>
    c.type === "int64" ? `CAST(r.${c.name} AS BIGINT)` : `r.${c.name}`,
  );
  await session.run(
    `INSERT INTO staged (symbol, timestamp, ${KLINE_COLUMNS.map((c) => c.name).join(", ")}, lot, source, line)
     SELECT r.symbol, make_timestamptz(r.timestamp * 1000), ${columns.join(", ")}, r.lot, 'test', NULL
     FROM (SELECT unnest(from_json($1, '${structure}')) AS r)`,
    [JSON.stringify(rows)],
  );
  const finalEnd = { CN: NOW, HK: NOW, US: NOW };
  await landBars(session, lake, table, "staged", {
    ...OPTIONS,
    marketNow,
    finalEnd,
    rejects: new Rejects(session, "test"),
  });
}

/** Lands a snapshot of reference data. */
export async function landReference(
  lake: Lake,
  table: TableSchema,
  rows: readonly Readonly<Record<string, unknown>>[],
  options: { readonly now?: number; readonly complete?: string } = {},
): Promise<void> {
  using session = await Session.open({ threads: 1 });
  const columns = table.columns.filter((c) => !c.name.startsWith("valid_"));
  await stageObjects(session, "staged", columns, rows);
  await landVersions(session, lake, table, "staged", { ...OPTIONS, ...options });
}

/** Lands statements; the fields are the members except symbol, period_end and announce_date. */
export async function landFinancials(
  lake: Lake,
  table: TableSchema,
  rows: readonly Readonly<Record<string, unknown>>[],
  now = NOW,
): Promise<void> {
  using session = await Session.open({ threads: 1 });
  const own = ["symbol", "period_end", "announce_date"];
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => !own.includes(name));
  await stageObjects(
    session,
    "staged",
    [
      { name: "symbol", type: "string", doc: "" },
      { name: "period_end", type: "date", doc: "" },
      { name: "announce_date", type: "date", doc: "" },
      { name: "source", type: "string", doc: "" },
      { name: "line", type: "int64", doc: "" },
      ...fields.map((name) => ({ name, type: "double" as const, doc: "" })),
    ],
    rows,
  );
  await landStatements(session, lake, table, "staged", {
    ...OPTIONS,
    now,
    rejects: new Rejects(session, "test"),
  });
}

interface Reply<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** A running service, and how to ask it. The caller says what form of body it expects. */
export interface Served {
  readonly service: Service;
  /** The key is sent unless headers say otherwise. */
  readonly ask: <T = unknown>(path: string, init?: RequestInit) => Promise<Reply<T>>;
  /** Sends a JSON body. */
  readonly post: <T = unknown>(path: string, body: unknown) => Promise<Reply<T>>;
}

/** Starts a service on a free port. */
export async function serve(lake: Lake, options: Partial<ServiceOptions> = {}): Promise<Served> {
  const service = await startService(lake, {
    port: 0,
    keys: plainKeys([KEY]),
    clock: { now: () => NOW },
    ...options,
  });
  async function ask<T>(path: string, init: RequestInit = {}): Promise<Reply<T>> {
    const headers = { "x-api-key": KEY, ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(service.url + path, { ...init, headers });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === "" ? null : JSON.parse(text)) as T,
    };
  }
  return {
    service,
    ask,
    post: (path, body) =>
      ask(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
  };
}

/** {@link serve}, for the length of one test, on a new lake. */
export async function serveForTest(
  fill: (lake: Lake) => Promise<void>,
  options: Partial<ServiceOptions> = {},
): Promise<Served & { readonly lake: Lake }> {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  await fill(lake);
  const served = await serve(lake, options);
  onTestFinished(() => served.service.close());
  return { ...served, lake };
}

/** {@link serve}, for the tests of one file, on a lake that is filled before them. */
export function serveForFile(
  fill: (lake: Lake) => Promise<void>,
  options: Partial<ServiceOptions> = {},
): Served & { readonly lake: Lake } {
  const { lake, remove } = newLake();
  const served = { lake } as Served & { readonly lake: Lake };
  beforeAll(async () => {
    await fill(lake);
    Object.assign(served, await serve(lake, options));
  });
  afterAll(async () => {
    await served.service.close();
    remove();
  });
  return served;
}
