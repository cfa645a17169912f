import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dateOfEpochDay, epochDay, type TradingDate } from "../../src/core/time.js";
import { type LakePanel, openPanel } from "../../src/dataset/panel/lake-panel.js";
import { type DatasetDefinition, defineDataset } from "../../src/dataset/spec.js";
import type { Session } from "../../src/db/session/session.js";
import { openReader } from "../../src/lake/open-reader.js";
import { once } from "../once.js";
import { newLake } from "../serve/served-lake.js";
import { pickFrom } from "../sweep.js";
import { DAYS, END, grow, lakeUntil, UNIVERSE } from "./growing-lake.js";

const FROM = DAYS[60] as TradingDate;
const CN = { region: "CN" } as const;

/** A panel's cells by symbol and trading date (of minutes, time): each field's value and each mask. */
async function cellsOf(panel: LakePanel): Promise<Map<string, Record<string, number>>> {
  const cells = new Map<string, Record<string, number>>();
  for await (const { symbols, width, fields, masks } of panel.blocks()) {
    for (const [s, { symbol }] of symbols.entries()) {
      for (let label = 0; label < width; label++) {
        const at = panel.labels.times?.[label] ?? panel.labels.days[label];
        const values = panel.fields.map(({ name }, f) => [name, fields[f]?.[s * width + label]]);
        const marks = panel.masks.map((name, m) => [name, masks[m]?.[s * width + label]]);
        cells.set(`${symbol} ${at}`, Object.fromEntries([...values, ...marks]) as Record<string, number>);
      }
    }
  }
  return cells;
}

describe("a panel", () => {
  const { lake, remove } = newLake();
  let session: Session;
  const open = (definition: Partial<DatasetDefinition>): Promise<LakePanel> =>
    openPanel(session, defineDataset({ name: "test", universe: CN, from: FROM, masks: [], ...definition }));

  beforeAll(async () => {
    await lakeUntil(lake.location, END as TradingDate, { minuteDays: 4 });
    session = (await openReader(lake)).session;
  });
  afterAll(() => {
    session.close();
    remove();
  });

  /** Rows of a query `symbol, at, ...values` by symbol and `at`. */
  async function rowsOf(sql: string): Promise<Map<string, Record<string, number | null>>> {
    const rows = await session.json<{ symbol: string; at: number } & Record<string, number | null>>(sql);
    return new Map(rows.map(({ symbol, at, ...values }) => [`${symbol} ${at}`, values]));
  }

  test("prices are adjusted however an expression names them, and what is not adjusted is the same beside them", async () => {
    const plain = ["shares", { name: "million", sql: "amount / 1e6" }] as const;
    const prices = [
      { name: "column", sql: "close + 0" },
      { name: "qualified", sql: "bars.close" },
      { name: "of_row", sql: "struct_extract(bars, 'close')" },
    ];
    const adjusted = await cellsOf(await open({ fields: ["close", ...prices, ...plain] }));
    const alone = new Map<string, Record<string, number>>();
    for (const field of prices)
      for (const [key, cell] of await cellsOf(await open({ fields: [field] })))
        alone.set(key, { ...alone.get(key), ...cell });
    const others = await cellsOf(await open({ fields: [...plain] }));
    const traded = await cellsOf(await open({ fields: ["close"], adjustment: "none" }));
    let differing = 0;
    for (const [key, { close, shares, million, ...named }] of adjusted) {
      expect(named, key).toEqual({ column: close, qualified: close, of_row: close });
      expect(alone.get(key), key).toEqual(named);
      expect(others.get(key), key).toEqual({ shares, million });
      differing += Number(!Object.is(traded.get(key)?.close, close));
    }
    expect(differing).toBeGreaterThan(10);
  });

  /** Cells that are not as SQL's rows have them, or not NaN where it has none; and how many rows there were. */
  async function compare(
    panel: LakePanel,
    sql: string,
  ): Promise<{ differ: string[]; rows: number; gaps: number }> {
    const rows = await rowsOf(sql);
    const cells = await cellsOf(panel);
    const differ = [...rows.keys()].filter((key) => !cells.has(key));
    for (const [key, cell] of cells) {
      const row = rows.get(key);
      for (const { name } of panel.fields)
        if (!Object.is(cell[name], row?.[name] ?? Number.NaN)) differ.push(`${key} ${name}`);
    }
    return { differ, rows: rows.size, gaps: cells.size - rows.size };
  }

  const AT = "CAST(trade_date - DATE '1970-01-01' AS INTEGER) AS at";
  const WINDOW = `region = 'CN' AND trade_date >= '${FROM}' AND shares > 0`;

  test.each(pickFrom(["backward", "none"] as const, { few: 1, more: 2, all: 2 }))(
    "has the %s prices of SQL, to the bit",
    async (adjustment) => {
      const panel = await open({
        adjustment,
        fields: ["open", "high", "low", "close", "prev_close", "volume", "shares", "amount"],
      });
      const { differ, rows, gaps } = await compare(
        panel,
        `SELECT symbol, ${AT}, open, high, low, close, prev_close, volume::DOUBLE AS volume, shares::DOUBLE AS shares, amount
       FROM adjusted('1d', '${adjustment}') WHERE ${WINDOW}`,
      );
      expect(differ).toEqual([]);
      expect(rows).toBeGreaterThan(100);
      expect(gaps).toBeGreaterThan(0);
    },
  );

  test.each(pickFrom(["none", "backward"] as const, { few: 1, more: 2, all: 2 }))(
    "is the same, %s, whether SQL adjusts or this process does",
    async (adjustment) => {
      const fields = [
        "open",
        "high",
        "low",
        "close",
        "prev_close",
        "vwap",
        "change",
        "volume",
        "adjusted_volume",
        "factor",
      ];
      const quick = await cellsOf(await open({ adjustment, fields }));
      const bySql = await cellsOf(await open({ adjustment, fields: [...fields, { name: "one", sql: "1" }] }));
      expect(quick.size).toBe(bySql.size);
      // Sums that are rounded at other steps differ in their last digits.
      const tolerances: Readonly<Record<string, number>> = { change: 5e-13, vwap: 5e-10 };
      const differ: unknown[] = [];
      for (const [key, cell] of quick) {
        const other = bySql.get(key);
        for (const name of fields) {
          const [own, its, tolerance] = [cell[name], other?.[name], tolerances[name]];
          const isSame =
            tolerance === undefined
              ? Object.is(own, its)
              : other?.one !== 1 || Math.abs(Number(own) - Number(its)) < tolerance;
          if (!isSame) differ.push([key, name, own, its]);
        }
      }
      expect(differ).toEqual([]);
    },
  );

  test.each(
    pickFrom(["forward", "forward_additive", "backward_additive"] as const, { few: 1, more: 3, all: 3 }),
  )("has the %s prices of SQL", async (adjustment) => {
    const { differ, rows, gaps } = await compare(
      await open({ adjustment, fields: ["open", "close"] }),
      `SELECT symbol, ${AT}, open, close FROM adjusted('1d', '${adjustment}') WHERE ${WINDOW}`,
    );
    expect(differ).toEqual([]);
    expect(rows).toBeGreaterThan(100);
    expect(gaps).toBeGreaterThan(0);
  });

  test.each(pickFrom(["1w", "1M"] as const, { few: 1, more: 2, all: 2 }))(
    "of %s has whole periods, on their last session",
    async (period) => {
      const panel = await open({ period, from: "2025-06-02", fields: ["close", "volume"] });
      const part = period === "1w" ? "week" : "month";
      const days = Array.from(panel.labels.days);
      const sessions = DAYS.filter((day) => day >= "2025-06-02");
      const key = (day: string): string => {
        const monday = epochDay(day as TradingDate) - ((epochDay(day as TradingDate) + 3) % 7);
        return period === "1w" ? String(monday) : day.slice(0, 7);
      };
      const lasts = sessions.filter((day, i) => key(day) !== key(sessions[i + 1] ?? "2099-01-01"));
      expect(days).toEqual(lasts.filter((day) => day < END || part === "month").map((day) => epochDay(day)));
      const rows = await session.json<{ symbol: string; day: string; close: number; volume: number }>(
        `SELECT symbol, CAST(trade_date AS VARCHAR) AS day, close, volume::DOUBLE AS volume FROM adjusted('${period}', 'backward')
       WHERE region = 'CN' AND trade_date >= '2025-06-02' AND shares > 0`,
      );
      const cells = await cellsOf(panel);
      let compared = 0;
      for (const { symbol, day, close, volume } of rows) {
        const label = lasts.find((last) => key(last) === key(day)) as TradingDate;
        const cell = cells.get(`${symbol} ${epochDay(label)}`);
        if (cell === undefined) continue;
        expect(cell).toMatchObject({ close, volume });
        compared++;
      }
      expect(compared).toBeGreaterThan(100);
    },
  );

  test.each(pickFrom(["1m", "30m"] as const, { few: 1, more: 2, all: 2 }))(
    "of %s has every end of a bar, and SQL's prices",
    async (period) => {
      const panel = await open({ period, fields: ["open", "close", "volume"] });
      expect(panel.labels.count).toBeGreaterThanOrEqual(4 * (period === "1m" ? 240 : 8));
      const { differ, rows, gaps } = await compare(
        panel,
        `SELECT symbol, CAST(epoch_ms("timestamp") AS DOUBLE) AS at, open, close, volume::DOUBLE AS volume
       FROM adjusted('${period}', 'backward') WHERE ${WINDOW}`,
      );
      expect(differ).toEqual([]);
      expect(rows).toBeGreaterThan(100);
      expect(gaps > 0).toBe(period === "1m");
    },
  );

  once("reads expressions and columns of views, of the same day", async () => {
    const fields = [
      { name: "range", sql: "(high - low) / close" },
      { name: "turnover", sql: "turnover" },
      { name: "pb", sql: "daily_valuation.price_to_book" },
      { name: "raw", sql: "bars_1d.close" },
    ];
    const panel = await open({ fields });
    const { differ, rows, gaps } = await compare(
      panel,
      `SELECT b.symbol, CAST(b.trade_date - DATE '1970-01-01' AS INTEGER) AS at, (b.high - b.low) / b.close AS range,
         s.turnover, v.price_to_book AS pb, r.close AS raw
       FROM adjusted('1d', 'backward') b LEFT JOIN daily_status s USING (symbol, trade_date)
       LEFT JOIN daily_valuation v USING (symbol, trade_date) LEFT JOIN bars_1d r USING (symbol, trade_date)
       WHERE b.region = 'CN' AND b.trade_date >= '${FROM}' AND b.shares > 0`,
    );
    expect(differ).toEqual([]);
    expect(rows).toBeGreaterThan(100);
    expect(gaps).toBeGreaterThan(0);
  });

  once("windows see the days before the window, and all symbols of a date", async () => {
    const fields = [
      { name: "mean", sql: "avg(close) OVER (PARTITION BY symbol ORDER BY trade_date ROWS 19 PRECEDING)" },
      { name: "rank", sql: "rank() OVER (PARTITION BY trade_date ORDER BY amount)" },
    ];
    const symbols = (await open({})).symbols.map(({ symbol }) => `'${symbol}'`).join(", ");
    const { differ, rows, gaps } = await compare(
      await open({ fields }),
      `SELECT * EXCLUDE (shares) FROM (SELECT symbol, ${AT}, shares, trade_date,
           avg(close) OVER (PARTITION BY symbol ORDER BY trade_date ROWS 19 PRECEDING) AS mean,
           (rank() OVER (PARTITION BY trade_date, shares > 0 ORDER BY amount))::DOUBLE AS rank
         FROM adjusted('1d', 'backward') WHERE symbol IN (${symbols}))
       WHERE trade_date >= '${FROM}' AND shares > 0`,
    );
    expect(differ).toEqual([]);
    expect(rows).toBeGreaterThan(100);
    expect(gaps).toBeGreaterThan(0);
  });

  once(
    "a window over the symbols of a date is of its members: who joins later changes no earlier date",
    async () => {
      const [late = "", ...others] = (await open({ from: DAYS[150] as TradingDate })).symbols.map(
        ({ symbol }) => symbol,
      );
      const [joins, members] = [DAYS[200] as TradingDate, others.slice(0, 6)];
      const fields = [
        { name: "rank", sql: "rank() OVER (PARTITION BY trade_date ORDER BY amount)" },
        { name: "mean", sql: "close / Avg(close) OVER (PARTITION BY trade_date)" },
      ];
      const of = async (universe: DatasetDefinition["universe"]) =>
        cellsOf(await open({ universe, from: DAYS[150] as TradingDate, fields }));
      const dated = await of({
        sql: `SELECT unnest(${JSON.stringify(members).replaceAll('"', "'")}) AS symbol, NULL::DATE AS from_date
        UNION ALL SELECT '${late}', DATE '${joins}'`,
      });
      const [before, after] = [await of(members), await of([late, ...members])];
      const seen = { before: 0, after: 0, outside: 0 };
      const differ: unknown[] = [];
      for (const [key, cell] of dated) {
        const [symbol, day] = key.split(" ");
        const isBefore = Number(day) < epochDay(joins);
        const isOutside = isBefore && symbol === late;
        const expected = isOutside
          ? { rank: Number.NaN, mean: Number.NaN }
          : (isBefore ? before : after).get(key);
        const isSame = ["rank", "mean"].every((name) => Object.is(cell[name], expected?.[name]));
        if (!isSame) differ.push([key, cell, expected]);
        seen[isOutside ? "outside" : isBefore ? "before" : "after"] += Number(
          isOutside || !Number.isNaN(cell.rank),
        );
      }
      expect(differ).toEqual([]);
      expect(Math.min(...Object.values(seen))).toBeGreaterThan(30);
    },
  );

  once("within a day, a view's columns are those of the date before", async () => {
    const panel = await open({
      period: "30m",
      fields: ["close", { name: "turnover", sql: "turnover" }, { name: "last", sql: "bars_1d.close" }],
    });
    const rows = await session.json<{ symbol: string; at: number; turnover: number; last: number }>(
      `SELECT symbol, ${AT}, lag(turnover) OVER (PARTITION BY symbol ORDER BY trade_date) AS turnover,
         lag(b.close) OVER (PARTITION BY symbol ORDER BY trade_date) AS last
       FROM bars_1d b JOIN daily_status USING (symbol, trade_date) WHERE b.region = 'CN'`,
    );
    const before = new Map(
      rows.map(({ symbol, at, turnover, last }) => [`${symbol} ${at}`, { turnover, last }]),
    );
    const cells = await cellsOf(panel);
    let compared = 0;
    for (const { symbol } of panel.symbols) {
      for (const [label, day] of panel.labels.days.entries()) {
        const cell = cells.get(`${symbol} ${panel.labels.times?.[label]}`);
        const known = before.get(`${symbol} ${day}`);
        if (known === undefined || cell === undefined || Number.isNaN(cell.close)) continue;
        expect(cell.last).toBe(known.last);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(100);
  });

  once("an expression may use the bars' own columns, types and names that columns have too", async () => {
    const panel = await open({
      fields: [
        { name: "hour", sql: `date_part('hour', "timestamp") + epoch(trade_date::TIMESTAMP) * 0` },
        { name: "is_cn", sql: "CASE WHEN region = 'CN' AND is_final THEN 1 ELSE 0 END" },
        { name: "part", sql: "{'close': open}.close / open" },
      ],
      masks: ["tradable"],
    });
    const cells = [...(await cellsOf(panel)).values()].filter(({ tradable }) => tradable === 1);
    expect(cells.length).toBeGreaterThan(100);
    const differ = cells.filter(({ hour, is_cn, part }) => hour !== 16 || is_cn !== 1 || part !== 1);
    expect(differ).toEqual([]);
  });

  once("masks are those of daily_status, and membership is dated", async () => {
    const masks = ["tradable", "limit_up", "limit_down", "in_universe"] as const;
    const panel = await open({ universe: UNIVERSE, fields: ["close"], masks: [...masks] });
    const status = await rowsOf(
      `SELECT symbol, ${AT}, tradable::INTEGER AS tradable, limit_up::INTEGER AS limit_up, limit_down::INTEGER AS limit_down FROM daily_status`,
    );
    const membersOn = async (day: number | undefined): Promise<Set<string>> => {
      const rows = await session.json<{ symbol: string }>(
        `SELECT symbol FROM members('${UNIVERSE}', DATE '1970-01-01' + ${day})`,
      );
      return new Set(rows.map(({ symbol }) => symbol));
    };
    // A snapshot comes with the first session of a month: the members of its first and last day are those of all days.
    const members = new Map<string, Set<string>>();
    const monthOf = (day: number): string => dateOfEpochDay(day).slice(0, 7);
    for (const month of new Set(Array.from(panel.labels.days, monthOf))) {
      const days = Array.from(panel.labels.days).filter((day) => monthOf(day) === month);
      members.set(month, await membersOn(days[0]));
      expect(await membersOn(days.at(-1))).toEqual(members.get(month));
    }
    const counts = { tradable: 0, in_universe: 0, outside: 0 };
    const differ: unknown[] = [];
    for (const [key, cell] of await cellsOf(panel)) {
      const [symbol = "", day] = key.split(" ");
      const found = status.get(key);
      const isSame =
        cell.tradable === (found?.tradable ?? 0) &&
        cell.limit_up === (found?.limit_up ?? 0) &&
        cell.limit_down === (found?.limit_down ?? 0) &&
        cell.in_universe === Number(members.get(monthOf(Number(day)))?.has(symbol));
      if (!isSame) differ.push([key, cell, found]);
      counts.tradable += cell.tradable as number;
      counts.in_universe += cell.in_universe as number;
      counts.outside += 1 - (cell.in_universe as number);
    }
    expect(differ).toEqual([]);
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(50);
  });

  once(
    "minHistory keeps young symbols out of the universe, counting what was before the window",
    async () => {
      const few = await cellsOf(await open({ minHistory: 90, fields: ["close"], masks: ["in_universe"] }));
      const before = await rowsOf(
        `SELECT symbol, ${AT}, (count(*) OVER (PARTITION BY symbol ORDER BY trade_date))::DOUBLE AS bars FROM bars_1d WHERE volume > 0`,
      );
      let [young, old] = [0, 0];
      for (const [key, cell] of few) {
        const bars = before.get(key)?.bars;
        if (bars === undefined || bars === null) continue;
        expect(cell.in_universe, key).toBe(Number(bars >= 90));
        if (bars >= 90) old++;
        else young++;
      }
      expect(Math.min(young, old)).toBeGreaterThan(50);
    },
  );

  once(
    "fills days without trades with the last close, no volume and the last value, so far and no further",
    async () => {
      const fields = ["open", "close", "volume", { name: "pb", sql: "price_to_book" }];
      const plain = await cellsOf(await open({ fields, masks: ["tradable"] }));
      const filled = await cellsOf(
        await open({ fields, masks: ["tradable"], fill: { method: "forward", limit: 2 } }),
      );
      const panel = await open({});
      const seen = { kept: 0, filled: 0, beyond: 0 };
      const differ: unknown[] = [];
      const compareCell = (
        key: string,
        is: Record<string, number>,
        expected: Record<string, number>,
      ): void => {
        if (Object.keys(expected).some((name) => !Object.is(is[name], expected[name])))
          differ.push([key, is, expected]);
      };
      for (const { symbol } of panel.symbols) {
        let last: Record<string, number> | undefined;
        let age = 0;
        const keys = Array.from(panel.labels.days, (day) => `${symbol} ${day}`);
        const end = keys.findLastIndex((key) => !Number.isNaN(plain.get(key)?.close));
        for (const [i, key] of keys.entries()) {
          const was = plain.get(key) as Record<string, number>;
          const is = filled.get(key) as Record<string, number>;
          compareCell(key, is, { tradable: was.tradable as number });
          if (!Number.isNaN(was.close)) {
            compareCell(key, is, was);
            [last, age] = [was, 0];
            seen.kept++;
            continue;
          }
          age++;
          if (last === undefined || age > 2 || i > end) {
            compareCell(key, is, was);
            seen.beyond++;
          } else {
            const { close = 0, pb = 0 } = last;
            compareCell(key, is, { open: close, close, volume: 0, pb });
            seen.filled++;
          }
        }
      }
      expect(differ).toEqual([]);
      expect(Math.min(...Object.values(seen))).toBeGreaterThan(10);
    },
  );

  once("refuses what the lake has not, and what was not known", async () => {
    await expect(open({ universe: "NOBODY" })).rejects.toThrow(/universe: "NOBODY" has no members/);
    await expect(open({ universe: { region: "CN", types: ["coin"] } })).rejects.toThrow(
      /universe: region CN, types coin has no members/,
    );
    await expect(open({ universe: { sql: "SELECT symbol FROM instruments WHERE false" } })).rejects.toThrow(
      /universe: its query has no members/,
    );
    await expect(open({ universe: ["NOBODY.SH"] })).rejects.toThrow(/nothing of its universe traded/);
    await expect(open({ from: "2099-01-01" })).rejects.toThrow(/no 1d label lies between/);
    await expect(open({ fields: ["close", "closs"] })).rejects.toThrow(
      /^dataset test: field closs: .*"closs" not found((?!LINE)[^])*$/,
    );
    const ranked = { name: "r", sql: "rank() OVER (PARTITION BY trade_date ORDER BY closs, symbol)" };
    await expect(open({ fields: ["open", ranked] })).rejects.toThrow(/^dataset test: field r: .*"closs"/);
    const view = { name: "v", sql: "daily_valuation.price_to_bok" };
    await expect(open({ fields: [view] })).rejects.toThrow(/^dataset test: field v: .*price_to_bok/);
    await expect(open({ fields: [{ name: "s", sql: "daily_fundamentals.total_shares" }] })).rejects.toThrow(
      /is the current value/,
    );
    await expect(
      open({ fields: [{ name: "s", sql: "lead(close) OVER (PARTITION BY symbol ORDER BY trade_date)" }] }),
    ).rejects.toThrow(/later row/);
    await expect(open({ fields: ["factor"], adjustment: "forward_additive" })).rejects.toThrow(/no factor/);
    await expect(open({ universe: { sql: "SELECT 1 AS x" } })).rejects.toThrow(/no column symbol/);
  });

  once("a universe may be a query, dated or not, or all of a region", async () => {
    const dated = await open({
      universe: {
        sql: "SELECT symbol, DATE '2025-09-01' AS from_date, DATE '2025-10-01' AS to_date FROM instruments WHERE region = 'CN' ORDER BY symbol LIMIT 3;",
      },
      fields: ["close"],
      masks: ["in_universe"],
    });
    const [first, end] = [epochDay("2025-09-01" as TradingDate), epochDay("2025-10-01" as TradingDate)];
    const differ = [...(await cellsOf(dated))].filter(([key, { in_universe }]) => {
      const day = Number(key.split(" ")[1]);
      return in_universe !== Number(day >= first && day < end);
    });
    expect(differ).toEqual([]);
    const all = await open({ universe: { region: "CN", types: ["stock"] } });
    expect(all.symbols.length).toBeGreaterThan(5);
  });
});

once("is the same for any order of the lake's files", async () => {
  const { lake, remove } = newLake();
  try {
    let from = 0;
    for (const to of [30, 60, 90]) {
      const growth = { reference: false, statements: false };
      await grow(lake, DAYS[from] as TradingDate, DAYS[to] as TradingDate, growth);
      from = to + 1;
    }
    const { session } = await openReader(lake);
    using reader = session;
    const spec = (fields: DatasetDefinition["fields"]) =>
      defineDataset({ name: "test", universe: CN, from: DAYS[10] as TradingDate, fields, masks: [] });
    const fields = ["open", "close", "factor"];
    const quick = await cellsOf(await openPanel(reader, spec(fields)));
    const bySql = await cellsOf(await openPanel(reader, spec([...fields, { name: "one", sql: "1" }])));
    const differ = [...quick].filter(([key, cell]) =>
      fields.some((name) => !Object.is(cell[name], bySql.get(key)?.[name])),
    );
    expect(differ).toEqual([]);
    expect(quick.size).toBeGreaterThan(500);
  } finally {
    remove();
  }
});
