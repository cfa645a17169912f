import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { tableFromIPC } from "@uwdata/flechette";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type LakeConnection, openLake } from "../../src/api/lake/open-lake.js";
import { parseTradingDate } from "../../src/core/time.js";
import { Session } from "../../src/db/session/session.js";
import type { Lake, PointInTime } from "../../src/lake/lake.js";
import { Rejects } from "../../src/lake/land/rejects.js";
import { openReader } from "../../src/lake/open-reader.js";
import { instantOf } from "../../src/market/zone.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { TABLES } from "../../src/schema/tables.js";
import { type Service, startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { startWorkspace } from "../../src/ui/start-workspace.js";
import { IS_REPEAT, once } from "../once.js";
import { KEY, landedBar, landRows, newLake } from "../serve/served-lake.js";
import { cases, SWEEP } from "../sweep.js";
import { PATIENT } from "../ui/patient-session.js";
import { admitted } from "../ui/workspace-visit.js";
import { fillNightly, type Night, type NightlyLake } from "./nightly-lake.js";
import { queryLake } from "./temporary-lake.js";

/** Calls of the macros that read tables; `$` is a date. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  adjusted: [
    "adjusted('1d', 'forward')",
    "adjusted('1d', 'backward')",
    "adjusted('1d', 'forward_additive', as_of := DATE '$')",
    "adjusted('1w', 'forward')",
    "adjusted('1m', 'none')",
    "adjusted('30m', 'forward')",
  ],
  bars: ["bars('1M')", "bars('5m')"],
  adjustment_steps: ["adjustment_steps('forward')", "adjustment_steps('backward', as_of := DATE '$')"],
  total_return: ["total_return('1d')"],
  histories: ["histories((SELECT list(symbol) FROM bar_spans), '1d', 'forward')"],
  history: ["history('@', '1d', 'backward')"],
  instruments_asof: ["instruments_asof(NULL)", "instruments_asof(DATE '$')"],
  members: ["members('CN_Equity_A')", "members('SIM_CN_1', DATE '$')"],
  statements_asof: ["statements_asof()", "statements_asof(DATE '$')"],
  ex_terms: ["ex_terms()"],
  ex_events_until: ["ex_events_until(DATE '$')"],
  price_stretches_until: ["price_stretches_until(DATE '$')"],
  stated_events: ["stated_events()"],
  symbol_names: ["symbol_names()"],
  known_versions: ["known_versions('raw.income')", "known_versions('raw.shares')"],
  known_statements: ["known_statements('raw.metrics')"],
};
/** What is not of rows: the versions of tables, and files of rejects, which no version has. */
const OF_FILES = new Set(["tables", "raw.tables", "rejects", "raw.rejects"]);
/** Columns with the time at which the lake itself saw something that was public before. */
const SEEN = ["first_seen_at"];

const SETTINGS: NightlyLake = {
  seed: 5,
  symbols: 18,
  days: 170,
  end: parseTradingDate("2026-03-31"),
  // The nights that are compared are those between the first and the last one.
  nights: cases({ few: 3, all: 20 }),
  regions: ["CN", "HK", "US"],
};

const DATASET = {
  name: "panel",
  universe: { region: "CN" as const },
  from: "2025-06-01",
  fields: [
    "open",
    "close",
    "volume",
    "amount",
    "total_equity",
    "revenue",
    "price_to_book",
    "revenue_ttm",
    "roe",
  ],
};
const PATHS = [
  "/v1/klines/batch?symbols=@&period=1d&adjust=forward&count=50",
  "/v1/klines/batch?symbols=@&period=1w&adjust=none&count=20",
  "/v1/klines/batch?symbols=@&period=1m&adjust=none&count=100",
  "/v1/klines/ex-factors?symbols=@",
  "/v1/klines/intraday/batch?symbols=@",
  "/v1/quotes?symbols=@",
  "/v1/instruments?symbols=@",
  "/v1/exchanges",
  "/v1/universes",
  ...["balance-sheet", "cash-flow", "income", "metrics", "shares"].map(
    (name) => `/v1/financials/${name}?symbols=@`,
  ),
];

const COMMIT = Number.parseInt((process.env.TEST_COMMIT ?? "0").slice(0, 6), 16);
const SQL_OF = "SELECT sql FROM duckdb_views() WHERE schema_name = 'raw' AND view_name = $1";
/** Queries that `npm test` compares; the long tests compare all. */
const FEW = 14;

/** Everything that can be queried: views, tables as stored, calls of macros. */
async function queriesIn(session: Session): Promise<string[]> {
  const views = await session.json<{ name: string }>(
    `SELECT CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || view_name AS name
     FROM duckdb_views() WHERE NOT internal ORDER BY name`,
  );
  const names = views.map(({ name }) => name).filter((name) => !OF_FILES.has(name));
  const all = [...names, ...Object.values(CALLS).flat()];
  const part = cases({ few: FEW, more: all.length, all: all.length });
  const at = COMMIT % all.length;
  return part >= all.length ? all : [...all, ...all].slice(at, at + part);
}

/** The rows of a query as texts, ordered; numbers have twelve digits, as sums depend on the order of rows. */
async function rowsOf(session: Session, query: string): Promise<string[]> {
  return textsOf(await session.json<object>(`SELECT * FROM ${query}`));
}

function textsOf(rows: readonly object[]): string[] {
  const rounded = (name: string, value: unknown): unknown => {
    if (SEEN.includes(name)) return undefined;
    if (typeof value === "bigint") return String(value);
    return typeof value === "number" ? Number(value.toPrecision(12)) : value;
  };
  return rows.map((row) => JSON.stringify(row, rounded)).sort();
}

/** The queries that have other rows in one session than in the other, each with the first rows that differ. */
async function differences(
  known: Session,
  cut: Session,
  date: string,
  queries?: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  const [{ symbol } = { symbol: "" }] = await cut.json<{ symbol: string }>(
    "SELECT max(symbol) AS symbol FROM bar_spans",
  );
  for (const query of queries ?? (await queriesIn(cut))) {
    const sql = query.replaceAll("$", date).replaceAll("@", symbol);
    const [has, expected] = await Promise.all([rowsOf(known, sql), rowsOf(cut, sql)]);
    const [others, missing] = [has.filter(notIn(expected)), expected.filter(notIn(has))];
    if (has.length !== expected.length || others.length + missing.length > 0)
      found.push(`${date} ${query}: ${has.length} rows, not ${expected.length}; ${others[0]}; ${missing[0]}`);
  }
  return found;
}

function notIn(rows: readonly string[]): (row: string) => boolean {
  const all = new Set(rows);
  return (row) => !all.has(row);
}

async function withReaders<T>(
  lake: Lake,
  states: readonly [known: PointInTime, cut: PointInTime],
  use: (known: Session, cut: Session) => Promise<T>,
): Promise<T> {
  const open = async (state: PointInTime): Promise<Session> =>
    (await openReader(lake, { threads: 1, verify: false }, state)).session;
  const [known, cut] = [await open(states[0]), await open(states[1])];
  try {
    return await use(known, cut);
  } finally {
    known.close();
    cut.close();
  }
}

/** The first one reaches every rule; the others differ from commit to commit. */
const SEEDS = [SETTINGS.seed, COMMIT % 9973, COMMIT % 9871, COMMIT % 9769].slice(
  0,
  cases({ few: 1, more: 2, all: 4 }),
);

describe.each(SEEDS)("a lake that runs each night, of the market %i", (seed) => {
  const { lake, remove } = newLake();
  let nights: Night[];
  beforeAll(async () => {
    nights = await fillNightly(lake, { ...SETTINGS, seed });
    return remove;
  });

  test("knows at a date what it had when it was filled until then", async () => {
    const found: string[] = [];
    for (const { date, now } of nights.slice(1, -1))
      found.push(
        ...(await withReaders(lake, [{ knownAt: date }, { asOf: now }], (known, cut) =>
          differences(known, cut, date),
        )),
      );
    expect(found).toEqual([]);
  });

  test.skipIf(IS_REPEAT || seed !== SETTINGS.seed)(
    "shows a difference where the rule of any table is missing",
    async () => {
      const { date, now } = nights[0] as Night;
      const { session: whole } = await openReader(lake, { threads: 1, verify: false });
      onTestFinished(() => whole.close());
      const unseen = await withReaders(lake, [{ knownAt: date }, { asOf: now }], async (known, cut) => {
        const found: string[] = [];
        for (const { name } of TABLES) {
          const [view] = await whole.json<{ sql: string }>(SQL_OF, [name]);
          const [own] = await known.json<{ sql: string }>(SQL_OF, [name]);
          const replace = (sql = ""): Promise<unknown> =>
            known.run(sql.replace(/^CREATE VIEW/, "CREATE OR REPLACE VIEW"));
          await replace(view?.sql);
          if (isDeepStrictEqual(await rowsOf(known, `raw.${name}`), await rowsOf(cut, `raw.${name}`)))
            found.push(name);
          await replace(own?.sql);
        }
        return found;
      });
      expect(unseen).toEqual([]);
    },
  );

  test.runIf(SWEEP !== "few")(
    "by announcement, it knows what it would have known, had it been there",
    async () => {
      const { lake: late, remove: removeLate } = newLake();
      onTestFinished(removeLate);
      await fillNightly(late, { ...SETTINGS, seed, isBackfilled: true });
      const { date, now } = nights[1] as Night;
      const known = (await openReader(late, { threads: 1, verify: false }, { knownAt: date })).session;
      const cut = (await openReader(lake, { threads: 1, verify: false }, { asOf: now })).session;
      const ofStatements = (await queriesIn(cut)).filter((query) =>
        /income|balance_sheet|cash_flow|metrics|statements|daily_fundamentals/.test(query),
      );
      const found = await differences(known, cut, date, ofStatements);
      known.close();
      cut.close();
      expect(ofStatements.length).toBeGreaterThan(15);
      expect(found).toEqual([]);
    },
  );
});

describe("one region, at the time of a run", () => {
  const { lake, remove } = newLake();
  let nights: Night[];
  beforeAll(async () => {
    nights = await fillNightly(lake, { ...SETTINGS, regions: ["CN"] });
    return remove;
  });

  test("every view at an instant", async () => {
    const { date, now } = nights[1] as Night;
    const states = [{ knownAt: now }, { asOf: now }] as const;
    expect(await withReaders(lake, states, (known, cut) => differences(known, cut, date))).toEqual([]);
  });

  test.runIf(SWEEP !== "few")("bars from segments, whole and adjusted, and datasets", async () => {
    const { date, now } = nights[1] as Night;
    const at = { segments: { folder: join(lake.location, "..", "segments") }, verify: false };
    await using known = openLake(lake.location, { ...at, knownAt: date });
    await using cut = openLake(lake.location, { ...at, asOf: now });
    await known.buildSegments(["bars_1d", "bars_1m"]);
    await cut.buildSegments(["bars_1d", "bars_1m"]);
    const spans = await cut.query<{ symbol: string }>("SELECT symbol FROM bar_spans ORDER BY symbol LIMIT 3");
    const some = spans.toArray().map(({ symbol }) => symbol);
    for (const table of ["bars_1d", "bars_1m"])
      for (const adjust of [undefined, "none", "forward", "backward_additive"] as const) {
        const rows = async (one: LakeConnection): Promise<string[]> =>
          textsOf((await one.read<object>(table, { symbols: some, adjust })).toArray());
        const expected = await rows(cut);
        expect(expected.length).toBeGreaterThan(0);
        expect(await rows(known)).toEqual(expected);
      }
    // From here on, the lake has copies for SQL, which those of the time before do not fit.
    for (const query of ["raw.bars_1d", "adjusted('1d', 'forward')", "bars('5m')", "daily_valuation"]) {
      const rows = async (one: LakeConnection): Promise<string[]> =>
        textsOf((await one.query<object>(`FROM ${query}`)).toArray());
      expect(await rows(known)).toEqual(await rows(cut));
    }
    const [has, expected] = [await known.dataset(DATASET).columns(), await cut.dataset(DATASET).columns()];
    expect(has.dates.at(-1)).toBe(date);
    expect([has.fields, has.dates]).toEqual([expected.fields, expected.dates]);
  });

  once("every endpoint of a service", async () => {
    const { now } = nights[1] as Night;
    const clock = { now: () => now };
    const serve = (pointInTime: PointInTime): Promise<Service> =>
      startService(lake, { port: 0, keys: plainKeys([KEY]), clock, pointInTime, verify: false });
    const [known, cut] = [await serve({ knownAt: now }), await serve({ asOf: now })];
    try {
      const ask = async ({ url }: Service, path: string): Promise<unknown> =>
        (await fetch(`${url}${path}`, { headers: { "x-api-key": KEY } })).json();
      const listed = (await ask(cut, "/v1/exchanges/SH/instruments")) as { data: { symbol: string }[] };
      const symbols = listed.data.map(({ symbol }) => symbol).join(",");
      for (const path of PATHS) {
        const named = path.replace("@", symbols);
        const [has, expected] = [await ask(known, named), await ask(cut, named)];
        expect(expected).toHaveProperty("data");
        expect({ path, has }).toEqual({ path, has: expected });
      }
      const set = { method: "POST", headers: { "x-api-key": KEY, "content-type": "application/json" } };
      expect((await fetch(`${known.url}/replay`, { ...set, body: '{"speed":1}' })).status).toBe(403);
    } finally {
      await known.close();
      await cut.close();
    }
  });

  test.runIf(SWEEP !== "few")("every page of the workspace, also from its caches", async () => {
    const { date, now } = nights[1] as Night;
    const workspace = await startWorkspace(lake, {
      limits: PATIENT,
      clock: { ...lake.clock, now: () => (nights.at(-1) as Night).now },
    });
    onTestFinished(() => workspace.close());
    const cookie = await admitted(workspace.port, workspace.address());
    const get = async (path: string): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${workspace.port}/api/${path}`, { headers: { cookie } });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      const bytes = new Uint8Array(await response.arrayBuffer());
      return path.startsWith("bars")
        ? textsOf(tableFromIPC(bytes).toArray()).join("\n")
        : Buffer.from(bytes).toString();
    };
    const stateAt = async (query: string): Promise<string> =>
      (JSON.parse(await get(`state?${query}`)) as { state: string }).state;
    const whole = await stateAt("");
    const [known, cut] = [
      await stateAt(`known=${new Date(now).toISOString()}`),
      await stateAt(`asof=${now}`),
    ];
    const symbols = (
      await queryLake<{ symbol: string }>(lake, "SELECT symbol FROM bar_spans ORDER BY symbol", { asOf: now })
    ).map(({ symbol }) => symbol);
    const some = symbols.slice(0, 2);
    const paths = [
      "market?",
      `quotes?symbols=${symbols.join(",")}`,
      "coverage?",
      `missing?dataset=bars_1d&region=CN&month=${date.slice(0, 7)}`,
      "search?q=60&whole=1",
      ...some.flatMap((symbol) => [
        `instrument?symbol=${symbol}&compare=${symbols.join(",")}`,
        `statements?symbol=${symbol}`,
        ...["1w", "5m"].flatMap((period) =>
          ["none", "forward"].map((adjust) => `bars?symbol=${symbol}&period=${period}&adjust=${adjust}`),
        ),
      ]),
    ];
    const linesOf = async (path: string, state: string): Promise<string[]> =>
      (await get(`${path}&state=${state}`)).split("\n");
    const found: string[] = [];
    let later = 0;
    // A second time, answers come from caches that the states before have filled.
    for (const [index, path] of [...paths, ...paths].entries()) {
      const [has, expected] = [await linesOf(path, known), await linesOf(path, cut)];
      // A page of minutes goes back further where the lake has months after it.
      if (path.startsWith("bars")) has.splice(0, has.length - expected.length);
      if (!isDeepStrictEqual(has, expected))
        found.push(`${path}: ${has.find(notIn(expected))?.slice(0, 300)}`);
      if (index < paths.length && !isDeepStrictEqual(has, await linesOf(path, whole))) later++;
    }
    expect(found).toEqual([]);
    expect(later).toBeGreaterThan(paths.length / 2);
  });

  once("a running day is a bar of its ended minutes, as in a replay", async () => {
    const { date } = nights.at(-1) as Night;
    const at = instantOf(date, "Asia/Shanghai", 10 * 60 + 30);
    await using library = openLake(lake.location, { verify: false, knownAt: at, segments: false });
    const rows = await library.query<Record<string, number>>(
      `SELECT symbol, open, high, low, close, shares, is_final FROM bars_1d WHERE trade_date = '${date}' ORDER BY symbol`,
    );
    const minutes = await library.query<Record<string, number>>(
      `SELECT symbol, arg_min(open, "timestamp") AS open, max(high) AS high, min(low) AS low, arg_max(close, "timestamp") AS close,
         sum(shares)::BIGINT AS shares, false AS is_final
       FROM (SELECT * REPLACE (if(open = 0, close, open) AS open, if(high = 0, close, high) AS high, if(low = 0, close, low) AS low) FROM bars_1m)
       WHERE trade_date = '${date}' GROUP BY symbol ORDER BY symbol`,
    );
    expect(rows.toArray().length).toBeGreaterThan(3);
    expect(textsOf(rows.toArray())).toEqual(textsOf(minutes.toArray()));
    await expect(library.query("FROM bars_1d", {}, { knownAt: at + 60_000 })).rejects.toThrow(
      "is later than the lake was opened for",
    );
  });

  once("a bar that was corrected later has the value of the time with both clocks", async () => {
    const { date, now } = nights[0] as Night;
    const closes = async (state: PointInTime): Promise<string[]> => {
      const { session } = await openReader(lake, { threads: 1, verify: false }, state);
      using reader = session;
      return await rowsOf(reader, `(SELECT symbol, close FROM bars_1d WHERE trade_date = '${date}')`);
    };
    const before = await closes({ knownAt: date });
    const [first = ""] = before;
    const { symbol, close } = JSON.parse(first) as { symbol: string; close: number };
    const corrected = landedBar(symbol, instantOf(date, "Asia/Shanghai"), close * 2, { lot: 100 });
    await landRows(lake, BARS_1D, [corrected]);
    expect(await closes({ knownAt: date })).not.toEqual(before);
    expect(await closes({ knownAt: date, asOf: now })).toEqual(before);
  });

  once("rejects and facts of tables are those of runs and commits until then", async () => {
    using session = await Session.open({ threads: 1 });
    for (const time of ["20250901T000000Z", "20990101T000000Z"]) {
      await using rejects = new Rejects(session, `${time}-abc`);
      await rejects.add(
        "bars_1d",
        "SELECT 'test' AS source, 1::BIGINT AS line, 'A.SH' AS symbol, '0' AS timestamp, 'ohlc' AS rule, 'r' AS reason, NULL AS row",
      );
      await rejects.save(lake);
    }
    const { date } = nights[0] as Night;
    const [row] = await queryLake<object>(
      lake,
      "SELECT (SELECT list(run_id) FROM rejects) AS runs, (SELECT count(*)::INT FROM raw.tables WHERE name = 'bars_1d') AS tables",
      { knownAt: date },
    );
    // The newest version of the table is of a later night.
    expect(row).toEqual({ runs: ["20250901T000000Z-abc"], tables: 0 });
  });
});
