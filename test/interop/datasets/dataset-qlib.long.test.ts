import { statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { qlibInstrument } from "../../../src/dataset/formats/qlib.js";
import { type DatasetDefinition, defineDataset } from "../../../src/dataset/spec.js";
import { marketLake } from "../../dataset/market-lake.js";
import { pythonHas, runPython } from "../python.js";
import { isDrawn } from "./drawn-engines.js";

const FROM = "2025-06-02";
const UNIVERSE = "SIM_CN_50";
const DATES = ["2025-06-02", "2025-08-29", "2026-01-05", "2026-04-30", "2026-07-01", "2026-11-20"];
const ITEMS = ["balance_sheet.total_assets", "balance_sheet.goodwill", "cash_flow.net_operating_cash_flow"];
const PERIODS = [2023, 2024, 2025, 2026].flatMap((year) =>
  [1, 2, 3, 4].map((quarter) => year * 100 + quarter),
);
const [FIELDS, MINUTE_FIELDS] = [
  ["open", "high", "low", "close", "volume", "amount", "vwap", "factor", "change", "tradable"],
  ["close", "volume", "limit_up"],
];

/** A time, then values; null where there is none. */
type Row = readonly [string, ...(number | null)[]];
type Rows = Readonly<Record<string, readonly Row[]>>;

interface Answer {
  readonly calendar: readonly string[];
  readonly features: Rows;
  readonly members: Readonly<Record<string, readonly string[]>>;
  readonly memberRows: Readonly<Record<string, number>>;
  readonly statements: Readonly<Record<string, Readonly<Record<string, readonly (number | null)[]>>>>;
  readonly withoutStatements: Rows;
  readonly minutes: { readonly calendar: readonly string[]; readonly features: Rows };
}

const float = (value: unknown): number | null => (value === null ? null : Math.fround(Number(value)));

describe.runIf(isDrawn("qlib") && pythonHas("qlib.workflow"))("qlib reads", () => {
  const its = marketLake();
  let found: Answer;
  /** Of a file after an append: whether it is the same one, and the bytes that it has more. */
  let grown: { readonly isSame: boolean; readonly bytes: number };
  beforeAll(async () => {
    // A fund, which has no statements, and stocks that enter, leave and are suspended.
    const sql = `SELECT symbol, from_date, to_date FROM (VALUES ('510459.SH', NULL::DATE, NULL::DATE)) AS t(symbol, from_date, to_date)
      UNION ALL SELECT symbol, local_date(valid_from, region), local_date(valid_to, region) FROM raw.universe_members WHERE id = '${UNIVERSE}'`;
    const definition: DatasetDefinition = {
      name: "members",
      universe: { sql },
      from: FROM,
      format: "qlib",
      statements: ITEMS,
    };
    // The files of the first days get the later ones.
    const days = await its.build({ ...definition, to: "2026-03-03" });
    const file = join(days, "features/sh600217/close.day.bin");
    const before = statSync(file);
    await buildDataset(its.lake, defineDataset(definition), { existing: "append" });
    const after = statSync(file);
    grown = { isSame: after.ino === before.ino, bytes: after.size - before.size };
    const minutes = await its.build({
      name: "minutes",
      universe: UNIVERSE,
      period: "1m",
      from: "2026-11-19",
      adjustment: "none",
      fields: ["close", "volume"],
      format: "qlib",
    });
    const query = {
      universe: "members",
      dates: DATES,
      fields: FIELDS.map((name) => `$${name}`),
      minuteFields: MINUTE_FIELDS.map((name) => `$${name}`),
      items: ITEMS.map((item) => item.replace(".", "_")),
      periods: PERIODS,
      withoutStatements: ["SH510459"],
    };
    found = runPython("datasets/read_qlib.py", days, minutes, JSON.stringify(query)) as Answer;
  });

  /** Rows of SQL as qlib gives its own: `symbol`, `time`, then the values, from each symbol's first traded row to its last. */
  async function rowsOf(sql: string, width: number): Promise<Rows> {
    const rows: Record<string, Row[]> = {};
    for (const { symbol, time, values } of await its.session.json<{
      symbol: string;
      time: string;
      values: (number | null)[] | null;
    }>(sql)) {
      const own = (rows[qlibInstrument(symbol)] ??= []);
      own.push([time, ...(values?.map(float) ?? Array.from({ length: width }, () => null))]);
    }
    return rows;
  }

  test("files to which days were appended where they are", () => {
    expect(grown.isSame).toBe(true);
    expect(grown.bytes).toBeGreaterThan(100 * 4);
  });

  test("the sessions as a calendar", async () => {
    const days = await its.session.json<{ day: string }>(
      `SELECT trade_date::VARCHAR AS day FROM raw.trading_days WHERE region = 'CN' AND trade_date >= DATE '${FROM}' ORDER BY 1`,
    );
    expect(found.calendar).toEqual(days.map(({ day }) => day));
  });

  test("days as SQL has them, NaN where nothing traded", async () => {
    const rows = await rowsOf(
      `WITH spans AS (
        SELECT symbol, min(trade_date) AS first, max(trade_date) AS last FROM bars_1d
        WHERE shares > 0 AND trade_date >= DATE '${FROM}' GROUP BY symbol)
      SELECT symbol, d.trade_date::VARCHAR || ' 00:00:00' AS time,
        CASE WHEN a.symbol IS NOT NULL THEN [a.open, a.high, a.low, a.close, a.shares / factor, a.amount,
          a.amount / a.shares * factor, factor, r.close / r.prev_close - 1, s.tradable::INTEGER] END AS values
      FROM spans
      JOIN raw.trading_days AS d ON d.region = 'CN' AND d.trade_date BETWEEN first AND last
      LEFT JOIN (FROM adjusted('1d', 'backward') WHERE shares > 0) AS a USING (symbol, trade_date)
      LEFT JOIN (FROM bars_1d WHERE shares > 0) AS r USING (symbol, trade_date)
      LEFT JOIN daily_status AS s USING (symbol, trade_date)
      LEFT JOIN (SELECT symbol AS step_symbol, start_date, end_date, value FROM adjustment_steps('backward')) AS steps
        ON step_symbol = symbol AND d.trade_date >= start_date AND d.trade_date < end_date
      CROSS JOIN LATERAL (SELECT coalesce(value, 1) AS factor)
      WHERE symbol IN (SELECT symbol FROM raw.universe_members WHERE id = '${UNIVERSE}') OR symbol = '510459.SH'
      ORDER BY symbol, d.trade_date`,
      FIELDS.length,
    );
    expect(Object.keys(found.features).sort()).toEqual(Object.keys(rows).sort());
    const gap = [...FIELDS.slice(1).map(() => null), 0];
    let gaps = 0;
    for (const [name, own] of Object.entries(rows)) {
      const expected = own.map(([time, ...values]) => [time, ...(values[0] === null ? gap : values)]);
      expect(found.features[name], name).toEqual(expected);
      gaps += own.filter(([, open]) => open === null).length;
    }
    expect(gaps).toBeGreaterThan(10);
  });

  test("members of a universe by date", async () => {
    let changes = 0;
    for (const date of DATES) {
      const members = await its.session.json<{ symbol: string }>(
        `SELECT symbol FROM members('${UNIVERSE}', as_of := DATE '${date}') UNION SELECT '510459.SH' ORDER BY symbol`,
      );
      const names = members.map(({ symbol }) => qlibInstrument(symbol)).sort();
      expect(found.members[date], date).toEqual(names);
      changes += Number(date !== DATES[0] && names.join() !== found.members[DATES[0] as string]?.join());
    }
    expect(changes).toBeGreaterThan(1);
    expect(found.memberRows.SZ300516).toBe(
      found.calendar.filter((day) => day >= "2026-01-02" && day <= "2026-03-31").length,
    );
  });

  test("statements as they were known on each date", async () => {
    let present = 0;
    for (const date of DATES) {
      const rows = await its.session.json<Record<string, unknown> & { symbol: string; period: number }>(
        `SELECT symbol, CAST(year(month) * 100 + quarter(month) AS INTEGER) AS period,
          balance_sheet_known_from IS NOT NULL AS has_balance_sheet, cash_flow_known_from IS NOT NULL AS has_cash_flow,
          total_assets AS balance_sheet_total_assets, goodwill AS balance_sheet_goodwill,
          net_operating_cash_flow AS cash_flow_net_operating_cash_flow
         FROM statements_asof('${date}') ORDER BY symbol, period`,
      );
      for (const [name, values] of Object.entries(found.statements[date] ?? {})) {
        const own = rows.filter(({ symbol }) => qlibInstrument(symbol) === name);
        const newest = ITEMS.map((item) => {
          const [table] = item.split(".");
          return float(own.filter((row) => row[`has_${table}`]).at(-1)?.[item.replace(".", "_")] ?? null);
        });
        const byPeriod = ITEMS.flatMap((item) =>
          PERIODS.map((period) =>
            float(own.find((row) => row.period === period)?.[item.replace(".", "_")] ?? null),
          ),
        );
        expect(values, `${name} on ${date}`).toEqual([...newest, ...byPeriod]);
        present += values.filter((value) => value !== null).length;
      }
    }
    expect(present).toBeGreaterThan(500);
  });

  test("an instrument with bars and without statements", () => {
    const rows = found.withoutStatements.SH510459 ?? [];
    expect(rows.length).toBeGreaterThan(300);
    expect(rows.every(([, ratio, close]) => ratio === null && close !== null)).toBe(true);
  });

  test("minutes as SQL has them, by their start", async () => {
    expect(found.minutes.calendar).toHaveLength(482);
    const rows = await rowsOf(
      `WITH traded AS (SELECT symbol, min("timestamp") AS first, max("timestamp") AS last FROM bars_1m WHERE shares > 0 GROUP BY symbol)
      SELECT symbol, strftime(t."timestamp" - INTERVAL 1 MINUTE + INTERVAL 8 HOUR, '%Y-%m-%d %H:%M:%S') AS time,
        CASE WHEN b.symbol IS NOT NULL THEN [b.close, b.volume] END AS values
      FROM traded JOIN (SELECT DISTINCT "timestamp" FROM bars_1m) AS t ON t."timestamp" BETWEEN first AND last
      LEFT JOIN (FROM bars_1m WHERE shares > 0) AS b USING (symbol, "timestamp")
      WHERE symbol IN (SELECT symbol FROM raw.universe_members WHERE id = '${UNIVERSE}'
        AND coalesce(local_date(valid_to, region) > DATE '2026-11-19', true))
      ORDER BY symbol, t."timestamp"`,
      2,
    );
    const bars = Object.fromEntries(
      Object.entries(found.minutes.features).map(([name, own]) => [name, own.map((row) => row.slice(0, 3))]),
    );
    expect(bars).toEqual(rows);
    expect(
      Object.values(rows)
        .flat()
        .some(([, close]) => close === null),
    ).toBe(true);
  });
});
