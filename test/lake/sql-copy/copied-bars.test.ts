import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type LakeConnection, openLake } from "../../../src/api/lake/open-lake.js";
import { QueryError } from "../../../src/core/errors.js";
import { parseTradingDate } from "../../../src/core/time.js";
import type { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { giveUpCopies } from "../../../src/lake/sql-copy/attach-sql-copy.js";
import { ADJUSTMENTS, type Adjustment } from "../../../src/market/period.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { once } from "../../once.js";
import { cases, pickFrom } from "../../sweep.js";
import { land, openSession, T0, type TestBar, temporaryFolder, temporaryLake } from "../temporary-lake.js";
import {
  at,
  buildMinutes,
  copiesIn,
  expectSameBars,
  lakeOfMinutes,
  MINUTES,
  PERIODS,
  placeIn,
  SYMBOLS,
  tablesOf,
} from "./lake-of-minutes.js";

/** Trading dates on both sides of changes of clocks in the US and of the end of a month. */
const DAYS = ["2025-10-31", "2025-11-03", "2026-02-27", "2026-03-06", "2026-03-09", "2026-04-01"].map((day) =>
  parseTradingDate(day),
);
const cents = fc.integer({ min: 1, max: 1_000_000 }).map((amount) => amount / 100);
const anyPrice = fc.oneof(
  { weight: 3, arbitrary: cents },
  { weight: 3, arbitrary: fc.double({ min: 0.01, max: 300, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(0, -0, -3, 1e-9, 5e-324, 1e307) },
);
const anyBar: fc.Arbitrary<TestBar> = fc
  .tuple(
    fc.constantFrom(...SYMBOLS),
    fc.constantFrom(...DAYS),
    fc.tuple(anyPrice, anyPrice, anyPrice, anyPrice),
    fc.record({
      volume: fc.oneof({ weight: 6, arbitrary: fc.nat(5000) }, fc.constantFrom(1e18)),
      amount: fc.oneof(cents, fc.double({ min: 0, max: 1e9, noNaN: true })),
      prevClose: fc.oneof(fc.constantFrom(0, 7, 1e-9), cents),
      hasZeros: fc.integer({ min: 0, max: 9 }),
      minute: fc.constantFrom(...MINUTES),
    }),
  )
  .map(([symbol, day, prices, { minute, hasZeros, ...numbers }]) => {
    const [low = 0, open = 0, close = 0, high = 0] = [...prices].sort((a, b) => a - b);
    const some = hasZeros === 0 ? { open: 0, high: 0, low: 0 } : { open, high, low };
    return { ...at(symbol, day, minute), ...some, close, ...numbers };
  });
/** A daily bar, whose label is midnight: with it, a price of the day before may be another one. */
const anyDaily = anyBar.map((bar): TestBar => {
  const [symbol] = SYMBOLS.filter(([name]) => name === bar.symbol);
  const day = DAYS.find((one) => Math.abs(Date.parse(`${one}T12:00:00Z`) - Number(bar.at)) < 86_400_000);
  return symbol && day ? { ...bar, ...at(symbol, day, 0), open: 9, high: 12, low: 8, close: 11 } : bar;
});
const many = { minLength: 1, maxLength: 30 };
const anyStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("minutes" as const), bars: fc.array(anyBar, many) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("days" as const), bars: fc.array(anyDaily, many) }) },
  // Files that were written now: their month is not copied yet.
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("new" as const),
      month: fc.constantFrom(...new Set(DAYS.map((day) => day.slice(0, 7)))),
      bars: fc.array(anyBar, many),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("optimize" as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("build" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("damage" as const), where: fc.double({ min: 0, max: 0.999 }) }),
  },
);
const FILTERS = [
  "",
  "WHERE symbol = 'AAPL.US'",
  "WHERE trade_date = DATE '2026-03-09'",
  "WHERE trade_date >= DATE '2026-02-27' AND trade_date < DATE '2026-03-09'",
  "WHERE \"timestamp\" > TIMESTAMPTZ '2026-03-06 01:35:00Z' AND symbol <> '00700.HK'",
  "WHERE trade_date = DATE '2026-04-01' OR high > 100",
  "WHERE is_final AND landed_bars > 1",
];
/** Questions to the bars of a period, each with a filter. */
const QUESTIONS: readonly ((bars: string, where: string) => string)[] = [
  (bars, where) => `FROM ${bars} ${where} ORDER BY ALL`,
  (bars, where) => `SELECT symbol, trade_date, "timestamp", low, high FROM ${bars} ${where} ORDER BY ALL`,
  (bars, where) =>
    `SELECT symbol, count(*) AS n, max(high) AS high, sum(volume) AS volume FROM ${bars} ${where} GROUP BY symbol ORDER BY ALL`,
  (bars, where) =>
    `SELECT * FROM (FROM ${bars} ${where}) b JOIN bars_1d d USING (symbol, trade_date) ORDER BY ALL`,
  (bars, where) =>
    `SELECT * FROM (FROM ${bars} ${where}) b LEFT JOIN bars_1m m USING (symbol, "timestamp") ORDER BY ALL`,
];

interface Connections {
  readonly plain: LakeConnection;
  readonly copied: LakeConnection;
  readonly folder: string;
}

async function perform(
  session: Session,
  lake: Lake,
  { copied, folder }: Connections,
  step: typeof anyStep extends fc.Arbitrary<infer S> ? S : never,
): Promise<void> {
  if (step.kind === "build") await copied.buildSegments(["bars_1d", "bars_1m"]);
  else if (step.kind === "optimize") await optimize(session, lake, BARS_1M, { runId: "test" });
  else if (step.kind === "damage")
    for (const file of copiesIn(folder)) {
      const bytes = readFileSync(file);
      const first = Math.floor(step.where * bytes.length);
      bytes.fill(7, first, Math.min(first + 5000, bytes.length));
      writeFileSync(file, bytes);
    }
  else {
    const [month, options] = step.kind === "new" ? [step.month, { now: lake.clock.now() }] : ["", {}];
    const inMonth = (bar: TestBar): boolean => new Date(Number(bar.at)).toISOString().startsWith(month);
    await land(session, lake, step.kind === "days" ? BARS_1D : BARS_1M, step.bars.filter(inMonth), {
      ...options,
      lot: 100,
    });
  }
}

test("bars of every period and adjustment are those that are aggregated from the minutes", async () => {
  const session = await openSession();
  let used = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyStep, fc.nat(), fc.nat(), fc.nat()), {
        minLength: 2,
        maxLength: cases({ few: 3, more: 6, all: 6 }),
      }),
      fc.array(anyBar, { minLength: 20, maxLength: 60 }),
      fc.array(anyDaily, { minLength: 5, maxLength: 20 }),
      async (steps, minutes, days) => {
        const lake = temporaryLake();
        await land(session, lake, BARS_1M, minutes, { lot: 100 });
        await land(session, lake, BARS_1D, days, { lot: 100 });
        const folder = temporaryFolder();
        const options = { hasDatabase: false, threads: 1 };
        await using plain = openLake(lake.location, { ...options, segments: false });
        await using copied = openLake(lake.location, { ...options, segments: { folder, copyFrom: 1 } });
        await copied.buildSegments(["bars_1d", "bars_1m"]);
        used += copiesIn(folder).length;
        for (const [step, question, filter, period] of steps) {
          await perform(session, lake, { plain, copied, folder }, step);
          for (const nth of [0, 1, 2]) {
            const adjustment = ADJUSTMENTS[(question + filter + nth) % ADJUSTMENTS.length] as Adjustment;
            const where = FILTERS[(filter + nth) % FILTERS.length] as string;
            const values = { period: PERIODS[(period + nth) % PERIODS.length] as string, adjustment };
            const ask = QUESTIONS[(question + nth) % QUESTIONS.length] as (typeof QUESTIONS)[number];
            const bound = ask("adjusted($period, $adjustment)", where);
            const expected = await plain.query(bound, values);
            const named = ask(`adjusted('${values.period}', '${adjustment}')`, where);
            const what = `${named}, ${step.kind}`;
            expect((await copied.query(bound, values)).rows(), what).toEqual(expected.rows());
            const found = await copied.query(named);
            expect({ schema: found.schema, rows: found.rows() }, what).toEqual({
              schema: expected.schema,
              rows: expected.rows(),
            });
          }
        }
      },
    ),
    { numRuns: cases({ few: 1, more: 4, all: 80 }), endOnFailure: true },
  );
  expect(used).toBeGreaterThan(0);
});

once(
  "a query of copied months reads their bars alone; the minutes are aggregated where there are none",
  async () => {
    const session = await openSession();
    const folder = temporaryFolder();
    const build = (lake: Lake): Promise<void> => buildMinutes(lake, placeIn(lake, folder));
    const march = "WHERE trade_date = DATE '2026-03-06'";
    const april = "WHERE trade_date = DATE '2026-04-01'";
    const settled = await lakeOfMinutes(session, true);
    await build(settled);
    expect(await tablesOf(settled, placeIn(settled, folder), "FROM bars('60m')")).toEqual(["bars_60m"]);
    expect(await tablesOf(settled, placeIn(settled, folder), "FROM adjusted('5m', 'none')")).toEqual([
      "bars_5m",
    ]);
    const lake = await lakeOfMinutes(session, false);
    await build(lake);
    expect(await tablesOf(lake, placeIn(lake, folder), `FROM bars('5m') ${march}`)).toEqual(["bars_5m"]);
    expect(await tablesOf(lake, placeIn(lake, folder), `FROM bars('5m') ${april}`)).toContain("READ_PARQUET");
    await expectSameBars(lake, placeIn(lake, folder));
    // A day with a price of 0 is aggregated from its minutes, and no other day.
    const day = (minute: number): TestBar => at(["600519.SH", "CN"], "2026-02-26", minute);
    const [zero, low] = [0, 1].map((price) => ({ low: price, open: price, close: price, high: price }));
    await land(session, settled, BARS_1M, [
      { ...day(600), ...zero },
      { ...day(599), ...low },
    ]);
    await build(settled);
    expect(await tablesOf(settled, placeIn(settled, folder), "FROM bars('5m')")).toEqual([
      "bars_5m",
      "odd_minutes",
    ]);
    using reader = await openReader(settled, { threads: 1, copies: placeIn(settled, folder) });
    const odd = await reader.session.json(
      "SELECT DISTINCT symbol, CAST(trade_date AS VARCHAR) AS trade_date FROM barlake_minutes.odd_minutes",
    );
    expect(odd).toEqual([{ symbol: "600519.SH", trade_date: "2026-02-26" }]);
    await expectSameBars(settled, placeIn(settled, folder));
  },
);

test("of minutes of one region, or of two, what is not copied is aggregated as of all", async () => {
  expect.hasAssertions();
  const session = await openSession();
  const folder = temporaryFolder();
  const [china, hongKong, america] = SYMBOLS;
  const all = [[china], [hongKong], [america], [china, hongKong], [hongKong, america]];
  for (const symbols of pickFrom(all, { few: 1, more: 3, all: 5 })) {
    const lake = await lakeOfMinutes(session, false, symbols as typeof SYMBOLS);
    await buildMinutes(lake, placeIn(lake, folder));
    await expectSameBars(lake, placeIn(lake, folder));
  }
});

once("a copy of another state gives the months whose files are the same, unless it is damaged", async () => {
  const session = await openSession();
  const folder = temporaryFolder();
  const lake = await lakeOfMinutes(session, true);
  const copies = placeIn(lake, folder);
  const build = (): Promise<void> => buildMinutes(lake, copies);
  const question = "FROM bars('30m') ORDER BY ALL";
  const rows = async (place: typeof copies | undefined): Promise<unknown[]> => {
    using reader = await openReader(lake, { threads: 1, copies: place });
    expect(reader.copies).toHaveLength(place === undefined ? 0 : 1);
    return await reader.session.json(question);
  };
  await build();
  const [first = ""] = copiesIn(folder);
  const files = [...(await lake.snapshot(BARS_1M)).files.values()];
  const february = files.find(
    ({ partitionValues: { month, region } }) => month === "2026-02-01" && region === "CN",
  );
  const path = join(lake.location, BARS_1M.name, february?.path ?? "");
  const [sound, cached] = [readFileSync(path), readFileSync(first)];
  await land(session, lake, BARS_1M, [{ ...at(["600519.SH", "CN"], "2026-03-06", 600), close: 10.75 }], {
    now: T0 + 1,
  });
  const expected = await rows(undefined);
  // The files of February are not read again.
  writeFileSync(path, Buffer.from(sound).fill(7, 50, 100));
  await build();
  expect(copiesIn(folder)).toHaveLength(2);
  expect(await rows(copies)).toEqual(expected);
  const second = copiesIn(folder).find((name) => name !== first) ?? "";
  // What is damaged is deleted, and its months are read again.
  writeFileSync(second, readFileSync(second).fill(7, 12_288));
  await land(session, lake, BARS_1M, [{ ...at(["600519.SH", "CN"], "2026-03-09", 600), close: 10.75 }], {
    now: T0 + 2,
  });
  writeFileSync(first, cached.fill(7, 12_288));
  await expect(build()).rejects.toThrow("is not what was written");
  expect(copiesIn(folder)).toHaveLength(1);
  writeFileSync(path, sound);
  await build();
  expect(await rows(copies)).toEqual(await rows(undefined));
});

once("a reader knows the copy of a month that has settled since it was opened", async () => {
  const session = await openSession();
  const folder = temporaryFolder();
  const lake = await lakeOfMinutes(session, true);
  await land(session, lake, BARS_1M, [at(["600519.SH", "CN"], "2026-04-02", 600)], { now: T0 + 60_000 });
  let now = T0 + 3_600_000;
  const clock = { ...lake.clock, now: () => now };
  const read = new Lake(lake.location, { hasDatabase: false, clock });
  const place = placeIn(lake, folder);
  using reader = await openReader(read, { threads: 1, copies: place });
  const missing = (): unknown[] =>
    reader.missingCopies.filter(({ kind }) => kind === "minutes").map(({ rows }) => rows);
  const settled = SYMBOLS.length * MINUTES.length;
  expect(missing()).toEqual([2 * settled]);
  now += 59_999;
  expect(missing()).toEqual([2 * settled]);
  now += 1;
  expect(missing()).toEqual([3 * settled + 1]);
  await buildMinutes(read, place);
  // It reads what it read when it was opened; the next one reads the copy.
  expect(missing()).toEqual([3 * settled + 1]);
  using next = await openReader(read, { threads: 1, copies: place });
  expect(next.missingCopies.map(({ kind }) => kind)).toEqual(["days"]);
});

once("with a damaged copy of minutes, the one that it was made from is deleted, too", async () => {
  const session = await openSession();
  const folder = temporaryFolder();
  const lake = await lakeOfMinutes(session, true);
  const copies = placeIn(lake, folder);
  await buildMinutes(lake, copies);
  await land(session, lake, BARS_1M, [{ ...at(["600519.SH", "CN"], "2026-03-06", 600), close: 10.75 }], {
    now: T0 + 1,
  });
  await buildMinutes(lake, copies);
  expect(copiesIn(folder)).toHaveLength(2);
  using reader = await openReader(lake, { threads: 1, copies });
  const sound = new QueryError("Binder Error: no such column", "SELECT nothing");
  expect([giveUpCopies(reader.copies, sound), copiesIn(folder).length]).toEqual([[], 2]);
  const damaged = new QueryError(
    "IO Error: corrupt database file: computed checksum 1 does not match",
    "FROM x",
  );
  expect([giveUpCopies(reader.copies, damaged).length, copiesIn(folder)]).toEqual([1, []]);
});

once(
  "a statement that has only the views it needs reads copied bars, without the finished views, too",
  async () => {
    const session = await openSession();
    const folder = temporaryFolder();
    const lake = await lakeOfMinutes(session, true);
    addColumn(lake, "turnover");
    const copies = placeIn(lake, folder);
    await buildMinutes(lake, copies);
    for (const adjustment of ["none", "forward"]) {
      const statement = `FROM adjusted('5m', '${adjustment}') ORDER BY ALL`;
      using copied = await openReader(lake, { threads: 1, copies, statement });
      using plain = await openReader(lake, { threads: 1, statement });
      expect(copied.copies).toHaveLength(1);
      expect(await copied.session.json(statement)).toEqual(await plain.session.json(statement));
    }
  },
);

/** Commits a table of minutes with a column that this program does not know: no finished views fit it. */
function addColumn({ location }: Lake, name: string): void {
  const log = join(location, BARS_1M.name, "_delta_log");
  const commits = readdirSync(log)
    .filter((file) => file.endsWith(".json"))
    .sort();
  const actions = commits.flatMap((file) => readFileSync(join(log, file), "utf8").split("\n"));
  const { metaData } = JSON.parse(actions.filter((line) => line.includes('"metaData"')).at(-1) ?? "") as {
    metaData: { schemaString: string };
  };
  const { fields, ...schema } = JSON.parse(metaData.schemaString) as { fields: object[] };
  const added = [...fields, { name, type: "double", nullable: true, metadata: {} }];
  const schemaString = JSON.stringify({ ...schema, fields: added });
  const next = `${String(commits.length).padStart(20, "0")}.json`;
  const lines = [{ metaData: { ...metaData, schemaString } }, { commitInfo: { operation: "TEST" } }];
  writeFileSync(join(log, next), lines.map((line) => JSON.stringify(line)).join("\n"));
}
