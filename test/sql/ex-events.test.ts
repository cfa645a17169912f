import fc from "fast-check";
import { expect, test } from "vitest";
import { epochDay, parseTradingDate, type TradingDate } from "../../src/core/time.js";
import { readExRules } from "../../src/db/market/read-ex-rules.js";
import { unvouchedCloses } from "../../src/db/market/unvouched-closes.js";
import type { Session } from "../../src/db/session/session.js";
import { readAudits } from "../../src/jobs/maintenance/audit-lake.js";
import type { Lake } from "../../src/lake/lake.js";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { landActions } from "../../src/lake/land/land-versions.js";
import { upsert } from "../../src/lake/land/upsert.js";
import { openReader } from "../../src/lake/open-reader.js";
import { exChange, termAfter } from "../../src/market/ex-rule.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../src/schema/actions.js";
import { ABSENCES_1D, BARS_1D, TRADING_DAYS } from "../../src/schema/bars.js";
import type { TableSchema } from "../../src/schema/column.js";
import { land, openSession, queryLake, type TestBar, temporaryLake } from "../lake/temporary-lake.js";
import { cases } from "../sweep.js";

type Row = Readonly<Record<string, unknown>>;

const SYMBOL = "AAPL.US";

/** A lake with daily bars: a date, a close and the stated previous close. */
async function lakeOf(
  bars: readonly (readonly [date: string, close: number, prevClose?: number])[],
): Promise<Lake> {
  const lake = temporaryLake();
  const rows = bars.map(
    ([date, close, prevClose]): TestBar => ({
      symbol: SYMBOL,
      at: `${date}T00:00:00-05:00`,
      open: close,
      high: close,
      low: close,
      close,
      ...(prevClose === undefined ? {} : { prevClose }),
    }),
  );
  await land(await openSession(), lake, BARS_1D, rows);
  return lake;
}

/** Lands what a source says, at a time. */
async function tell(
  lake: Lake,
  table: TableSchema,
  rows: readonly Row[],
  at = "2024-12-01T12:00:00Z",
): Promise<void> {
  const session = await openSession();
  const columns = table.columns.filter(({ name }) => name !== "first_seen_at");
  const whole = rows.map((row) => ({ symbol: SYMBOL, source: "a", region: "US", ...row }));
  await stageObjects(session, "staged", columns, whole);
  await landActions(session, lake, table, "staged", { operation: "TEST", runId: at, now: Date.parse(at) });
}

const events = (lake: Lake, relation = "ex_events"): Promise<Row[]> =>
  queryLake(
    lake,
    `SELECT ex_date::VARCHAR AS day, round(factor, 9) AS factor, witness, source FROM ${relation} ORDER BY ex_date`,
  );

/** The events of bars by the rule of programs. */
async function changesOf(reader: Session, bars: readonly (readonly [date: string, close: number])[]) {
  const rule = (await readExRules(reader))({ symbol: SYMBOL, region: "US" });
  const dayOf = (date: string): number => epochDay(date as TradingDate);
  return bars.slice(1).flatMap(([date], n) => {
    const [lastDate, lastClose] = bars[n] as (typeof bars)[number];
    const pair = { last: dayOf(lastDate), day: dayOf(date), lastClose, prevClose: Number.NaN };
    const change = exChange(rule, termAfter(rule.terms, pair.last), pair);
    return change === undefined ? [] : [{ day: date, factor: change.factor }];
  });
}

/** A week in January: on Wednesday the level of the price halves. */
const WEEK = [
  ["2024-01-08", 10],
  ["2024-01-09", 10],
  ["2024-01-10", 5, 5],
  ["2024-01-11", 5, 5],
  ["2024-01-12", 6, 5],
] as const;

test("a factor counts before the actions of the day, and these before the stated previous close", async () => {
  const lake = await lakeOf(WEEK);
  expect(await events(lake)).toEqual([{ day: "2024-01-10", factor: 2, witness: "prev_close", source: null }]);
  await tell(lake, CORPORATE_ACTIONS, [{ ex_date: "2024-01-10", kind: "cash_dividend", cash: 2 }]);
  expect(await events(lake)).toEqual([{ day: "2024-01-10", factor: 1.25, witness: "actions", source: "a" }]);
  await tell(lake, EX_FACTORS, [{ ex_date: "2024-01-10", factor: 1.9, source: "b" }]);
  expect(await events(lake)).toEqual([{ day: "2024-01-10", factor: 1.9, witness: "factor", source: "b" }]);
  // What does not count is shown where it differs.
  const { session: reader } = await openReader(lake, { threads: 1 });
  using _ = reader;
  const audit = readAudits().find(({ name }) => name === "ex_witnesses");
  const rows = await reader.json<Row>(
    `SELECT ex_date::VARCHAR AS day, source, other_witness AS other, round(other_factor, 9) AS factor FROM (${audit?.sql})`,
  );
  expect(rows).toEqual([
    { day: "2024-01-10", source: "b", other: "actions", factor: 1.25 },
    { day: "2024-01-10", source: "b", other: "prev_close", factor: 2 },
  ]);
});

test("a factor of 1 says that there is no event", async () => {
  const lake = await lakeOf(WEEK);
  await tell(lake, EX_FACTORS, [{ ex_date: "2024-01-10", factor: 1 }]);
  expect(await events(lake)).toEqual([]);
});

test("more cash than a share was worth is no event of actions", async () => {
  const lake = await lakeOf(WEEK);
  await tell(lake, CORPORATE_ACTIONS, [{ ex_date: "2024-01-10", kind: "cash_dividend", cash: 10 }]);
  expect(await events(lake)).toEqual([{ day: "2024-01-10", factor: 2, witness: "prev_close", source: null }]);
});

test("an ex-date without a bar counts from the next bar on, several one after the other", async () => {
  const lake = await lakeOf([
    ["2024-01-05", 12],
    ["2024-01-08", 8],
    ["2024-01-17", 2],
  ]);
  await tell(lake, CORPORATE_ACTIONS, [
    // A Sunday, and two days of a suspension of which no session is known.
    { ex_date: "2024-01-07", kind: "cash_dividend", cash: 4 },
    { ex_date: "2024-01-10", kind: "cash_dividend", cash: 2 },
    { ex_date: "2024-01-11", kind: "split", ratio: 3 },
    // Before the first bar, and after the last one.
    { ex_date: "2024-01-05", kind: "split", ratio: 2 },
    { ex_date: "2024-01-18", kind: "split", ratio: 2 },
  ]);
  expect(await events(lake)).toEqual([
    { day: "2024-01-08", factor: 1.5, witness: "actions", source: "a" },
    { day: "2024-01-17", factor: 4, witness: "actions", source: "a" },
  ]);
});

test("the same event with a holiday as its date, and with the session after it, counts once", async () => {
  const bars = [
    ["2024-03-27", 10],
    ["2024-03-28", 10],
    ["2024-04-01", 5],
    ["2024-04-02", 4],
    ["2024-04-05", 2],
  ] as const;
  const lake = await lakeOf(bars);
  await tell(lake, EX_FACTORS, [
    { ex_date: "2024-03-29", factor: 2, source: "lean" },
    { ex_date: "2024-04-03", factor: 1.25, source: "lean" },
  ]);
  await tell(lake, CORPORATE_ACTIONS, [
    { ex_date: "2024-04-01", kind: "split", ratio: 2 },
    { ex_date: "2024-04-05", kind: "split", ratio: 2 },
  ]);
  // Of sessions between the last two bars, in which the symbol was suspended, each has its event.
  const session = await openSession();
  const days = ["2024-03-27", "2024-03-28", "2024-04-01", "2024-04-02", "2024-04-03", "2024-04-05"];
  const sessions = days.map((trade_date) => ({ region: "US", trade_date }));
  await stageObjects(session, "sessions", TRADING_DAYS.columns, sessions);
  await upsert(session, lake, TRADING_DAYS, "sessions", { operation: "TEST", runId: "days", now: 0 });
  const absence = { symbol: SYMBOL, first_date: "2024-04-03", last_date: "2024-04-03", region: "US" };
  await stageObjects(session, "absences", ABSENCES_1D.columns, [absence]);
  await upsert(session, lake, ABSENCES_1D, "absences", { operation: "TEST", runId: "absences", now: 0 });
  const counted = [
    { day: "2024-04-01", factor: 2 },
    { day: "2024-04-05", factor: 2.5 },
  ];
  expect(await events(lake)).toEqual(counted.map((one) => ({ ...one, witness: "actions", source: "a" })));
  const { session: reader } = await openReader(lake, { threads: 1 });
  using _ = reader;
  expect(await changesOf(reader, bars)).toEqual(counted);
});

/** Bars with holes between them. */
const HOLES = [
  ["2024-01-08", 10],
  ["2024-03-20", 5],
  ["2024-03-21", 5],
  ["2024-06-20", 2.5],
  ["2024-10-21", 1],
] as const;

test("over a hole shares count, but no cash and no rights: the close that it was paid from is not known", async () => {
  const lake = await lakeOf(HOLES);
  await tell(lake, CORPORATE_ACTIONS, [
    { ex_date: "2024-02-01", kind: "cash_dividend", cash: 1 },
    { ex_date: "2024-05-02", kind: "split", ratio: 2 },
    { ex_date: "2024-07-01", kind: "rights", ratio: 0.5, price: 1 },
    { ex_date: "2024-08-01", kind: "cash_dividend", cash: 0.1 },
    { ex_date: "2024-09-02", kind: "stock_dividend", ratio: 0.5 },
    { ex_date: "2024-09-02", kind: "cash_dividend", cash: 0.2 },
  ]);
  const counted = [
    { day: "2024-06-20", factor: 2 },
    { day: "2024-10-21", factor: 1.5 },
  ];
  expect(await events(lake)).toEqual(counted.map((one) => ({ ...one, witness: "actions", source: "a" })));
  const { session: reader } = await openReader(lake, { threads: 1 });
  using _ = reader;
  const audit = readAudits().find(({ name }) => name === "unvouched_closes");
  expect(await reader.json(`SELECT trade_date::VARCHAR AS day FROM (${audit?.sql})`)).toEqual([
    { day: "2024-03-20" },
    { day: "2024-10-21" },
  ]);
  const all = await unvouchedCloses(reader);
  expect(all).toEqual({
    closes: 2,
    symbols: ["AAPL.US"],
    examples: [{ symbol: "AAPL.US", date: "2024-03-20", last: expect.any(String) }],
  });
  for (const [date] of HOLES) {
    const last = parseTradingDate(date);
    const found = await unvouchedCloses(reader, { until: last });
    expect(await unvouchedCloses(reader, { known: { last, found, added: [] } }), date).toEqual(all);
    const none = { closes: 0, symbols: [], examples: [] };
    // Of a symbol of which nothing is known all days are searched.
    const added = { last, found: none, added: ["AAPL.US"] };
    expect(await unvouchedCloses(reader, { known: added }), date).toEqual(all);
  }
  expect(await changesOf(reader, HOLES)).toEqual(counted);
});

test("a source that corrects itself is still the one that the lake saw first", async () => {
  const lake = await lakeOf(WEEK.map(([date, close]) => [date, close]));
  const action = { ex_date: "2024-01-10", kind: "cash_dividend" };
  await tell(lake, CORPORATE_ACTIONS, [{ ...action, cash: 2 }], "2024-01-03T12:00:00Z");
  await tell(lake, CORPORATE_ACTIONS, [{ ...action, cash: 3, source: "b" }], "2024-01-04T12:00:00Z");
  await tell(lake, CORPORATE_ACTIONS, [{ ...action, cash: 5 }], "2024-01-12T12:00:00Z");
  expect(await events(lake)).toEqual([{ day: "2024-01-10", factor: 2, witness: "actions", source: "a" }]);
  const { session: reader } = await openReader(lake, { threads: 1 });
  using _ = reader;
  const { terms } = (await readExRules(reader))({ symbol: SYMBOL, region: "US" });
  expect([...terms.paid]).toEqual([-5]);
});

test("returns start from the close at the price level of the day", async () => {
  const lake = await lakeOf(WEEK.map(([date, close]) => [date, close]));
  const query = "SELECT round(product(1 + simple_return), 9) AS gross FROM returns";
  expect(await queryLake(lake, query)).toEqual([{ gross: 0.6 }]);
  await tell(lake, CORPORATE_ACTIONS, [{ ex_date: "2024-01-10", kind: "split", ratio: 2 }]);
  expect(await queryLake(lake, query)).toEqual([{ gross: 1.2 }]);
});

/** What somebody is told of a session, and the close of it. */
const session = fc.record({
  close: fc.integer({ min: 50, max: 150 }),
  cash: fc.constantFrom(0, 0, 0, 1, 7),
  split: fc.constantFrom(1, 1, 1, 2, 0.1),
  bonus: fc.constantFrom(0, 0, 0, 0.3),
  rights: fc.constantFrom(0, 0, 0, 0.25),
  cost: fc.constantFrom(20, 40),
});

test("total returns are those of a holder who buys shares of all that is paid out", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(session, { minLength: 2, maxLength: 40 }), async (days) => {
      const dates = days.map((_, n) => new Date(Date.UTC(2024, 0, 1 + n)).toISOString().slice(0, 10));
      const lake = await lakeOf(days.map(({ close }, n) => [dates[n] as string, close]));
      const told = days.flatMap(({ cash, split, bonus, rights, cost }, n) => {
        const ex_date = dates[n];
        return [
          ...(cash > 0 ? [{ ex_date, kind: "cash_dividend", cash }] : []),
          ...(split > 1 ? [{ ex_date, kind: "split", ratio: split }] : []),
          ...(split < 1 ? [{ ex_date, kind: "consolidation", ratio: split }] : []),
          ...(bonus > 0 ? [{ ex_date, kind: "stock_dividend", ratio: bonus }] : []),
          ...(rights > 0 ? [{ ex_date, kind: "rights", ratio: rights, price: cost }] : []),
        ];
      });
      if (told.length > 0) await tell(lake, CORPORATE_ACTIONS, told);
      let shares = 1;
      const expected = days.map(({ close, cash, split, bonus, rights, cost }, n) => {
        // The first bar has no close before: what lies on its day is part of its price.
        if (n > 0) {
          const held = shares;
          shares = held * (split + bonus + rights);
          shares += (held * (cash - rights * cost)) / close;
        }
        return shares * close;
      });
      const found = await queryLake<{ close: number }>(
        lake,
        "SELECT close FROM total_return('1d') ORDER BY trade_date",
      );
      for (const [n, { close }] of found.entries())
        expect(Math.abs(close / (expected[n] as number) - 1)).toBeLessThan(1e-9);
    }),
    { numRuns: cases({ few: 5, all: 100 }) },
  );
});
