import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS } from "../../../src/schema/statements.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { KEY, landFinancials, landReference, landRows, serveForFile } from "../../serve/served-lake.js";
import { pythonHas, runPythonAsync } from "../python.js";

const SYMBOLS = ["600000.SH", "600001.SH", "AAPL.US"];
const LIST = SYMBOLS.join(",");
const DAY_MS = 86_400_000;

const served = serveForFile(async (lake) => {
  // Only the first symbol has whole numbers, which a careless writer would make integers.
  const values = SYMBOLS.map((symbol, s) => ({ symbol, s, price: s === 0 ? 10 : 10.25 * s }));
  const bar = (symbol: string, timestamp: number, price: number) => ({
    symbol,
    timestamp,
    open: price,
    high: price,
    low: price,
    close: price,
    volume: 100,
    amount: price * 1000,
    prev_close: price,
  });
  await landRows(
    lake,
    BARS_1D,
    values.flatMap(({ symbol, price }) => {
      const first = Date.parse(symbol.endsWith("US") ? "2024-01-02T05:00Z" : "2024-01-01T16:00Z");
      return [0, 1, 2].map((day) => ({
        ...bar(symbol, first + day * DAY_MS, price),
        ...(day === 2 && { prev_close: price / 2 }),
      }));
    }),
  );
  await landRows(
    lake,
    BARS_1M,
    values.map(({ symbol, price }) =>
      bar(symbol, Date.parse(symbol.endsWith("US") ? "2024-01-02T14:31Z" : "2024-01-02T01:31Z"), price),
    ),
  );
  const of = (symbol: string) => {
    const [code, exchange] = symbol.split(".") as [string, string];
    return { symbol, code, exchange, region: exchange === "US" ? "US" : "CN" };
  };
  await landReference(
    lake,
    INSTRUMENTS,
    SYMBOLS.map((symbol) => ({ ...of(symbol), name: `name of ${symbol}`, type: "stock", total_shares: 1e9 })),
  );
  await landReference(lake, EXCHANGES, [{ exchange: "SH", count: 2, region: "CN" }]);
  await landReference(lake, UNIVERSES, [
    { id: "u", name: "U", category: "c", symbol_count: 2, region: "CN", description: "d" },
  ]);
  await landReference(
    lake,
    UNIVERSE_MEMBERS,
    SYMBOLS.slice(0, 2).map((symbol) => ({ id: "u", symbol, region: "CN" })),
  );
  const statement = { symbol: "600000.SH", period_end: "2023-12-31", announce_date: "2024-03-01" };
  await landFinancials(lake, BALANCE_SHEET, [{ ...statement, total_assets: 7 }]);
  await landFinancials(lake, CASH_FLOW, [{ ...statement, capex: -3.5 }]);
  await landFinancials(lake, INCOME, [{ ...statement, revenue: 9 }]);
  await landFinancials(lake, METRICS, [{ ...statement, roe: 0.1 }]);
});

describe.skipIf(!pythonHas("polars", "pandas", "pyarrow", "duckdb", "pytz"))("Python", () => {
  test("the documented lines read an Arrow stream", async () => {
    const doc = readFileSync(join(import.meta.dirname, "../../../docs/service.md"), "utf8");
    const code = [...doc.matchAll(/```python\n([\s\S]*?)```/g)].map(([, lines]) => lines).join("\n");
    const file = join(temporaryFolder(), "lines.py");
    writeFileSync(file, code.replaceAll("600330.SH,510042.SH", SYMBOLS.join(",")));
    const read = await runPythonAsync("clients/read_service.py", file, served.service.url, KEY);
    const names = [
      "symbol",
      "timestamp",
      "open",
      "high",
      "low",
      "close",
      "volume",
      "amount",
      "open_interest",
      "prev_close",
      "settlement_price",
    ];
    const closes = 3 * (10 + 10.25 + 20.5);
    expect(read).toEqual({
      polars: [
        {
          ...Object.fromEntries(names.map((name) => [name, "Float64"])),
          symbol: expect.stringMatching(/^Categorical/),
          timestamp: "Datetime(time_unit='ms', time_zone='UTC')",
          volume: "Int64",
        },
        9,
        closes,
      ],
      pandas: [names, 9, closes],
      pyarrow: [names, 9, closes],
      versions: '{"bars_1d":0}',
      duckdb: [
        ["600000.SH", 10],
        ["600001.SH", 10.25],
        ["AAPL.US", 20.5],
      ],
    });
  });
});

interface Call {
  readonly method: string;
  readonly args?: readonly unknown[];
  readonly kwargs?: Readonly<Record<string, unknown>>;
  /** Path of a request whose `data` is what the call returns; undefined: the test looks at the result itself. */
  readonly same?: string;
}

const FRAMES = { as_dataframe: true };
const RAW = { adjust: "none" };

/** A call of every method of the public client. */
const CALLS: readonly Call[] = [
  { method: "klines.get", args: ["600000.SH"], kwargs: RAW, same: "/v1/klines?symbol=600000.SH&adjust=none" },
  { method: "klines.get", args: ["AAPL.US"], kwargs: { count: 2, ...FRAMES } },
  { method: "klines.batch", args: [SYMBOLS], same: `/v1/klines/batch?symbols=${LIST}` },
  { method: "klines.batch", args: [SYMBOLS], kwargs: FRAMES },
  { method: "klines.intraday", args: ["600000.SH"], same: "/v1/klines/intraday?symbol=600000.SH" },
  { method: "klines.intraday_batch", args: [SYMBOLS], same: `/v1/klines/intraday/batch?symbols=${LIST}` },
  { method: "klines.intraday_batch", args: [SYMBOLS], kwargs: FRAMES },
  { method: "klines.intraday_universe", args: ["u"], same: "/v1/klines/intraday/universe?universes=u" },
  { method: "klines.intraday_universe", args: [["u"]], kwargs: FRAMES },
  { method: "klines.ex_factors", args: [SYMBOLS], same: `/v1/klines/ex-factors?symbols=${LIST}` },
  { method: "klines.ex_factors", args: [SYMBOLS], kwargs: FRAMES },
  { method: "quotes.get", kwargs: { symbols: SYMBOLS }, same: `/v1/quotes?symbols=${LIST}` },
  { method: "quotes.get", kwargs: { universes: ["u"], ...FRAMES } },
  { method: "quotes.get_by_symbols", args: [SYMBOLS], same: `/v1/quotes?symbols=${LIST}` },
  { method: "quotes.get_by_universes", args: [["u"]], same: "/v1/quotes?universes=u" },
  { method: "instruments.get", args: [SYMBOLS], same: `/v1/instruments?symbols=${LIST}` },
  { method: "instruments.batch", args: [SYMBOLS], same: `/v1/instruments?symbols=${LIST}` },
  { method: "exchanges.list", same: "/v1/exchanges" },
  { method: "exchanges.get_instruments", args: ["SH"], same: "/v1/exchanges/SH/instruments" },
  { method: "universes.list", same: "/v1/universes" },
  { method: "universes.get", args: ["u"], same: "/v1/universes/u" },
  { method: "universes.batch", args: [["u"]] },
  {
    method: "financials.balance_sheet",
    args: [SYMBOLS],
    same: `/v1/financials/balance-sheet?symbols=${LIST}`,
  },
  { method: "financials.balance_sheet", args: [SYMBOLS], kwargs: FRAMES },
  { method: "financials.cash_flow", args: [SYMBOLS], same: `/v1/financials/cash-flow?symbols=${LIST}` },
  { method: "financials.income", args: [SYMBOLS], same: `/v1/financials/income?symbols=${LIST}` },
  { method: "financials.metrics", args: [SYMBOLS], same: `/v1/financials/metrics?symbols=${LIST}` },
  { method: "financials.shares", args: [SYMBOLS], same: `/v1/financials/shares?symbols=${LIST}` },
];

/** What the service refuses, and the client's error. A method that is served becomes a line of {@link CALLS}. */
const REFUSED: readonly (Call & { readonly error: string; readonly code: string })[] = [
  { method: "depth.get", args: ["600000.SH"], error: "PermissionError", code: "NO_DEPTH_PERMISSION" },
  { method: "depth.batch", args: [SYMBOLS], error: "PermissionError", code: "NO_DEPTH_PERMISSION" },
  { method: "klines.get", args: ["0.SH"], error: "NotFoundError", code: "SYMBOL_NOT_FOUND" },
  {
    method: "klines.get",
    args: ["600000.SH"],
    kwargs: { period: "2d" },
    error: "BadRequestError",
    code: "INVALID_PERIOD",
  },
];

type Result = Readonly<Record<string, unknown>>;
interface Frame {
  readonly types: Readonly<Record<string, string>>;
  readonly rows: readonly unknown[];
}

describe.skipIf(!pythonHas("tickflow", "pandas"))("the public client", () => {
  let methods: readonly string[];
  let results: Readonly<Record<string, readonly [Result, Result]>>;

  beforeAll(async () => {
    const calls = Object.fromEntries([...CALLS, ...REFUSED].map((call) => [labelOf(call), call]));
    const found = await runPythonAsync(
      "clients/public_client.py",
      served.service.url,
      KEY,
      JSON.stringify(calls),
    );
    ({ methods, results } = found as { methods: typeof methods; results: typeof results });
  });

  test("every method is called, and listed in docs/service.md", () => {
    const called = [...CALLS, ...REFUSED].map(({ method }) => method);
    const ofStreams = methods.filter((method) => /^(stream|realtime)\./.test(method));
    expect(methods).toEqual([...new Set([...called, ...ofStreams])].sort());
    const doc = readFileSync(join(import.meta.dirname, "../../../docs/service.md"), "utf8");
    const section = doc.split("\n## ").find((text) => text.startsWith("The public Python client")) ?? "";
    const listed = [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, method]) => method),
    );
    expect(new Set(listed)).toEqual(new Set(methods));
    expect(listed).toHaveLength(methods.length);
  });

  test.each(CALLS.map((call) => [labelOf(call), call] as const))("%s", async (label, { same }) => {
    const [sync, async_] = results[label] as readonly [Result, Result];
    expect(async_).toEqual(sync);
    expect(sync).not.toHaveProperty("error");
    if (same === undefined) return;
    expect(sync).toEqual((await served.ask<{ readonly data: unknown }>(same)).body.data);
  });

  test("frames have the same types for every symbol", () => {
    const frames = CALLS.filter(
      ({ method, kwargs }) => kwargs?.as_dataframe && /batch|universe$/.test(method),
    );
    expect(frames).toHaveLength(3);
    for (const call of frames) {
      const bySymbol = Object.values(results[labelOf(call)]?.[0] ?? {}) as Frame[];
      expect(bySymbol.length).toBeGreaterThan(1);
      for (const { types, rows } of bySymbol) {
        expect(rows.length).toBeGreaterThan(0);
        expect(types).toMatchObject({
          open: "float64",
          close: "float64",
          amount: "float64",
          volume: "int64",
        });
        expect(types).toEqual(bySymbol[0]?.types);
      }
    }
  });

  test.each(REFUSED.map((call) => [labelOf(call), call] as const))(
    "refused: %s",
    (label, { error, code }) => {
      expect(results[label]).toEqual([
        { error, code },
        { error, code },
      ]);
    },
  );

  test("a wrong key is an error of authentication", () => {
    expect(results["a wrong key"]?.[0]).toEqual({ error: "AuthenticationError", code: "UNAUTHORIZED" });
  });
});

describe.skipIf(!pythonHas("tickflow", "websockets"))("the stream of the public client", () => {
  interface Followed {
    readonly quotes: readonly unknown[];
    readonly errors: readonly string[];
    readonly ended: boolean;
  }
  let results: Readonly<Record<string, Followed & readonly string[]>>;

  beforeAll(async () => {
    const args = [served.service.url, KEY, "600000.SH", "0.SH"];
    results = (await runPythonAsync("clients/public_stream.py", ...args)) as typeof results;
  });

  test.each(["stream", "realtime", "async stream", "async realtime"])(
    "%s: quotes, errors, the end",
    async (name) => {
      const { body } = await served.ask<{ readonly data: unknown }>("/v1/quotes?symbols=600000.SH");
      const message = 'symbols "0.SH" are not known; subscribed to the other 0, 1 in all';
      expect(results[name]).toEqual({ quotes: body.data, errors: [message], ended: true });
    },
  );

  test("a wrong key is refused in the handshake, and not tried again", () => {
    expect(results["a wrong key"]).toEqual([expect.stringContaining("UNAUTHORIZED")]);
  });

  test("a channel that is not served is an error of the stream", () => {
    expect(results.depth).toEqual(['channel "depth" is not served; the only one is "quotes"']);
  });
});

function labelOf({ method, args = [], kwargs = {} }: Call): string {
  return `${method}(${JSON.stringify(args)}, ${JSON.stringify(kwargs)})`;
}
