import { type Table, tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { BALANCE_SHEET } from "../../../src/schema/statements.js";
import { ARROW_STREAM } from "../../../src/wire/media-type.js";
import { KEY, landFinancials, landReference, landRows, serveForFile } from "../served-lake.js";

type Columns = Readonly<Record<string, readonly (number | null)[]>>;
type Klines = { readonly data: Readonly<Record<string, Columns>> };
type Value = string | number | bigint | null;

const DAY = 86_400_000;
const FIRST = Date.parse("2024-01-01T16:00Z");
const SYMBOLS = ["600000.SH", "AAPL.US", "600001.SH", "IF2401.CFX"];
/** Together they have more bars than a response that is sent whole. */
const LONG = ["600010.SH", "600011.SH"];
const BATCH = `/v1/klines/batch?symbols=${SYMBOLS.join(",")}`;

const served = serveForFile(async (lake) => {
  const bar = (symbol: string, day: number, close: number, more: object = {}) => ({
    symbol,
    timestamp: (symbol.endsWith("US") ? FIRST + 13 * 3_600_000 : FIRST) + day * DAY,
    open: close - 0.1,
    high: close + 0.3,
    low: close - 0.3,
    close,
    volume: 100_000_000_000_001n,
    amount: close / 3,
    ...more,
  });
  const days = Array.from({ length: 12 }, (_, day) => day);
  await landRows(lake, BARS_1D, [
    ...days.map((day) => bar("600000.SH", day, 10 + day / 7, { prev_close: day === 5 ? 9 : null })),
    ...days.map((day) => bar("AAPL.US", day, 180 + day / 3)),
    ...days.map((day) => bar("IF2401.CFX", day, 3500 + day / 3, { open_interest: 7 * day })),
  ]);
  await landRows(lake, BARS_1M, [
    bar("600000.SH", 0, 10, { timestamp: Date.parse("2024-01-02T01:31Z") }),
    ...LONG.flatMap((symbol, s) =>
      Array.from({ length: 8_500 }, (_, k) => {
        const minute = Math.floor(k / 100) * DAY + (k % 100) * 60_000;
        return bar(symbol, 0, 10 + s + k / 8, { timestamp: Date.parse("2023-01-02T01:31Z") + minute });
      }),
    ),
  ]);
  const known = { exchange: "SH", region: "CN", type: "stock" };
  await landReference(lake, INSTRUMENTS, [
    {
      ...known,
      symbol: "600001.SH",
      code: "600001",
      name: "空",
      listing_date: "1999-11-10",
      tick_size: 0.01,
    },
    { ...known, symbol: "600002.SH", code: "600002" },
  ]);
  await landFinancials(lake, BALANCE_SHEET, [
    { symbol: "600000.SH", period_end: "2023-12-31", announce_date: "2024-03-01", total_assets: 7 },
    { symbol: "600000.SH", period_end: "2024-03-31", announce_date: null, total_assets: 8.5, odd_item: 1.5 },
    { symbol: "AAPL.US", period_end: "2023-09-30", announce_date: null },
  ]);
});

async function get(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { "x-api-key": KEY, accept: ARROW_STREAM, ...(init.headers as object | undefined) };
  return fetch(served.service.url + path, { ...init, headers });
}

async function table(path: string, init?: RequestInit): Promise<Table> {
  const response = await get(path, init);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, ARROW_STREAM]);
  return tableFromIPC(new Uint8Array(await response.arrayBuffer()));
}

/** The rows of a table as plain values. */
function rowsOf(from: Table): Record<string, Value>[] {
  return from.toArray().map((row) => ({ ...row }) as Record<string, Value>);
}

/** The bars of a JSON response as the rows that the stream should have. */
function rowsOfJson({ data }: Klines): Record<string, Value>[] {
  return Object.entries(data).flatMap(([symbol, columns]) =>
    (columns.timestamp ?? []).map((timestamp, row) => {
      const value = (name: string): number | null => columns[name]?.[row] ?? null;
      const names = ["open", "high", "low", "close", "amount", "open_interest", "prev_close"];
      return {
        ...Object.fromEntries([...names, "settlement_price"].map((name) => [name, value(name)])),
        symbol,
        timestamp,
        volume: BigInt(columns.volume?.[row] ?? 0),
      };
    }),
  );
}

test.each([
  "",
  "&adjust=none",
  "&adjust=backward_additive&count=3",
  "&period=1w",
  "&count=0",
  `&start_time=${FIRST + 2 * DAY}&end_time=${FIRST + 6 * DAY}`,
  "&period=1m",
  "&period=5m",
])("K-lines are the same bars as in JSON: %s", async (query) => {
  const json = await served.ask<Klines>(BATCH + query);
  expect(rowsOf(await table(BATCH + query))).toEqual(rowsOfJson(json.body));
});

test.each(["klines?symbol=600000.SH", "klines/intraday?symbol=600000.SH"])(
  "K-lines of one symbol have the columns of those of several: %s",
  async (path) => {
    const json = await served.ask<{ readonly data: Columns }>(`/v1/${path}`);
    const found = await table(`/v1/${path}`);
    expect(rowsOf(found)).toEqual(rowsOfJson({ data: { "600000.SH": json.body.data } }));
    expect(found.numRows).toBeGreaterThan(0);
    expect(String(found.schema)).toBe(String((await table(BATCH)).schema));
  },
);

test("the schema says types, nulls, units, period, adjustment and version", async () => {
  const { schema } = await table(`${BATCH}&period=1w`);
  expect(schema.fields.map(({ name, type, nullable }) => `${name}: ${type}${nullable ? "?" : ""}`)).toEqual([
    "symbol: Dictionary<Int16, Utf8>",
    "timestamp: Timestamp<MILLISECOND, UTC>",
    ...["open", "high", "low", "close"].map((name) => `${name}: Float64`),
    "volume: Int64",
    "amount: Float64",
    ...["open_interest", "prev_close", "settlement_price"].map((name) => `${name}: Float64?`),
  ]);
  expect(schema.fields.find(({ name }) => name === "close")?.metadata.get("unit")).toBe("currency");
  expect(Object.fromEntries(schema.metadata)).toEqual({
    period: "1w",
    adjust: "forward",
    versions: '{"bars_1d":0}',
  });
});

test("ex-factors come as rows", async () => {
  const path = "/v1/klines/ex-factors?symbols=600000.SH,AAPL.US";
  const { body } = await served.ask<{
    readonly data: Record<string, readonly { timestamp: number; ex_factor: number }[]>;
  }>(path);
  const rows = Object.entries(body.data).flatMap(([symbol, list]) => list.map((one) => ({ symbol, ...one })));
  expect(rows.length).toBeGreaterThan(0);
  expect(rowsOf(await table(path))).toEqual(rows);
});

test("statements come as rows, with the items that deliveries added", async () => {
  const path = "/v1/financials/balance-sheet?symbols=AAPL.US,600000.SH,600001.SH";
  const found = await table(path);
  const all = rowsOf(found).map(({ symbol, period_end, announce_date, total_assets, odd_item }) => [
    symbol,
    period_end,
    announce_date,
    total_assets,
    odd_item,
  ]);
  const day = (text: string): number => Date.parse(text);
  expect(all).toEqual([
    ["AAPL.US", day("2023-09-30"), null, null, null],
    ["600000.SH", day("2023-12-31"), day("2024-03-01"), 7, null],
    ["600000.SH", day("2024-03-31"), null, 8.5, 1.5],
  ]);
  expect(found.schema.fields.slice(0, 3).map(({ nullable }) => nullable)).toEqual([false, false, true]);
  expect((await table(`${path}&latest=true`)).numRows).toBe(2);
  expect((await table("/v1/financials/balance-sheet?symbols=NONE.US")).numRows).toBe(0);
});

test.each([
  ["GET", "/v1/instruments?symbols=600001.SH,600002.SH"],
  ["POST", "/v1/instruments"],
  ["GET", "/v1/exchanges/SH/instruments"],
])("instruments come as rows: %s %s", async (method, path) => {
  const body = JSON.stringify({ symbols: ["600001.SH", "600002.SH"] });
  const sent = method === "GET" ? {} : { method, body, headers: { "content-type": "application/json" } };
  const found = await table(path, sent);
  const own = rowsOf(found).map(({ symbol, name, listing_date, tick_size, ext_type, type }) => [
    symbol,
    type,
    name,
    ext_type,
    tick_size,
    listing_date,
  ]);
  expect(own).toEqual([
    ["600001.SH", "stock", "空", "cn_equity", 0.01, Date.parse("1999-11-10")],
    ["600002.SH", "stock", null, null, null, null],
  ]);
});

test("what has no table, and every error, is JSON", async () => {
  for (const [path, status] of [
    ["/v1/universes", 200],
    ["/v1/klines/batch?symbols=600000.SH&period=2d", 400],
    ["/v1/klines?symbol=NONE.SH", 404],
    ["/nothing", 404],
  ] as const) {
    const response = await get(path);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      "application/json; charset=utf-8",
    ]);
  }
});

test("caches distinguish the forms", async () => {
  const [arrow, json] = [await get(BATCH), await served.ask(BATCH)];
  await arrow.arrayBuffer();
  const tag = arrow.headers.get("etag") as string;
  expect(tag).not.toBe(json.headers.get("etag"));
  expect([arrow, json].map(({ headers }) => headers.get("vary")?.split(", ")[0])).toEqual([
    "accept",
    "accept",
  ]);
  expect((await get(BATCH, { headers: { "if-none-match": tag } })).status).toBe(304);
  expect((await served.ask(BATCH, { headers: { "if-none-match": tag } })).status).toBe(200);
});

test("a long stream says its length, and is the same when it is compressed on its way", async () => {
  const path = `/v1/klines/batch?symbols=${LONG.join(",")}&period=1m&count=10000&adjust=none`;
  const [plain, compressed] = [
    await get(path, { headers: { "accept-encoding": "identity" } }),
    await get(path, { headers: { "accept-encoding": "gzip" } }),
  ];
  expect([compressed.headers.get("content-encoding"), compressed.headers.get("content-length")]).toEqual([
    "gzip",
    null,
  ]);
  const body = await plain.arrayBuffer();
  expect(plain.headers.get("content-length")).toBe(String(body.byteLength));
  expect(await compressed.arrayBuffer()).toEqual(body);
  const json = await served.ask<Klines>(path);
  expect(rowsOf(tableFromIPC(new Uint8Array(body)))).toEqual(rowsOfJson(json.body));
});

test("a HEAD has the header of the GET, and no body", async () => {
  const response = await get(BATCH, { method: "HEAD" });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, ARROW_STREAM]);
  expect(await response.text()).toBe("");
});

test("a stream is compressed for a client that accepts it", async () => {
  const encoded = async (coding: string) => {
    const response = await get(BATCH, { headers: { "accept-encoding": coding } });
    return { coding: response.headers.get("content-encoding"), body: await response.arrayBuffer() };
  };
  const [plain, compressed] = [await encoded("identity"), await encoded("gzip")];
  expect([plain.coding, compressed.coding]).toEqual([null, "gzip"]);
  expect(compressed.body).toEqual(plain.body);
});
