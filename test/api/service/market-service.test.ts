import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Table } from "apache-arrow";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type LakeConnection,
  type LakeRunOptions,
  type LakeServer,
  openLake,
} from "../../../src/api/lake/open-lake.js";
import { connect, type MarketService } from "../../../src/api/service/connect.js";
import { UsageError } from "../../../src/core/errors.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { ENDPOINTS } from "../../../src/wire/endpoints.js";
import { json, startScripted } from "../../faults/service/scripted-service.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { apiLake, NOW } from "../api-lake.js";
import { connectForTest } from "./test-service.js";

const BOTH = ["600117.SH", "VAVC.US"];
const clock = { now: () => NOW, sleep: () => Promise.resolve() };
let folder: string;
let lake: LakeConnection;
let server: LakeServer;
let service: MarketService;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barlake-api-"));
  await apiLake(join(folder, "lake"));
  lake = openLake(join(folder, "lake"), { hasDatabase: false, threads: 1, clock });
  server = await lake.serve({ keys: ["secret-key"], threads: 1 });
  const environment = { XDG_STATE_HOME: folder };
  service = connect({ url: server.url, apiKey: "secret-key", environment, clock });
});

afterAll(async () => {
  await service.close();
  await server.close();
  await lake.close();
  rmSync(folder, { recursive: true, force: true });
});

test("K-lines are those of the lake, by any period and adjustment", async () => {
  const symbols = (
    await lake.query<{ symbol: string }>("SELECT DISTINCT symbol FROM bars_1d ORDER BY 1")
  ).rows();
  const bars = await service.klines(
    symbols.map(({ symbol }) => symbol),
    { from: "2026-08-01", strict: true },
  );
  const own = await lake.query(
    `SELECT symbol, timestamp, open, high, low, close, volume, amount FROM bars_1d
     WHERE trade_date >= '2026-08-01' ORDER BY symbol, timestamp`,
  );
  const names = ["symbol", "timestamp", "open", "high", "low", "close", "volume", "amount"] as const;
  const rows = bars.rows().map((row) => Object.fromEntries(names.map((name) => [name, row[name]])));
  expect(rows).toEqual(own.rows());
  for (const [sql, options] of [
    ["adjusted('1w', 'forward')", { period: "1w", adjust: "forward", from: "2026-08-01" }],
    ["bars('30m')", { period: "30m", from: "2026-11-19" }],
  ] as const) {
    const of = await lake.query<{ close: number }>(
      `SELECT close FROM ${sql} WHERE symbol = $symbol AND timestamp >= '2026-07-31' ORDER BY timestamp`,
      { symbol: "600117.SH" },
    );
    const table = await service.klines(["600117.SH"], { ...options, strict: true });
    expect(
      table.rows().map(({ close }) => close),
      sql,
    ).toEqual(of.rows().map(({ close }) => close));
  }
});

test("minutes of the latest day come of symbols and of universes", async () => {
  expect((await service.intraday(["600117.SH"])).numRows).toBeGreaterThanOrEqual(240);
  const some = await service.intraday(["600117.SH", "VAVC.US", "600999.SH"], { period: "60m", count: 2 });
  expect(some.rows().map(({ symbol }) => symbol)).toEqual(["600117.SH", "600117.SH"]);
  expect(some.report).toMatchObject({ empty: ["VAVC.US"], unknown: ["600999.SH"] });
  const [universe] = (await service.universes()).rows();
  const members = await service.intradayOfUniverses([universe?.id ?? ""], { count: 1, strict: true });
  expect(members.numRows).toBeGreaterThan(0);
  expect(members.report).toEqual({
    issues: [],
    counts: [],
    rejected: 0,
    unknown: [],
    empty: [],
    open: [],
    requests: 1,
  });
  for (const ids of [["NO_SUCH"], [universe?.id ?? "", "NO_SUCH"]]) {
    const { report } = await service.intradayOfUniverses(ids, { count: 1 });
    expect(report.unknown).toEqual(["NO_SUCH"]);
    await expect(service.intradayOfUniverses(ids, { count: 1, strict: true })).rejects.toThrow(
      "klines: the service does not know NO_SUCH",
    );
  }
});

test("reference data comes as tables, and as the objects of the service", async () => {
  const instruments = await service.instruments([...BOTH, "600999.SH"]);
  expect(instruments).toBeInstanceOf(Table);
  expect(instruments.getChild("symbol")?.toArray()).toEqual(BOTH);
  expect(instruments.rows()[0]?.ext?.type).toBe("cn_equity");
  expect(instruments.unknown).toEqual(["600999.SH"]);
  expect((await service.symbols(BOTH)).rows().map(({ symbol }) => symbol)).toEqual(BOTH);
  const exchanges = (await service.exchanges()).rows();
  const sh = exchanges.find(({ exchange }) => exchange === "SH");
  expect((await service.exchangeInstruments("SH")).numRows).toBe(sh?.count);
  const etfs = await service.exchangeInstruments("SH", { type: "etf" });
  expect(new Set(etfs.rows().map(({ type }) => type))).toEqual(new Set(["etf"]));
  const universes = await service.universes();
  const [first] = universes.rows();
  const members = await service.universeMembers([first?.id ?? "", "NO_SUCH"]);
  expect([members.numRows, members.unknown]).toEqual([first?.symbol_count, ["NO_SUCH"]]);
  expect(members.rows()[0]?.symbols).toHaveLength(first?.symbol_count ?? 0);
});

test("quotes, ex-factors and statements come of symbols", async () => {
  const quotes = await service.quotes({ symbols: BOTH, universes: [] });
  expect(quotes.getChild("name")?.get(0)).toBe(quotes.rows()[0]?.ext?.name);
  expect((await service.quotes(["600999.SH"])).unknown).toEqual(["600999.SH"]);
  const universe = (await service.universes()).rows().find(({ symbol_count }) => symbol_count > 0)?.id ?? "";
  for (const [universes, unknown] of [
    [[universe], []],
    [["NO_SUCH"], ["NO_SUCH"]],
    [[universe, "NO_SUCH", "NO_SUCH"], ["NO_SUCH"]],
  ] as const) {
    const some = await service.quotes({ symbols: ["600999.SH"], universes });
    expect([some.unknown, some.numRows > 0]).toEqual([
      ["600999.SH", ...unknown],
      universes.length !== unknown.length,
    ]);
  }
  const factors = await service.exFactors(BOTH, { from: "2026-01-01", to: "2026-12-01" });
  expect(factors.unknown).toEqual([]);
  for (const name of ["balanceSheet", "cashFlow", "income", "metrics", "shares"] as const) {
    const latest = await service.financials[name](["600117.SH"], { latest: true });
    expect([name, latest.numRows, latest.issues]).toEqual([name, 1, []]);
  }
  const table = await service.financials.balanceSheet(BOTH, { from: "2026-01-01", to: "2026-06-30" });
  expect(new Set(table.rows().map(({ period_end }) => period_end))).toEqual(new Set(["2026-03-31"]));
  expect(table.getChild("total_assets")?.get(0)).toBe(table.rows()[0]?.total_assets);
});

test("a lake is filled from a service, and only what it lacks is requested", async () => {
  await using mine = openLake(join(temporaryFolder(), "mine"), { hasDatabase: false, threads: 1, clock });
  expect((await mine.run("reference", { service })).status).toBe("complete");
  expect((await mine.plan("daily", { from: "2026-11-01" }))?.length).toBeGreaterThan(0);
  // The last session is not final in the US.
  const demand = { service, from: "2026-11-01", to: "2026-11-20", symbols: BOTH };
  const report = await mine.run("daily", demand);
  expect([report.status, report.requests.sent > 0]).toEqual(["complete", true]);
  const filter = {
    symbols: BOTH,
    from: "2026-11-01",
    to: "2026-11-20",
    columns: ["symbol", "trade_date", "close"],
  };
  expect((await mine.read("bars_1d", filter)).rows()).toEqual((await lake.read("bars_1d", filter)).rows());
  expect((await mine.run("daily", demand)).requests.sent).toBe(0);
  expect(await mine.plan("reference")).toBeUndefined();
  const definition: PipelineDefinition = {
    name: "one",
    kind: "bars",
    period: "1d",
    from: "2026-11-01",
    to: "2026-11-20",
    symbols: ["600117.SH"],
  };
  expect(await mine.plan(definition)).toEqual([]);
  await expect(mine.run("no-such", { service })).rejects.toThrow('pipeline "no-such" is not known');
});

test("elements that break the interface are issues, and the others come", async () => {
  const quote = {
    last_price: 1,
    open: 1,
    high: 1,
    low: 1,
    prev_close: 1,
    volume: 1,
    amount: 1,
    timestamp: 1,
  };
  const scripted = await startScripted((_, response) =>
    json(response, 200, {
      data: [
        { symbol: "600117.SH", ...quote },
        { ...quote, symbol: "VAVC.US", open: "1" },
      ],
    }),
  );
  const quotes = await connectForTest(scripted.url).quotes(BOTH);
  expect(quotes.rows().map(({ symbol }) => symbol)).toEqual(["600117.SH"]);
  expect(quotes.issues).toMatchObject([{ rule: "wrong_type", symbol: "VAVC.US" }]);
});

test("a quote outside a session, without prices of the day, is a quote", async () => {
  const quote = { symbol: "600117.SH", last_price: 8, prev_close: 8, volume: 0, amount: 0, timestamp: 1 };
  const scripted = await startScripted((_, response) =>
    json(response, 200, { data: [{ ...quote, open: null, high: null, low: 0 }] }),
  );
  const quotes = await connectForTest(scripted.url).quotes(["600117.SH"]);
  expect([quotes.issues, quotes.unknown]).toEqual([[], []]);
  expect(quotes.rows()).toMatchObject([{ open: null, high: null, low: 0, last_price: 8 }]);
  expect([quotes.getChild("open")?.get(0), quotes.getChild("low")?.get(0)]).toEqual([null, 0]);
});

test("universes are not called unknown where the key may not ask for the list", async () => {
  const scripted = await startScripted(({ path }, response) =>
    path === "/v1/universes"
      ? json(response, 403, { code: "FORBIDDEN", message: "not with this key" })
      : json(response, 200, { data: [] }),
  );
  const quotes = await connectForTest(scripted.url).quotes({ universes: ["A"] });
  expect([quotes.numRows, quotes.unknown]).toEqual([0, []]);
});

/** A clock at which users of a key look at its records all the time. */
const quick = { ...clock, idle: () => setImmediate() };

test("programs divide a key: the second one says for whom it waits, and nothing reveals the key", async () => {
  const state = temporaryFolder();
  const environment = { XDG_STATE_HOME: state };
  const first = connectForTest(server.url, { environment, clock: quick });
  await first.exchanges();
  const notes: string[] = [];
  const onNote = (text: string): void => void notes.push(text);
  const second = connectForTest(server.url, { environment, clock: quick, onNote });
  expect((await second.exchanges()).numRows).toBeGreaterThan(0);
  expect(notes).toEqual([
    expect.stringMatching(
      /^the key for 127\.0\.0\.1:\d+ is used by "a program" \(process \d+ on .+, 100 %\): waiting for a part of it$/,
    ),
  ]);
  await first.close();
  await expect(first.exchanges()).rejects.toThrow("it was closed");
  await second.close();
  const files = readdirSync(state, { recursive: true, encoding: "utf8" })
    .map((name) => join(state, name))
    .filter((path) => statSync(path).isFile());
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    expect(file + readFileSync(file, "utf8")).not.toContain("secret-key");
    expect(statSync(file).mode & 0o077).toBe(0);
  }
});

test("a service that is closed while it waits for its part of the key ends its requests", async () => {
  const environment = { XDG_STATE_HOME: temporaryFolder() };
  const first = connectForTest(server.url, { environment });
  await first.exchanges();
  const closed: MarketService = connectForTest(server.url, {
    environment,
    onNote: () => void closed.close(),
  });
  await expect(closed.exchanges()).rejects.toThrow(/^key for 127\.0\.0\.1:\d+ was released$/);
});

test("a key whose use cannot be recorded sends nothing", async () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  const scripted = await startScripted((_, response) => json(response, 200, { data: [] }));
  const broken = connectForTest(scripted.url, { environment: { XDG_STATE_HOME: file } });
  await expect(broken.exchanges()).rejects.toMatchObject({
    message: expect.stringContaining(`the use of the key cannot be recorded in ${file}`),
    hint: "set XDG_STATE_HOME to a folder that can be written",
  });
  expect(scripted.seen).toEqual([]);
});

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

test("a run that waits for another one of the lake has no part of the key until then", async () => {
  const environment = { XDG_STATE_HOME: temporaryFolder() };
  const asked = gate();
  const answered = gate();
  const scripted = await startScripted((_, response) => {
    asked.open();
    void answered.opened.then(() => json(response, 200, { data: [] }));
  });
  const records = (): string[] =>
    readdirSync(environment.XDG_STATE_HOME, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".share.json"),
    );
  await using mine = openLake(join(temporaryFolder(), "mine"), { hasDatabase: false, threads: 1, clock });
  const run = (onProgress: NonNullable<LakeRunOptions["onProgress"]>) =>
    mine.run("reference", {
      service: connectForTest(scripted.url, { environment, clock: quick }),
      onProgress,
    });
  const first = run(() => {});
  await asked.opened;
  const waits = gate();
  const second = run(({ doing }) => {
    if (doing.startsWith("waiting for")) waits.open();
  });
  await waits.opened;
  expect(records()).toHaveLength(1);
  answered.open();
  expect((await first).requests.sent).toBeGreaterThan(0);
  await second;
});

test("connect needs an address, from the caller or the environment", () => {
  expect(() => connect({ environment: {} })).toThrow("connect: there is no address of a service");
  // A service may answer without a key.
  expect(connect({ url: "http://127.0.0.1:9", environment: {} }).host).toBe("127.0.0.1:9");
  expect(() => connect({ url: "ftp://x", apiKey: "k", environment: {} })).toThrow(UsageError);
  const environment = { BARLAKE_URL: "http://127.0.0.1:9", BARLAKE_API_KEY: "k" };
  expect(connect({ environment }).host).toBe("127.0.0.1:9");
});

test.each([
  [{ requestsPerMinute: 0 }, "connect: requestsPerMinute: 0 is not a number in its range"],
  [{ requestsPerMinute: Number.NaN }, "connect: requestsPerMinute: NaN is not a number"],
  [{ requestsPerMinute: { klines: -1 } }, "connect: requestsPerMinute.klines: -1 is not a number"],
  [{ requestsPerMinute: { bars: 5 } as never }, "connect: requestsPerMinute.bars is not known"],
  [{ responseLimits: { maxResponseMs: -1 } }, "connect: responseLimits.maxResponseMs: -1 is not a number"],
  [{ share: 2 }, "connect: share: 2 is not a number in its range"],
  [{ apiKey: "secret\nkey" }, "API key has a character that cannot be sent"],
])("connect refuses %j", (options, message) => {
  const call = () => connect({ url: "http://localhost:1", apiKey: "key", ...options });
  expect(call).toThrow(UsageError);
  expect(call).toThrow(message);
  expect(call).not.toThrow("secret");
});

test("calls without what they need are refused with a hint, also where nothing checks types", async () => {
  const untyped = connectForTest("http://localhost:1") as unknown as Record<
    string,
    (...given: unknown[]) => Promise<unknown>
  >;
  for (const given of [undefined, "600519.SH", [], {}])
    await expect((async () => untyped.quotes?.(given))()).rejects.toThrow("quotes: neither symbols nor");
  await expect((async () => untyped.klines?.(["600519.SH"]))()).rejects.toThrow("neither from nor count");
});

test("docs/library.md names a method for every endpoint of the interface", () => {
  const text = readFileSync(new URL("../../../docs/library.md", import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| `service\.([\w.]+)\(.*\| (.*) \|$/gm)];
  const named = rows.flatMap(([, , endpoints = ""]) =>
    [...endpoints.matchAll(/`((?:GET|POST) [^`]+)`/g)].map(([, endpoint]) => endpoint),
  );
  const own = Object.values(ENDPOINTS).map(
    ({ method, path }) => `${method} ${path.replaceAll(/:([a-z]+)/g, "{$1}")}`,
  );
  expect(new Set(named)).toEqual(new Set(own));
  expect(named).toHaveLength(own.length);
  for (const [, path = ""] of rows) {
    const method = path
      .split(".")
      .reduce<unknown>((of, name) => (of as Record<string, unknown>)[name], service);
    expect(typeof method, path).toBe("function");
  }
});
