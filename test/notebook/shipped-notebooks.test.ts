import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { landActions as landActionRows } from "../../src/lake/land/land-versions.js";
import { openReader } from "../../src/lake/open-reader.js";
import { notebookPage } from "../../src/notebook/page/notebook-page.js";
import { parseNotebook } from "../../src/notebook/parse/parse-notebook.js";
import type { CellRun } from "../../src/notebook/run-notebook.js";
import { shippedNotebooks } from "../../src/notebook/shipped-notebooks.js";
import { CORPORATE_ACTIONS } from "../../src/schema/actions.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { land, openSession, T0, temporaryFolder, temporaryLake } from "../lake/temporary-lake.js";
import { once } from "../once.js";
import { newLake } from "../serve/served-lake.js";
import { fillSimulated } from "../sql/simulated-lake.js";
import { pickFrom } from "../sweep.js";
import { countOf, hasChromium, openPage } from "./chromium.js";
import { runText } from "./run-cells.js";

/** The market of other files, too: its lake is filled once. */
const MARKET = { symbols: 24, days: 400, end: "2026-03-31", minuteDays: 8 };

/** Values that fit a small lake. */
const GIVEN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "factor-deciles": { groups: "5" },
  screen: { region: "CN", price_to_book: "1000", revenue_growth: "-1", momentum: "-1" },
};

/** Cells that a faultless simulated market has no rows for, by the titles of what they show. */
const EMPTY: Readonly<Record<string, readonly string[]>> = {
  "data-quality": ["Contradictions and wrong units", "Rows set aside", "Newest runs"],
};

const shipped = shippedNotebooks();
/** Those that a browser opens; another browser for each takes longer than its cells. */
const opened = pickFrom(shipped, { few: 1, more: 2, all: 8 });
const textOf = (name: string): string =>
  readFileSync(shipped.find((one) => one.name === name)?.path ?? name, "utf8");

once("eight notebooks come with it, each with a heading and a description", () => {
  expect(shipped.map(({ name, title }) => [name, title])).toEqual([
    ["data-quality", "Data quality"],
    ["dividends", "Dividends and splits"],
    ["earnings-announcements", "Earnings announcements"],
    ["factor-deciles", "Factor deciles"],
    ["fundamentals", "Fundamentals"],
    ["instrument", "Instrument"],
    ["market-overview", "Market overview"],
    ["screen", "Screen"],
  ]);
  for (const { name, description } of shipped) expect(description, name).toMatch(/^[A-Z][^`*]+\.$/);
});

/** What the cells of a notebook show without a Chinese name: columns of results, and series of charts. */
function unnamed(name: string, runs: readonly CellRun[]): string[] {
  const names = parseNotebook(textOf(name), name, "zh").names;
  const shown = runs.flatMap(({ results, chart }) => [
    ...results.flatMap(({ columns }) => columns.map((column) => column.name)),
    // Series are words of the notebook, numbers of groups, or regions.
    ...(chart?.channels.color ?? []).flatMap(({ kind, values }) =>
      kind === "text" ? values.map(String) : [],
    ),
  ]);
  return [...new Set(shown)].filter(
    (word) => !/^(?:\d+|CN|HK|US)$/.test(word) && !/\p{Script=Han}|^(?:IC|MB)$/u.test(names?.get(word) ?? ""),
  );
}

once.each(shipped)("$name: every text is there in English and in Chinese", ({ name }) => {
  const [english, chinese] = (["en", "zh"] as const).map((language) => {
    const { title, cells, parameters, names } = parseNotebook(textOf(name), name, language);
    const texts = cells.flatMap(({ prose, view }) => [prose, view.title, view.empty]);
    return [title, ...texts, ...parameters.map((one) => names?.get(one.name) ?? one.name)];
  }) as [(string | undefined)[], (string | undefined)[]];
  expect(chinese.length).toBe(english.length);
  const isOf = (text: string | undefined, isChinese: boolean): boolean =>
    text === undefined || text === "" || /\p{Script=Han}/u.test(text) === isChinese;
  expect(english.filter((text) => !isOf(text, false))).toEqual([]);
  expect(chinese.filter((text) => !isOf(text, true))).toEqual([]);
  expect(chinese.map((text) => text === undefined)).toEqual(english.map((text) => text === undefined));
  const { title, description } = shippedNotebooks("zh").find((one) => one.name === name) ?? {};
  expect(title).toBe(chinese[0]);
  expect(description).toMatch(/^\p{Script=Han}[^`*]+。$/u);
});

describe("on a simulated market", () => {
  const { lake, remove } = newLake();
  let reader: Session;
  /** The symbol with the most actions. */
  let paying: string;

  beforeAll(async () => {
    await fillSimulated(lake.location, MARKET);
    paying = await landActions(lake);
    reader = (await openReader(lake)).session;
  });
  afterAll(() => {
    reader.close();
    remove();
  });

  test.each(pickFrom(shipped, { few: 4, more: 8, all: 8 }))(
    "$name: every cell gives rows, and its charts are drawn",
    async ({ name }) => {
      const { notebook, runs, parameters } = await runText(
        textOf(name),
        name === "dividends" ? { symbol: paying } : GIVEN[name],
        reader,
      );
      expect(runs.filter(({ fault }) => fault !== undefined).map(({ fault }) => fault)).toEqual([]);
      const empty = runs.filter(({ results }) => results.some(({ rows }) => rows === 0));
      expect(empty.map(({ cell }) => cell.view.title)).toEqual(EMPTY[name] ?? []);
      const charts = runs.filter(({ chart }) => chart !== undefined).length;
      expect(charts).toBeGreaterThanOrEqual(3);
      expect(unnamed(name, runs)).toEqual([]);
      const page = await notebookPage({
        ...notebook,
        parameters,
        runs,
        tables: [],
        pointInTime: {},
        madeAt: 0,
        version: "1",
      });
      if (!opened.some((one) => one.name === name) || !hasChromium()) return;
      const file = join(temporaryFolder(), `${name}.html`);
      writeFileSync(file, page);
      const seen = openPage(file);
      expect(seen.console).toEqual([]);
      const figures = seen.dom.split('<figure class="chart ').slice(1);
      expect(figures).toHaveLength(charts);
      for (const figure of figures) {
        const drawn = figure.split("</figure>")[0] ?? "";
        expect(countOf(drawn, "<canvas") > 2 || /<svg[\s>]/.test(figure)).toBe(true);
      }
    },
  );

  once("the event study's windows are those that a plain count of sessions gives", async () => {
    await runText(textOf("earnings-announcements"), { region: "CN", span: "3" }, reader);
    const sessions = await column(
      "SELECT trade_date::VARCHAR FROM trading_calendar WHERE region = 'CN' ORDER BY 1",
    );
    const announced = await reader.json<{ symbol: string; period: string; day: string }>(
      "SELECT symbol, period_end::VARCHAR AS period, min(announce_date)::VARCHAR AS day FROM raw.balance_sheet WHERE region = 'CN' AND announce_date IS NOT NULL GROUP BY ALL",
    );
    const expected = announced.flatMap(({ symbol, period, day }) => {
      const at = sessions.findIndex((session) => session >= day);
      const isWithin = day >= (sessions[0] ?? "") && at >= 3 && at + 3 < sessions.length;
      return isWithin ? [`${symbol} ${period} ${sessions[at]}`] : [];
    });
    expect(expected.length).toBeGreaterThan(50);
    const found = await column("SELECT symbol || ' ' || period_end || ' ' || day_0 FROM events");
    expect(found.sort()).toEqual(expected.sort());
    const days = await reader.json(
      "SELECT w.day, w.symbol FROM windows AS w JOIN events AS e USING (symbol, period_end) ANTI JOIN bars_1d AS b ON b.symbol = w.symbol",
    );
    expect(days).toEqual([]);
    const [sum] = await column(
      "SELECT max(abs(s)) FROM (SELECT sum(abnormal_return) AS s FROM abnormal GROUP BY trade_date)",
    );
    expect(Number(sum)).toBeLessThan(1e-12);
  });

  function column(sql: string): Promise<string[]> {
    return firstColumn(reader, sql);
  }
});

async function firstColumn(reader: Session, sql: string): Promise<string[]> {
  return (await reader.json<Record<string, string>>(sql)).map((row) => String(Object.values(row)[0]));
}

/**
 * Lands the actions that explain the ex-events of a simulated market: the first one of each symbol as a split, all others
 * as dividends. @returns the symbol with the most of them
 */
async function landActions(lake: Lake): Promise<string> {
  const { session } = await openReader(lake);
  using reader = session;
  const rows = await reader.json<Record<string, string | number>>(
    `SELECT symbol, ex_date::VARCHAR AS ex_date, 'test' AS source, region,
       CASE WHEN nth = 1 THEN 'split' ELSE 'cash_dividend' END AS kind,
       CASE WHEN nth = 1 THEN factor END AS ratio, CASE WHEN nth > 1 THEN amount END AS cash
     FROM (SELECT *, row_number() OVER (PARTITION BY symbol ORDER BY ex_date) AS nth FROM ex_events)`,
  );
  await landRows(reader, lake, rows);
  const [most] = await reader.json<{ symbol: string }>(
    "SELECT symbol FROM ex_events GROUP BY symbol ORDER BY count(*) DESC, symbol LIMIT 1",
  );
  return most?.symbol ?? "";
}

async function landRows(
  session: Session,
  lake: Lake,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  const columns = CORPORATE_ACTIONS.columns.filter(({ name }) => name !== "first_seen_at");
  await stageObjects(session, "staged_actions", columns, rows);
  const options = { operation: "TEST", runId: "actions", now: T0 };
  await landActionRows(session, lake, CORPORATE_ACTIONS, "staged_actions", options);
}

describe("dividends", () => {
  once("are summed in shares of the newest day, of one source, and never of days to come", async () => {
    const lake = temporaryLake();
    const session = await openSession();
    const days = Array.from({ length: 600 }, (_, n) => Date.parse("2024-01-01T05:00:00Z") + n * 86_400_000);
    await land(
      session,
      lake,
      BARS_1D,
      days.flatMap((at) => [
        { symbol: "A.US", at, close: at < Date.parse("2025-01-06T05:00:00Z") ? 400 : 100 },
        { symbol: "B.US", at, close: 50 },
      ]),
    );
    const key = { symbol: "A.US", region: "US", source: "first" };
    const dividend = { ...key, kind: "cash_dividend", currency: "USD" };
    await landRows(session, lake, [
      { ...dividend, ex_date: "2024-03-01", cash: 9 },
      { ...dividend, ex_date: "2024-12-02", cash: 4 },
      // Of a share before the split of the same day.
      { ...dividend, ex_date: "2025-01-06", cash: 2 },
      { ...key, kind: "split", ex_date: "2025-01-06", ratio: 4 },
      { ...dividend, ex_date: "2025-06-02", cash: 0.5 },
      { ...dividend, ex_date: "2025-06-02", cash: 0.6, source: "second" },
      { ...dividend, ex_date: "2025-09-01", cash: 7 },
    ]);
    const { session: reading } = await openReader(lake, { threads: 1 });
    using reader = reading;
    const figuresOf = async (symbol: string): Promise<Readonly<Record<string, unknown>>> => {
      const { runs } = await runText(textOf("dividends"), { symbol }, reader);
      expect(runs.flatMap(({ fault }) => (fault === undefined ? [] : [fault.message]))).toEqual([]);
      const [figures] = await reader.json(
        "SELECT trade_date::VARCHAR AS day, close, dividends FROM yearly ORDER BY trade_date DESC LIMIT 1",
      );
      return figures ?? {};
    };
    // 4 / 4 + 2 / 4 + 0.5
    expect(await figuresOf("A.US")).toEqual({ day: "2025-08-22", close: 100, dividends: 2 });
    expect(await reader.json("SELECT dividends FROM yearly WHERE trade_date = '2024-12-31'")).toEqual([
      { dividends: 13 },
    ]);
    expect(await figuresOf("B.US")).toEqual({ day: "2025-08-22", close: 50, dividends: 0 });
  });

  once.each(["dividends", "instrument"])(
    "%s calls no prices adjusted of which no ex-event is known",
    async (name) => {
      const lake = temporaryLake();
      await land(await openSession(), lake, BARS_1D, [
        { symbol: "A.US", at: "2024-01-02T05:00:00Z", close: 50 },
        { symbol: "A.US", at: "2024-01-03T05:00:00Z", close: 51 },
        { symbol: "600519.SH", at: "2024-01-02T00:00:00+08:00", close: 50, prevClose: 50 },
        { symbol: "600519.SH", at: "2024-01-03T00:00:00+08:00", close: 40, prevClose: 40 },
      ]);
      const { session: reading } = await openReader(lake, { threads: 1 });
      using reader = reading;
      const pageOf = async (symbol: string): Promise<string> => {
        const { notebook, runs, parameters } = await runText(textOf(name), { symbol }, reader);
        const facts = { tables: [], pointInTime: {}, madeAt: 0, version: "1" };
        const page = await notebookPage({ ...notebook, parameters, runs, ...facts });
        // Without the queries, scripts and styles.
        return page.replaceAll(/<(script|style|pre)[\s>].*?<\/\1>/gs, "");
      };
      const unknown = await pageOf("A.US");
      expect(unknown).toContain("<dd>as traded: no ex-event is known</dd>");
      expect(unknown).not.toContain("adjusted");
      expect(await pageOf("600519.SH")).toContain("<dd>adjusted by its ex-events</dd>");
    },
  );
});

describe("without look-ahead", () => {
  const { lake, remove } = newLake();
  let reader: Session;

  beforeAll(async () => {
    await fillSimulated(lake.location, MARKET);
    reader = (await openReader(lake)).session;
    for (const table of ["bars_1d", "trading_days"]) {
      await reader.run(`CREATE TABLE all_${table} AS FROM raw.${table}`);
      await reader.run(
        `CREATE OR REPLACE VIEW raw.${table} AS SELECT * FROM all_${table} WHERE trade_date <= getvariable('today')`,
      );
    }
    for (const table of ["balance_sheet", "cash_flow"]) {
      await reader.run(`CREATE TABLE all_${table} AS FROM raw.${table}`);
      await reader.run(
        `CREATE OR REPLACE VIEW raw.${table} AS SELECT * FROM all_${table} WHERE announce_date <= getvariable('today')`,
      );
    }
  });
  afterAll(() => {
    reader.close();
    remove();
  });

  test.each(pickFrom(["momentum", "reversal", "value"], { few: 1, more: 3, all: 3 }))(
    "%s of a month does not change when later data arrive",
    async (factor) => {
      const rankedOn = async (today: string): Promise<unknown[]> => {
        await reader.run(`SET VARIABLE today = DATE '${today}'`);
        const { runs } = await runText(
          textOf("factor-deciles"),
          { factor, region: "CN", groups: "3" },
          reader,
        );
        expect(runs.map(({ fault }) => fault?.message).filter((message) => message !== undefined)).toEqual(
          [],
        );
        return reader.json(
          "SELECT last_session::VARCHAR AS day, symbol, signal, decile FROM ranked WHERE last_session < DATE '2025-11-01' ORDER BY ALL",
        );
      };
      const [early, late] = [await rankedOn("2026-01-05"), await rankedOn("2026-03-31")];
      expect(early.length).toBeGreaterThan(20);
      expect(early).toEqual(late);
    },
  );

  once(
    "the screen of a date does not change when later data arrive, and passes what a plain count of its rows does",
    async () => {
      const given = {
        region: "CN",
        as_of: "2026-01-05",
        price_to_book: "3",
        revenue_growth: "-0.1",
        momentum: "-0.05",
      };
      const screenedOn = async (today: string): Promise<Record<string, number | boolean | null>[]> => {
        await reader.run(`SET VARIABLE today = DATE '${today}'`);
        const { runs } = await runText(textOf("screen"), given, reader);
        expect(runs.flatMap(({ fault }) => (fault === undefined ? [] : [fault.message]))).toEqual([]);
        return reader.json(
          "SELECT * EXCLUDE (trade_date, balance_sheet_period_end, income_period_end) FROM screened ORDER BY symbol",
        );
      };
      const [early, late] = [await screenedOn("2026-01-05"), await screenedOn("2026-03-31")];
      expect(early.filter(({ momentum }) => momentum !== null).length).toBeGreaterThan(5);
      expect(early).toEqual(late);
      const sessions = await firstColumn(
        reader,
        "SELECT DISTINCT trade_date::VARCHAR AS day FROM bars_1d WHERE region = 'CN' AND trade_date <= DATE '2026-01-05' ORDER BY 1 DESC",
      );
      const bars = await reader.json<{ symbol: string; day: string; close: number }>(
        "SELECT symbol, trade_date::VARCHAR AS day, close FROM adjusted('1d', 'forward') WHERE region = 'CN'",
      );
      const closes = new Map(bars.map(({ symbol, day, close }) => [`${symbol} ${day}`, close]));
      for (const { symbol, momentum, is_rising } of early) {
        const [last = NaN, first = NaN] = [21, 252].map((ago) => closes.get(`${symbol} ${sessions[ago]}`));
        const plain = last / first - 1;
        if (Number.isNaN(plain)) expect(momentum, String(symbol)).toBeNull();
        else expect(momentum, String(symbol)).toBeCloseTo(plain, 9);
        expect(is_rising).toBe(plain >= -0.05);
      }
    },
  );
});

test.each(pickFrom(shipped, { few: 1, more: 8, all: 8 }))(
  "$name says what is missing from an empty lake, and fails nowhere",
  async ({ name }) => {
    const { session } = await openReader(temporaryLake(), { threads: 1 });
    using reader = session;
    const { runs } = await runText(textOf(name), {}, reader);
    for (const { cell, results, fault } of runs) {
      expect(fault).toBeUndefined();
      for (const { rows } of results)
        expect(rows > 0 || cell.view.empty !== undefined, `line ${cell.line}`).toBe(true);
    }
    expect(runs.some(({ results }) => results.some(({ rows }) => rows === 0))).toBe(true);
  },
);
