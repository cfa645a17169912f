import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../src/jobs/pipeline/definition.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { RUNS } from "../../src/schema/runs.js";
import { barsAt, newestBars } from "../jobs/minute-market.js";
import { scriptedMarket } from "../jobs/scripted-market.js";
import { queryLake, temporaryLake } from "../lake/temporary-lake.js";
import { once } from "../once.js";
import { pickFrom } from "../sweep.js";
import { html, json, type Script } from "./service/scripted-service.js";

/** A Saturday: every session before it has settled. */
const NOW = Date.parse("2024-01-13T00:00:00Z");
const DAY = 86_400_000;
/** Midnight of Monday 2024-01-08 in Shanghai, and the days after. */
const DAYS = [0, 1, 2, 3, 4].map((n) => Date.parse("2024-01-07T16:00:00Z") + n * DAY);
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-08" };

async function setUp(script: Script, start = NOW) {
  const parts = await scriptedMarket(script, new Date(start).toISOString(), temporaryLake(), 2);
  return { ...parts, query: <Row>(sql: string): Promise<Row[]> => queryLake<Row>(parts.lake, sql) };
}

const SYMBOLS = ["600519.SH", "000001.SZ"];
const MARKET = { "600519.SH": DAYS, "000001.SZ": DAYS.slice(2) };
const right: Script = (seen, response) => json(response, 200, { data: newestBars(seen, MARKET) });
const BARS_PER_SYMBOL = "SELECT symbol, count(*)::INT AS n FROM bars_1d GROUP BY symbol ORDER BY symbol";
const WHOLE = [
  { symbol: "000001.SZ", n: 3 },
  { symbol: "600519.SH", n: 5 },
];

once("count and adjust=none are always sent, with both ends of the window", async () => {
  const { service, run } = await setUp(right);
  await run(DAILY, { symbols: SYMBOLS });
  expect(service.seen).toHaveLength(1);
  expect(Object.fromEntries(service.seen[0]?.query ?? [])).toEqual({
    symbols: "000001.SZ,600519.SH",
    period: "1d",
    count: "10000",
    start_time: String(DAYS[0]),
    end_time: String(Date.parse("2024-01-13T16:00:00Z") - 1),
    adjust: "none",
  });
});

once("a run lands what it was given, and the next one asks for nothing and changes nothing", async () => {
  const { service, lake, run, query } = await setUp(right);
  const first = await run(DAILY, { symbols: SYMBOLS });
  expect(first).toMatchObject({ status: "complete", rows: 8, requests: { sent: 1, answered: 1 } });
  expect(await query(BARS_PER_SYMBOL)).toEqual(WHOLE);
  expect([...(await lake.snapshot(BARS_1D)).txns.keys()]).toEqual([`${first.runId}/000001`]);
  const dataVersions = async (): Promise<number[]> =>
    (await lake.snapshots()).filter(({ table }) => table !== RUNS).map(({ version }) => version);
  const versions = await dataVersions();
  const second = await run(DAILY, { symbols: SYMBOLS });
  expect(second).toMatchObject({ status: "complete", requests: { sent: 0 } });
  expect(service.seen).toHaveLength(1);
  expect(await dataVersions()).toEqual(versions);
});

once("a symbol that has nothing is not requested again; a new one is asked for alone", async () => {
  const { service, run, query } = await setUp(right);
  await run(DAILY, { symbols: ["600519.SH", "601398.SH"] });
  await run(DAILY, { symbols: ["600519.SH", "601398.SH", "000001.SZ"] });
  // It begins late without an explanation, so the time before its first bar is requested again at once.
  const askedFor = service.seen.map((seen) => seen.query.get("symbols"));
  expect(askedFor).toEqual(["600519.SH,601398.SH", "000001.SZ", "000001.SZ"]);
  expect(await query("SELECT absent FROM requests WHERE list_contains(symbols, '601398.SH')")).toEqual([
    { absent: ["601398.SH"] },
  ]);
});

once("an earlier start asks for the new part alone", async () => {
  const { service, run, query } = await setUp(right);
  await run(DAILY, { symbols: ["600519.SH"], from: "2024-01-10" });
  await run(DAILY, { symbols: ["600519.SH"], from: "2024-01-01" });
  const windows = service.seen.map((seen) => [
    Number(seen.query.get("start_time")),
    Number(seen.query.get("end_time")),
  ]);
  expect(windows[1]).toEqual([Date.parse("2023-12-31T16:00:00Z"), (DAYS[2] as number) - 1]);
  expect(await query(BARS_PER_SYMBOL)).toEqual([{ symbol: "600519.SH", n: 5 }]);
});

once("the days that are checked again begin at the midnight of each region", async () => {
  const market = { "600519.SH": DAYS, "AAPL.US": DAYS.map((day) => day + 13 * 3_600_000) };
  const { service, clock, run } = await setUp((seen, response) =>
    json(response, 200, { data: newestBars(seen, market) }),
  );
  const checked: PipelineDefinition = { ...DAILY, lookback: "3d" };
  const symbols = ["600519.SH", "AAPL.US"];
  await run(checked, { symbols });
  clock.advance(DAY);
  await run(checked, { symbols });
  const starts = service.seen
    .slice(2)
    .map(({ query }) => [query.get("symbols"), Number(query.get("start_time"))]);
  expect(Object.fromEntries(starts)).toEqual({
    "600519.SH": Date.parse("2024-01-10T00:00:00+08:00"),
    "AAPL.US": Date.parse("2024-01-10T00:00:00-05:00"),
  });
});

const CUTS = [
  ["of the first response", 3, 600],
  ["of a page", 6, 640],
  ["of a page, with its first minute alone", 7, 843],
] as const;
test.each(pickFrom(CUTS, { few: 1, more: 3, all: 3 }, [2]))(
  "a cut in the first day %s is seen: nothing of that day is lost",
  async (_, days, cap) => {
    const minutes = DAYS.concat(DAYS.map((day) => day + 7 * DAY))
      .slice(0, days)
      .flatMap((day) =>
        Array.from({ length: 241 }, (__, i) => day + (9.5 * 60 + i + (i > 120 ? 90 : 0)) * 60_000),
      );
    const market = { "600519.SH": minutes, "000001.SZ": minutes };
    const { run, query } = await setUp(
      (seen, response) => json(response, 200, { data: newestBars(seen, market, cap) }),
      NOW + 7 * DAY,
    );
    await run({ ...DAILY, period: "1m", from: "2024-01-08" }, { symbols: SYMBOLS });
    expect(
      await query("SELECT symbol, count(*)::INT AS n FROM bars_1m GROUP BY symbol ORDER BY symbol"),
    ).toEqual([
      { symbol: "000001.SZ", n: 241 * days },
      { symbol: "600519.SH", n: 241 * days },
    ]);
  },
);

const REFUSALS = [
  ["states it", ": at most 30"],
  ["does not state it", ""],
] as const;
test.each(pickFrom(REFUSALS, { few: 1, more: 2, all: 2 }))(
  "a service that takes fewer symbols and %s gets smaller requests, in the same run",
  async (_, stated) => {
    const record = { period_end: "2023-09-30", announce_date: null, total_assets: 1 };
    const many = Array.from({ length: 118 }, (__, i) => `${601_000 + i}.SH`);
    const market = { ...MARKET, ...Object.fromEntries(many.map((symbol) => [symbol, DAYS])) };
    const { service, run, query } = await setUp((seen, response) => {
      const symbols = (seen.query.get("symbols") ?? "").split(",");
      if (symbols.length > 30)
        return json(response, 400, { code: "INVALID_PARAMETER", message: `too many symbols${stated}` });
      const isBars = seen.path === "/v1/klines/batch";
      const data = isBars
        ? newestBars(seen, market)
        : Object.fromEntries(symbols.map((one) => [one, [record]]));
      json(response, 200, { data });
    });
    const symbols = [...SYMBOLS, ...many];
    expect(await run(DAILY, { symbols })).toMatchObject({ status: "complete", failures: [] });
    // No number of symbols is refused twice.
    const sizes = service.seen.map((seen) => (seen.query.get("symbols") ?? "").split(",").length);
    expect(sizes.filter((size) => size > 30)).toEqual(stated === "" ? [100, 50] : [100]);
    expect(await query(BARS_PER_SYMBOL)).toEqual([...WHOLE, ...many.map((symbol) => ({ symbol, n: 5 }))]);
    const sheets: PipelineDefinition = { name: "sheets", kind: "statements", tables: ["balance_sheet"] };
    expect(await run(sheets, { symbols })).toMatchObject({ status: "complete", failures: [] });
    expect(await query("SELECT count(*)::INT AS n FROM raw.balance_sheet")).toEqual([{ n: 120 }]);
    const sent = service.seen.length;
    for (const one of [DAILY, sheets]) expect((await run(one, { symbols })).requests.sent).toBe(0);
    expect(service.seen).toHaveLength(sent);
  },
);

once("a page that fails leaves a gap that the next run asks for", async () => {
  const minutes = Array.from({ length: 7000 }, (_, i) => Date.parse("2024-01-01T01:31:00Z") + i * 60_000);
  let broken = true;
  const { service, run, query } = await setUp((seen, response, index) => {
    if (broken && index > 0) html(response, 502);
    else json(response, 200, { data: newestBars(seen, { "600519.SH": minutes }, 5000) });
  });
  const first = await run({ ...DAILY, period: "1m", from: "2024-01-01" }, { symbols: ["600519.SH"] });
  expect(first.status).toBe("partial");
  expect(await query("SELECT count(*)::INT AS n FROM bars_1m")).toEqual([{ n: 5000 }]);
  broken = false;
  const sent = service.seen.length;
  const second = await run({ ...DAILY, period: "1m", from: "2024-01-01" }, { symbols: ["600519.SH"] });
  expect(second.status).toBe("complete");
  expect(Number(service.seen[sent]?.query.get("end_time"))).toBe((minutes[2000] as number) - 1);
  expect(await query("SELECT count(*)::INT AS n FROM bars_1m")).toEqual([{ n: 7000 }]);
});

once.each([
  [401, "UNAUTHORIZED", "refused"],
  [403, "NO_KLINE_BATCH_PERMISSION", "refused"],
] as const)("a %i stops the run at once, and the lake stays as it was", async (status, code, outcome) => {
  const { service, lake, run, query } = await setUp((_, response) =>
    json(response, status, { code, message: "no" }),
  );
  const report = await run(
    { ...DAILY, from: "1990-01-01" },
    {
      symbols: Array.from({ length: 900 }, (_, i) => `${600_000 + i}.SH`),
    },
  );
  expect(report.status).toBe(outcome);
  expect(service.seen.length).toBeLessThanOrEqual(4);
  expect(report.stopped).toContain(code);
  expect(
    (await lake.snapshots()).filter((snapshot) => snapshot.version >= 0).map((s) => s.table.name),
  ).toEqual(["requests", "runs"]);
  expect(await query("SELECT DISTINCT status, http_status FROM requests")).toEqual([
    { status: "refused", http_status: status },
  ]);
});

once("failures in a row end the run; what failed is asked for by the next one", async () => {
  let broken = true;
  const others = Array.from({ length: 3000 }, (_, i) => `${601_000 + i}.SH`);
  const market = { ...MARKET, ...Object.fromEntries(others.map((symbol) => [symbol, DAYS.slice(0, 1)])) };
  const { service, clock, run, query } = await setUp((seen, response) =>
    broken ? html(response, 502) : json(response, 200, { data: newestBars(seen, market) }),
  );
  const many = ["600519.SH", "000001.SZ", ...others];
  const report = await run(DAILY, { symbols: many });
  expect(report.status).toBe("failed");
  expect(report.stopped).toMatch(/failed in a row/);
  expect(report.requests.sent).toBeLessThan(20);
  // The retries of other requests advance the clock a little between the start of a pause and its sleep.
  for (const pause of [30_000, 60_000])
    expect(clock.slept.filter((ms) => ms > pause - 1000 && ms <= pause)).not.toEqual([]);
  const counted = await query<{ attempts: number }>("SELECT sum(attempts)::INT AS attempts FROM requests");
  expect(counted).toEqual([{ attempts: service.seen.length }]);
  broken = false;
  const before = service.seen.length;
  expect((await run(DAILY, { symbols: many })).status).toBe("complete");
  expect(service.seen.length - before).toBe(31);
  expect((await query(BARS_PER_SYMBOL)).slice(0, 2)).toEqual(WHOLE);
});

once(
  "of a delivery with defects the good part lands, and each defect is stored with its reason",
  async () => {
    const { run, query } = await setUp((seen, response) => {
      const nulls = barsAt(DAYS);
      (nulls.close as unknown[])[1] = null;
      const unequal = barsAt(DAYS);
      (unequal.high as unknown[]).pop();
      const inverted = barsAt(DAYS);
      (inverted.high as unknown[])[0] = 1;
      const fraction = barsAt(DAYS);
      (fraction.volume as unknown[])[2] = 1.5;
      const outside = barsAt([...DAYS, Date.parse("2025-01-01T16:00:00Z")]);
      const asked = new Set(["699999.SH", ...(seen.query.get("symbols") ?? "").split(",")]);
      const returned = Object.entries({
        "600001.SH": nulls,
        "600002.SH": unequal,
        "600003.SH": inverted,
        "600004.SH": fraction,
        "600005.SH": outside,
        "600006.SH": barsAt(DAYS),
        "699999.SH": barsAt(DAYS),
      });
      json(response, 200, { data: Object.fromEntries(returned.filter(([symbol]) => asked.has(symbol))) });
    });
    const symbols = [1, 2, 3, 4, 5, 6].map((n) => `60000${n}.SH`);
    const report = await run(DAILY, { symbols });
    expect(report.status).toBe("partial");
    const week = { start: DAYS[0], end: Date.parse("2024-01-13T16:00:00Z") };
    const day = (n: number) => ({ start: DAYS[n], end: DAYS[n + 1] });
    expect(report.completeness[0]?.setAside).toEqual([
      { symbol: "600001.SH", window: day(1), bars: 1 },
      { symbol: "600002.SH", window: week, bars: 5 },
      { symbol: "600003.SH", window: day(0), bars: 1 },
      { symbol: "600004.SH", window: day(2), bars: 1 },
    ]);
    expect(report.completeness[0]?.unexplained).toMatchObject([{ symbol: "600005.SH" }]);
    expect(await query(BARS_PER_SYMBOL)).toEqual([
      { symbol: "600001.SH", n: 4 },
      { symbol: "600003.SH", n: 4 },
      { symbol: "600004.SH", n: 4 },
      { symbol: "600005.SH", n: 5 },
      { symbol: "600006.SH", n: 5 },
    ]);
    const rejects = await query<{ symbol: string; rule: string }>(
      "SELECT DISTINCT symbol, rule FROM rejects ORDER BY symbol, rule",
    );
    expect(rejects).toEqual([
      { symbol: "600001.SH", rule: "null_in_required" },
      { symbol: "600002.SH", rule: "unequal_lengths" },
      { symbol: "600003.SH", rule: "high_below_low" },
      { symbol: "600004.SH", rule: "fraction_in_integer" },
      { symbol: "600005.SH", rule: "outside_window" },
      { symbol: "699999.SH", rule: "not_requested" },
    ]);
  },
);

once("reference data is a dated snapshot: a change makes a version, an absence ends one", async () => {
  let name = "old";
  const { clock, run, query } = await setUp((seen, response) => {
    const one = (symbol: string, called: string) => ({
      symbol,
      code: symbol.slice(0, 6),
      exchange: "SH",
      region: "CN",
      name: called,
      type: "stock",
      ext: { type: "cn_equity", float_shares: 5, strange: [1] },
    });
    if (seen.path === "/v1/exchanges")
      return json(response, 200, { data: [{ exchange: "SH", region: "CN", count: 2 }] });
    if (seen.path === "/v1/exchanges/SH/instruments") {
      const list = [
        one("600519.SH", name),
        ...(name === "old" ? [one("600001.SH", "leaves"), { symbol: 5 }] : []),
      ];
      return json(response, 200, { count: list.length, exchange: "SH", data: list });
    }
    const symbols = name === "old" ? ["600519.SH", "600001.SH"] : ["600519.SH"];
    const summary = { id: "U", name: "u", category: "c", region: "CN", symbol_count: symbols.length };
    if (seen.path === "/v1/universes") return json(response, 200, { data: [summary] });
    return json(response, 200, { data: { U: { ...summary, symbols } } });
  });
  const first = await run({ name: "reference", kind: "reference" });
  // One instrument cannot be read, and is set aside: the next run requests the list again.
  expect(first).toMatchObject({ status: "partial", requests: { sent: 4 } });
  expect((await run({ name: "reference", kind: "reference" })).requests.sent).toBe(1);
  name = "new";
  clock.advance(DAY);
  const last = await run({ name: "reference", kind: "reference" });
  expect(first.changes).toEqual([]);
  expect(last.changes).toEqual([
    { dataset: "instruments", change: "delisted", subjects: 1, examples: ["600001.SH"] },
    { dataset: "instruments", change: "renamed", subjects: 1, examples: ["600519.SH (name old -> new)"] },
    { dataset: "universe_members", change: "left", subjects: 1, examples: ["600001.SH U"] },
  ]);
  expect(
    await query(
      "SELECT symbol, name, valid_to IS NULL AS current, ext_other FROM raw.instruments ORDER BY symbol, valid_from",
    ),
  ).toEqual([
    { symbol: "600001.SH", name: "leaves", current: false, ext_other: '{"strange":[1]}' },
    { symbol: "600519.SH", name: "old", current: false, ext_other: '{"strange":[1]}' },
    { symbol: "600519.SH", name: "new", current: true, ext_other: '{"strange":[1]}' },
  ]);
  expect(await query("SELECT symbol FROM universe_members")).toEqual([{ symbol: "600519.SH" }]);
  expect(await query("SELECT DISTINCT rule FROM rejects")).toEqual([{ rule: "wrong_type" }]);
});

once("reference data: what failed is asked for by the next run, and nothing else", async () => {
  let isBroken = true;
  const { service, run, query } = await setUp((seen, response) => {
    const exchange = /exchanges\/(\w+)/.exec(seen.path)?.[1];
    if (isBroken && (exchange === "SZ" || seen.body.includes("U100"))) return html(response, 502);
    const regions = { region: "CN", category: "c", symbol_count: 1, name: "u" };
    const exchanges = ["SH", "SZ"].map((one) => ({ exchange: one, count: 1, ...regions }));
    const universes = Array.from({ length: 120 }, (_, n) => ({ id: `U${n}`, ...regions }));
    const symbol = `600519.${exchange}`;
    const ids = seen.body === "" ? [] : (JSON.parse(seen.body) as { ids: string[] }).ids;
    const details = universes.map((one) => [one.id, { ...one, symbols: ["600519.SH"] }] as const);
    if (exchange)
      json(response, 200, { data: [{ symbol, code: "600519", exchange, type: "stock", ...regions }] });
    else if (seen.path === "/v1/exchanges") json(response, 200, { data: exchanges });
    else if (seen.path === "/v1/universes") json(response, 200, { data: universes });
    else json(response, 200, { data: Object.fromEntries(details.filter(([id]) => ids.includes(id))) });
  });
  const reference: PipelineDefinition = { name: "reference", kind: "reference" };
  expect((await run(reference)).status).toBe("partial");
  isBroken = false;
  const before = service.seen.length;
  expect(await run(reference)).toMatchObject({ status: "complete", failures: [] });
  expect(service.seen.slice(before).map(({ path }) => path)).toEqual([
    "/v1/exchanges/SZ/instruments",
    "/v1/universes/batch",
  ]);
  expect(await query("SELECT count(*)::INT AS n FROM instruments")).toEqual([{ n: 2 }]);
  expect(await query("SELECT count(*)::INT AS n FROM universe_members")).toEqual([{ n: 120 }]);
  expect((await run(reference)).requests.sent).toBe(0);
});

once("statements: a restatement is a separate version, unknown numeric fields land", async () => {
  let assets = 100;
  const { clock, run, query } = await setUp((_, response) => {
    const record = {
      period_end: "2023-09-30",
      announce_date: "2023-10-30",
      total_assets: assets,
      new_field: 7,
      note: "text",
    };
    json(response, 200, { data: { "600519.SH": [record] } });
  });
  const financials: PipelineDefinition = {
    name: "financials",
    kind: "statements",
    tables: ["balance_sheet"],
  };
  await run(financials, { symbols: SYMBOLS });
  expect((await run(financials, { symbols: SYMBOLS })).requests.sent).toBe(0);
  clock.advance(DAY);
  assets = 90;
  const third = await run(financials, { symbols: SYMBOLS });
  expect(third.landed).toMatchObject([{ table: "balance_sheet", inserted: 1, updated: 0 }]);
  expect(third.changes).toEqual([
    {
      dataset: "balance_sheet",
      change: "restated",
      subjects: 1,
      examples: ["600519.SH 2023-09-30 (total_assets 100.0 -> 90.0)"],
    },
  ]);
  expect(await query("SELECT total_assets, new_field FROM raw.balance_sheet ORDER BY first_seen_at")).toEqual(
    [
      { total_assets: 100, new_field: 7 },
      { total_assets: 90, new_field: 7 },
    ],
  );
});

once(
  "statements: new fields become columns, a field that is left out remains, and one of another type is set aside",
  async () => {
    const record = (period_end: string, fields: object): object => ({
      period_end,
      announce_date: null,
      ...fields,
    });
    let records = [record("2023-03-31", { total_assets: 1, currency: "CNY" })];
    const { clock, run, query } = await setUp((_, response) =>
      json(response, 200, { data: { "600519.SH": records } }),
    );
    const financials: PipelineDefinition = {
      name: "financials",
      kind: "statements",
      tables: ["balance_sheet"],
    };
    await run(financials, { symbols: SYMBOLS });
    clock.advance(DAY);
    records = [
      record("2023-06-30", { total_assets: 2, audited: true, parts: [1] }),
      record("2023-09-30", { total_assets: "3", currency: "CNY" }),
      record("2023-12-31", { total_assets: 4, currency: 5, audited: false }),
    ];
    const report = await run(financials, { symbols: SYMBOLS });
    expect(report.rejected).toMatchObject([{ rule: "wrong_type", rows: 2 }]);
    expect(await query("SELECT reason FROM rejects ORDER BY reason")).toEqual([
      {
        reason:
          '600519.SH 2023-09-30: table balance_sheet, column total_assets is double, and "3" is string; a column\'s type never changes',
      },
      {
        reason:
          "600519.SH 2023-12-31: table balance_sheet, column currency is string, and 5 is double; a column's type never changes",
      },
    ]);
    expect(
      await query("SELECT total_assets, currency, audited FROM raw.balance_sheet ORDER BY period_end"),
    ).toEqual([
      { total_assets: 1, currency: "CNY", audited: null },
      { total_assets: 2, currency: null, audited: true },
    ]);
  },
);

once("statements: fields named like the lake's own columns, or spelt otherwise, hurt nothing", async () => {
  const fields = {
    REGION: "XX",
    region: 5,
    first_seen_at: 1,
    Symbol: "X",
    rule: 7,
    occurrence: 8,
    source: 9,
    line: 1,
  };
  const record = { period_end: "2023-03-31", ...fields, Total_Assets: 3, other: 1, OTHER: 2, "a b'\";--": 4 };
  const { run, query } = await setUp((_, response) =>
    json(response, 200, { data: { "600519.SH": [record] } }),
  );
  const report = await run(
    { name: "financials", kind: "statements", tables: ["balance_sheet"] },
    { symbols: SYMBOLS },
  );
  expect(report).toMatchObject({ status: "complete", rejected: [] });
  expect(
    await query("SELECT symbol, region, total_assets, other, rule, occurrence FROM raw.balance_sheet"),
  ).toEqual([{ symbol: "600519.SH", region: "CN", total_assets: 3, other: 1, rule: 7, occurrence: 8 }]);
});

once("an interrupted run lands what it has, and the next one goes on", async () => {
  const controller = new AbortController();
  const { run, query } = await setUp((seen, response, index) => {
    if (index === 1) controller.abort();
    right(seen, response, index);
  });
  const many = ["600519.SH", "000001.SZ", ...Array.from({ length: 900 }, (_, i) => `${601_000 + i}.SH`)];
  const report = await run({ ...DAILY, from: "2024-01-01" }, { symbols: many }, controller.signal);
  expect(report.status).toBe("interrupted");
  const again = await run(DAILY, { symbols: many });
  expect(again.status).toBe("complete");
  expect(await query(BARS_PER_SYMBOL)).toEqual(WHOLE);
});
