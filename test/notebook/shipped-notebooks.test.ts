import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/db/session/session.js";
import { openReader } from "../../src/lake/open-reader.js";
import { notebookPage } from "../../src/notebook/page/notebook-page.js";
import { shippedNotebooks } from "../../src/notebook/shipped-notebooks.js";
import { temporaryFolder, temporaryLake } from "../lake/temporary-lake.js";
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
};

/** Cells that a faultless simulated market has no rows for, by the titles of what they show. */
const EMPTY: Readonly<Record<string, readonly string[]>> = {
  "data-quality": ["Contradictions and wrong units", "Rows set aside", "Newest runs"],
};

const shipped = shippedNotebooks();
/** Those that a browser opens; another browser for each takes longer than its cells. */
const opened = pickFrom(shipped, { few: 1, more: 2, all: 6 });
const textOf = (name: string): string =>
  readFileSync(shipped.find((one) => one.name === name)?.path ?? name, "utf8");

once("six notebooks come with it, each with a heading and a description", () => {
  expect(shipped.map(({ name, title }) => [name, title])).toEqual([
    ["data-quality", "Data quality"],
    ["earnings-announcements", "Earnings announcements"],
    ["factor-deciles", "Factor deciles"],
    ["fundamentals", "Fundamentals"],
    ["instrument", "Instrument"],
    ["market-overview", "Market overview"],
  ]);
  for (const { name, description } of shipped) expect(description, name).toMatch(/^[A-Z][^`*]+\.$/);
});

describe("on a simulated market", () => {
  const { lake, remove } = newLake();
  let reader: Session;

  beforeAll(async () => {
    await fillSimulated(lake.location, MARKET);
    reader = (await openReader(lake)).session;
  });
  afterAll(() => {
    reader.close();
    remove();
  });

  test.each(shipped)("$name: every cell gives rows, and its charts are drawn", async ({ name }) => {
    const { notebook, runs, parameters } = await runText(textOf(name), GIVEN[name], reader);
    expect(runs.filter(({ fault }) => fault !== undefined).map(({ fault }) => fault)).toEqual([]);
    const empty = runs.filter(({ results }) => results.some(({ rows }) => rows === 0));
    expect(empty.map(({ cell }) => cell.view.title)).toEqual(EMPTY[name] ?? []);
    const charts = runs.filter(({ chart }) => chart !== undefined).length;
    expect(charts).toBeGreaterThanOrEqual(3);
    const page = await notebookPage({
      ...notebook,
      parameters,
      runs,
      tables: [],
      asOf: undefined,
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
  });

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

  async function column(sql: string): Promise<string[]> {
    return (await reader.json<Record<string, string>>(sql)).map((row) => String(Object.values(row)[0]));
  }
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
});

test.each(pickFrom(shipped, { few: 2, more: 6, all: 6 }))(
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
