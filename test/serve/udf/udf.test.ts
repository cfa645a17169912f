import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS } from "../../../src/schema/reference.js";
import { INCOME } from "../../../src/schema/statements.js";
import {
  KEY,
  landedBar,
  landFinancials,
  landReference,
  landRows,
  listed,
  serveForFile,
  serveForTest,
} from "../served-lake.js";

/** Seconds of an instant. */
const at = (text: string): number => Date.parse(text) / 1000;
/** The date of a daily bar in the protocol. */
const dateOf = (second: number): string => new Date(second * 1000).toISOString();

const served = serveForFile(
  async (lake) => {
    await landRows(lake, BARS_1D, [
      landedBar("600000.SH", "2024-03-14T00:00+08:00", 20, { prev_close: 20 }),
      landedBar("600000.SH", "2024-03-15T00:00+08:00", 11, { prev_close: 10 }),
      landedBar("600000.SH", "2024-03-18T00:00+08:00", 12, { prev_close: 11, volume: 9 }),
      landedBar("AAPL.US", "2024-03-14T00:00-04:00", 170),
      landedBar("600009.SH", "2024-03-14T00:00+08:00", 5),
    ]);
    await landRows(
      lake,
      BARS_1M,
      ["11:59", "12:00", "13:01", "13:30"].map((time) =>
        landedBar("00700.HK", `2024-03-15T${time}+08:00`, 300),
      ),
    );
    await landReference(lake, EXCHANGES, [{ exchange: "SH", region: "CN", count: 2 }]);
    await landReference(lake, INSTRUMENTS, [
      listed("600000.SH", { name: "浦发银行", name_en: "Pudong Bank", tick_size: 0.01 }),
      listed("510300.SH", { name: "沪深300ETF", type: "etf" }),
      listed("00700.HK", { name: "腾讯控股" }),
    ]);
    await landFinancials(lake, INCOME, [
      { symbol: "600000.SH", period_end: "2023-12-31", announce_date: "2024-03-18", revenue: 1 },
    ]);
  },
  { udf: "keys" },
);

async function udf(path: string): Promise<Record<string, unknown>> {
  const { status, body } = await served.ask<Record<string, unknown>>(`/udf/${path}`);
  return { status, ...body };
}
const WINDOW = `from=${at("2024-03-01T00:00Z")}&to=${at("2024-04-01T00:00Z")}`;

test("a chart learns resolutions, exchanges and types", async () => {
  expect(await udf("config")).toMatchObject({
    supported_resolutions: ["1", "5", "10", "15", "30", "60", "1D", "1W", "1M", "3M", "12M"],
    supports_search: true,
    exchanges: [{ value: "" }, { value: "HK" }, { value: "SH" }],
    symbols_types: [{ value: "" }, { value: "etf" }, { value: "stock" }],
  });
});

test("a symbol has its name, zone, session and steps of price; one without metadata is known by its bars", async () => {
  expect(await udf("symbols?symbol=600000.SH")).toMatchObject({
    ticker: "600000.SH",
    description: "浦发银行",
    timezone: "Asia/Shanghai",
    session: "0930-1130,1300-1500",
    pricescale: 100,
    has_intraday: false,
  });
  expect(await udf("symbols?symbol=510300.SH")).toMatchObject({ type: "etf", pricescale: 1000 });
  expect(await udf("symbols?symbol=00700.HK")).toMatchObject({
    session: "0930-1200,1300-1600",
    has_intraday: true,
  });
  expect(await udf("symbols?symbol=600009.SH")).toMatchObject({ status: 200, description: "600009.SH" });
});

test.each([
  "symbols?symbol=600123.SH",
  "symbols?symbol=AAPL",
  `history?symbol=600123.SH&resolution=1D&${WINDOW}`,
])("an unknown symbol is the protocol's error: %s", async (path) => {
  expect(await udf(path)).toMatchObject({
    status: 404,
    s: "error",
    errmsg: expect.stringContaining("unknown_symbol"),
  });
});

test.each([
  ["60", ["600000.SH"]],
  ["浦发", ["600000.SH"]],
  ["bank", ["600000.SH"]],
  ["", ["00700.HK", "510300.SH", "600000.SH"]],
  ["&type=etf", ["510300.SH"]],
  ["&exchange=HK", ["00700.HK"]],
  ["&limit=1", ["00700.HK"]],
])("a search finds by code, name or English name: %s", async (query, expected) => {
  const { body } = await served.ask<{ symbol: string }[]>(`/udf/search?query=${query}`);
  expect(body.map(({ symbol }) => symbol)).toEqual(expected);
});

test("daily bars are at midnight UTC of their date, in the window, whatever the zone", async () => {
  const china = await udf(
    `history?symbol=600000.SH&resolution=D&from=${at("2024-03-15T00:00Z")}&to=${at("2024-03-18T00:00Z")}`,
  );
  expect(china).toMatchObject({ s: "ok", t: [at("2024-03-15T00:00Z")], c: [11], v: [1] });
  const us = await udf(`history?symbol=AAPL.US&resolution=1D&${WINDOW}`);
  expect((us.t as number[]).map(dateOf)).toEqual(["2024-03-14T00:00:00.000Z"]);
});

test("prices are as traded, or adjusted by the path", async () => {
  const closes = async (path: string): Promise<unknown> =>
    (await udf(`${path}?symbol=600000.SH&resolution=1D&${WINDOW}`)).c;
  expect(await closes("history")).toEqual([20, 11, 12]);
  expect(await closes("none/history")).toEqual([20, 11, 12]);
  expect(await closes("forward/history")).toEqual([10, 11, 12]);
});

test("a number of bars before the end goes before the begin of the window", async () => {
  const { t } = await udf(
    `history?symbol=600000.SH&resolution=1D&countback=2&from=${at("2024-03-18T00:00Z")}&to=${at("2024-03-19T00:00Z")}`,
  );
  expect((t as number[]).map(dateOf)).toEqual(["2024-03-15T00:00:00.000Z", "2024-03-18T00:00:00.000Z"]);
});

test("weeks are aggregated", async () => {
  expect(await udf(`history?symbol=600000.SH&resolution=1W&${WINDOW}`)).toMatchObject({
    t: [at("2024-03-15T00:00Z"), at("2024-03-18T00:00Z")],
    v: [2, 9],
  });
});

test("minutes are labelled by their begin; the last bar before a break may be shorter", async () => {
  const begins = async (resolution: string, more = WINDOW): Promise<string[]> => {
    const { t } = await udf(`history?symbol=00700.HK&resolution=${resolution}&${more}`);
    return (t as number[]).map((second) => new Date((second + 28_800) * 1000).toISOString().slice(11, 16));
  };
  expect(await begins("1")).toEqual(["11:58", "11:59", "13:00", "13:29"]);
  expect(await begins("60")).toEqual(["11:30", "13:00"]);
  expect(await begins("1", `countback=2&from=0&to=${at("2024-03-15T13:29+08:00")}`)).toEqual([
    "11:59",
    "13:00",
  ]);
  expect(
    await begins("1", `from=${at("2024-03-15T11:59+08:00")}&to=${at("2024-03-15T13:29+08:00")}`),
  ).toEqual(["11:59", "13:00"]);
});

test("a window without bars says when the newest bar before it is, where there is one", async () => {
  const empty = (from: string, more = "") =>
    udf(`history?symbol=600000.SH&resolution=1D&from=${at(from)}&to=${at(from) + 86_400}${more}`);
  expect(await empty("2025-01-01T00:00Z")).toEqual({
    status: 200,
    s: "no_data",
    nextTime: at("2024-03-18T00:00Z"),
  });
  expect(await empty("2020-01-01T00:00Z")).toEqual({ status: 200, s: "no_data" });
  expect(await empty("2020-01-01T00:00Z", "&countback=5")).toEqual({ status: 200, s: "no_data" });
});

test("ex-dates and announcements are marks", async () => {
  expect(await udf(`marks?symbol=600000.SH&resolution=1D&${WINDOW}`)).toMatchObject({
    time: [at("2024-03-15T00:00Z"), at("2024-03-18T00:00Z")],
    label: ["E", "R"],
    text: ["ex-date, factor 2.00000", "income of 2023-12-31"],
  });
});

test("the time is that of the service, in seconds", async () => {
  const reply = await fetch(`${served.service.url}/udf/time`, { headers: { "x-api-key": KEY } });
  expect(await reply.text()).toMatch(/^\d{10}$/);
});

test.each([
  ["history?symbol=600000.SH&resolution=7&from=0&to=1", "INVALID_PERIOD"],
  ["history?symbol=600000.SH&resolution=1D&from=now&to=1", "INVALID_PARAMETER"],
  ["history?symbol=600000.SH&resolution=1D&from=1&to=1e99", "INVALID_PARAMETER"],
  ["history?symbol=600000.SH&resolution=1D&from=1&to=2&countback=10001", "INVALID_PARAMETER"],
  ["search?query=a&query=b", "INVALID_PARAMETER"],
])("a parameter that breaks a rule is an error of the protocol: %s", async (path, code) => {
  expect(await udf(path)).toMatchObject({ status: 400, s: "error", code });
});

test("without the option there are no such paths; with it they need a key, unless open to pages of this machine", async () => {
  const ask = async (udfOption: "keys" | "open" | undefined, headers: Record<string, string> = {}) => {
    const { service } = await serveForTest(async () => {}, udfOption === undefined ? {} : { udf: udfOption });
    const statuses: number[] = [];
    for (const path of ["/udf/time", "/v1/exchanges"])
      statuses.push((await fetch(`${service.url}${path}`, { headers })).status);
    return statuses;
  };
  expect(await ask(undefined, { "x-api-key": KEY })).toEqual([404, 200]);
  expect(await ask("keys")).toEqual([401, 401]);
  expect(await ask("open")).toEqual([200, 401]);
  expect(await ask("open", { "x-api-key": "wrong" })).toEqual([401, 401]);
});

test("a key that is limited to a universe learns of its members alone", async () => {
  const { service } = await serveForTest(
    async (lake) => {
      await landReference(lake, INSTRUMENTS, [listed("600000.SH"), listed("00700.HK", { type: "etf" })]);
      await landReference(lake, UNIVERSE_MEMBERS, [{ id: "own", symbol: "600000.SH", region: "CN" }]);
    },
    { udf: "keys", keys: { callerOf: () => ({ name: "limited", universes: new Set(["own"]) }) } },
  );
  const ask = async (path: string): Promise<unknown> =>
    (await fetch(`${service.url}/udf/${path}`, { headers: { "x-api-key": KEY } })).json();
  expect(await ask("config")).toMatchObject({
    exchanges: [{ value: "" }, { value: "SH" }],
    symbols_types: [{ value: "" }, { value: "stock" }],
  });
  expect(await ask("search?query=")).toMatchObject([{ symbol: "600000.SH" }]);
  expect(await ask("marks?symbol=00700.HK")).toMatchObject({ s: "error", code: "FORBIDDEN" });
});

test("a name of another site that leads to this machine is not open", async () => {
  const { service } = await serveForTest(async () => {}, { udf: "open" });
  const statusFor = async (host: string): Promise<number | undefined> => {
    const [reply] = (await once(get(`${service.url}/udf/time`, { headers: { host } }), "response")) as [
      IncomingMessage,
    ];
    reply.resume();
    return reply.statusCode;
  };
  expect(await statusFor(`localhost:${service.port}`)).toBe(200);
  expect(await statusFor(`evil.example:${service.port}`)).toBe(401);
  expect(await statusFor("localhost.evil.example")).toBe(401);
});
