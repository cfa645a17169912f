import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { dateOfEpochDay, epochDay, parseTradingDate } from "../../../src/core/time.js";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { dataset } from "../../../src/dataset/dataset.js";
import { isWhole } from "../../../src/dataset/panel/coverage.js";
import { defineDataset } from "../../../src/dataset/spec.js";
import { readManifest } from "../../../src/dataset/store/manifest.js";
import { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landMemberRanges, landVersions } from "../../../src/lake/land/land-versions.js";
import { landTradingDays } from "../../../src/lake/land/trading-days.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { ABSENCES_1D, BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { UNIVERSE_MEMBERS } from "../../../src/schema/reference.js";
import { land, T0, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";

/** Weekdays over the turn of a year: sessions, as the index trades on each. */
const FIRST = epochDay(parseTradingDate("2025-12-15"));
const DAYS = Array.from({ length: 35 }, (_, n) => FIRST + n)
  .filter((day) => (day + 3) % 7 < 5)
  .map((day) => dateOfEpochDay(day));
const INDEX = "000001.SH";
/** A member at each time, which trades on each day. */
const FIRM = "600001.SH";
const OTHERS = ["600002.SH", "600003.SH", "600004.SH"];

const midnight = (n: number): number => Date.parse(`${DAYS[n]}T00:00:00+08:00`);
const day = fc.integer({ min: 0, max: DAYS.length - 1 });
/** Ranges of days, in order and apart. */
const stretches = fc
  .uniqueArray(day, { maxLength: 4 })
  .map((days) => days.toSorted((a, b) => a - b))
  .map((days) =>
    days.flatMap((start, i) => (i % 2 === 0 ? [[start, days[i + 1] ?? DAYS.length] as const] : [])),
  );

/** What is random of a lake. */
const market = fc.record({
  /** Memberships that are told, of each symbol. */
  told: fc.tuple(stretches, stretches, stretches, stretches),
  /** When the lake sees its first list and its second one, and who else is on them. */
  sight: fc.tuple(day, day).map(([a, b]) => [Math.min(a, b), Math.max(a, b) + 1] as const),
  lists: fc.tuple(fc.subarray(OTHERS), fc.subarray(OTHERS)),
  isTold: fc.boolean(),
  /** Days with bars, of each of the others. */
  bars: fc.tuple(...OTHERS.map(() => fc.oneof(stretches, fc.constant([[0, DAYS.length] as const])))),
  /** Stretches of which a response said that there are no bars. */
  absences: fc.tuple(...OTHERS.map(() => stretches)),
  from: fc.integer({ min: 0, max: DAYS.length - 3 }),
});
type RandomMarket = typeof market extends fc.Arbitrary<infer T> ? T : never;

const isIn = (ranges: readonly (readonly [number, number])[], n: number): boolean =>
  ranges.some(([start, end]) => n >= start && n < end);

async function lakeOf({ told, sight, lists, isTold, bars, absences }: RandomMarket): Promise<Lake> {
  const lake = temporaryLake();
  using session = await Session.open({ threads: 1 });
  const options = { operation: "TEST", runId: "test", now: T0 };
  const barsOf = (symbol: string, has: (n: number) => boolean) =>
    DAYS.flatMap((_, n) => (has(n) ? [{ symbol, at: midnight(n), volume: n % 5 === 4 ? 0 : 100 }] : []));
  await land(session, lake, BARS_1D, [
    ...barsOf(INDEX, () => true).map((bar) => ({ ...bar, volume: 100 })),
    ...barsOf(FIRM, () => true).map((bar) => ({ ...bar, volume: 100 })),
    ...OTHERS.flatMap((symbol, i) => barsOf(symbol, (n) => isIn(bars[i] ?? [], n))),
  ]);
  await landTradingDays(session, lake, options);
  const absent = OTHERS.flatMap((symbol, i) =>
    (absences[i] ?? []).map(([start, end]) => ({
      symbol,
      first_date: DAYS[start],
      last_date: DAYS[end - 1],
      region: "CN",
    })),
  );
  await stageObjects(session, "absent", ABSENCES_1D.columns, absent);
  await upsert(session, lake, ABSENCES_1D, "absent", options);
  const columns = UNIVERSE_MEMBERS.columns.filter(({ name }) => !name.startsWith("valid_"));
  for (const [i, at] of sight.entries()) {
    const rows = [FIRM, ...(lists[i] ?? [])].map((symbol) => ({ id: "IDX", symbol, region: "CN" }));
    await stageObjects(session, "list", columns, rows);
    const now = (DAYS[at] === undefined ? midnight(DAYS.length - 1) + 86_400_000 : midnight(at)) + 3_600_000;
    await landVersions(session, lake, UNIVERSE_MEMBERS, "list", {
      ...options,
      now,
      complete: "c.id = 'IDX'",
    });
  }
  if (!isTold) return lake;
  const ranges = [FIRM, ...OTHERS].flatMap((symbol, i) =>
    (told[i] ?? []).map(([start, end]) => ({
      id: "IDX",
      symbol,
      region: "CN",
      source: "told",
      valid_from: midnight(start),
      valid_to: end === DAYS.length ? null : midnight(end),
    })),
  );
  await stageObjects(session, "ranges", UNIVERSE_MEMBERS.columns, ranges);
  await landMemberRanges(session, lake, "ranges", options);
  return lake;
}

test("each day's members, and those without bars, are those of a slow count; survivors are warned of unless none lacks", async () => {
  await fc.assert(
    fc.asyncProperty(market, async (random) => {
      const lake = await lakeOf(random);
      const { bars, absences, from } = random;
      const { session } = await openReader(lake, { threads: 1 });
      using reader = session;
      const rows = await reader.json<{
        symbol: string;
        since: string;
        until: string | null;
        isFirst: boolean;
      }>(
        `SELECT symbol, local_date(valid_from, region)::VARCHAR AS since, local_date(valid_to, region)::VARCHAR AS until,
           valid_from = min(valid_from) OVER () AS "isFirst" FROM raw.universe_members`,
      );
      const membersOn = (date: string): string[] =>
        rows
          .filter(({ since, until }) => until === null || (until > date && since < until))
          .filter(({ since, isFirst }) => since <= date || isFirst)
          .map(({ symbol }) => symbol);
      const start = rows.find(({ isFirst }) => isFirst)?.since ?? "";
      const first = DAYS.findIndex((date) => date >= start);
      const recorded = Math.max(from, first);
      const window = DAYS.slice(from);
      const lacks = new Map<string, number[]>();
      const numbers: [string, number, number][] = [];
      for (let n = recorded; n < DAYS.length; n++) {
        const members = membersOn(DAYS[n] as string);
        const without = members.filter((symbol) => {
          const i = OTHERS.indexOf(symbol);
          if (i < 0) return false;
          const has = (at: number): boolean => isIn(bars[i] ?? [], at);
          const firstBar = DAYS.findIndex((_, at) => has(at));
          const isAbsent = (absences[i] ?? []).some(
            ([a, b]) =>
              n >= a &&
              n < b &&
              firstBar >= 0 &&
              a > firstBar &&
              !DAYS.some((_, at) => at >= a && at < b && has(at)),
          );
          return !has(n) && !isAbsent;
        });
        for (const symbol of without) lacks.set(symbol, [...(lacks.get(symbol) ?? []), n]);
        numbers.push([DAYS[n] as string, members.length, without.length]);
      }
      using data = await dataset(lake, {
        name: "covered",
        universe: "IDX",
        from: DAYS[from] as string,
        fields: ["close"],
        masks: ["in_universe"],
      });
      const { coverage, warnings } = data;
      if (coverage === undefined) throw new TypeError("a universe of the lake has no coverage");
      expect(coverage.recordedFrom).toBe(DAYS[recorded] ?? null);
      expect([coverage.dates, coverage.unrecorded]).toEqual([window.length, recorded - from]);
      const byDate = coverage.ranges.flatMap((range) =>
        DAYS.filter((date) => date >= range.first && date <= range.last).map((date) => [
          date,
          range.members,
          range.withoutBars,
        ]),
      );
      expect(byDate).toEqual(numbers);
      for (const { dates, members, withBars, withoutBars, first: a, last: b } of coverage.ranges) {
        expect(withBars + withoutBars).toBe(members);
        expect(DAYS.filter((date) => date >= a && date <= b)).toHaveLength(dates);
        expect(a.slice(0, 4)).toBe(b.slice(0, 4));
      }
      const named = [...coverage.noBars, ...coverage.someBars].map((one) => [
        one.symbol,
        [one.first, one.last],
      ]);
      expect(Object.fromEntries(named)).toEqual(
        Object.fromEntries(
          Array.from(lacks, ([symbol, at]) => [symbol, [DAYS[at[0] as number], DAYS[at.at(-1) as number]]]),
        ),
      );
      for (const { symbol } of coverage.noBars) expect(bars[OTHERS.indexOf(symbol)]).toEqual([]);
      for (const { symbol, without } of coverage.someBars) expect(lacks.get(symbol)).toHaveLength(without);

      const isWarned = warnings.some((text) =>
        /members without bars|those of that day are assumed|has no members on/.test(text),
      );
      expect(isWarned).toBe(!isWhole(coverage));
      const { symbols, dates, masks } = await data.columns();
      for (const [label, date] of dates.entries()) {
        const members = membersOn(date);
        for (const [s, symbol] of symbols.entries())
          expect(masks.in_universe?.[s * dates.length + label], `${symbol} ${date}`).toBe(
            members.includes(symbol) ? 1 : 0,
          );
      }
    }),
    { numRuns: cases({ few: 4, more: 20, all: 500 }) },
  );
});

/** A lake whose index and firm trade on each day; memberships are told as ranges of numbers of days. */
async function toldLake(
  told: readonly (readonly [symbol: string, start: number, end: number | null])[],
  bars: Readonly<Record<string, readonly [number, number]>>,
): Promise<Lake> {
  const lake = temporaryLake();
  using session = await Session.open({ threads: 1 });
  const options = { operation: "TEST", runId: "test", now: T0 };
  const all = { [INDEX]: [0, DAYS.length], [FIRM]: [0, DAYS.length], ...bars } as typeof bars;
  await land(
    session,
    lake,
    BARS_1D,
    Object.entries(all).flatMap(([symbol, [start, end]]) =>
      DAYS.slice(start, end).map((_, i) => ({ symbol, at: midnight(start + i) })),
    ),
  );
  await landTradingDays(session, lake, options);
  const ranges = told.map(([symbol, start, end]) => ({
    id: "IDX",
    symbol,
    region: "CN",
    source: "told",
    valid_from: midnight(start),
    valid_to: end === null ? null : midnight(end),
  }));
  await stageObjects(session, "ranges", UNIVERSE_MEMBERS.columns, ranges);
  await landMemberRanges(session, lake, "ranges", options);
  return lake;
}

const SPEC = {
  name: "told",
  universe: "IDX",
  fields: ["close"],
  adjustment: "none" as const,
  format: "qlib" as const,
};

once(
  "who left is in it; a member without bars is named with its dates, until the lake has them",
  async () => {
    const told = [
      [FIRM, 0, null],
      ["600002.SH", 0, 10],
      ["600003.SH", 10, 20],
      ["600004.SH", 20, null],
    ] as const;
    const bars = { "600002.SH": [0, 12], "600004.SH": [15, DAYS.length] } as const;
    const lake = await toldLake(told, bars);
    using lacking = await dataset(lake, { ...SPEC, from: DAYS[5] as string });
    expect(lacking.symbols).toEqual([FIRM, "600002.SH", "600004.SH"]);
    expect(lacking.coverage?.noBars).toEqual([
      {
        symbol: "600003.SH",
        dates: 10,
        first: DAYS[10],
        last: DAYS[19],
        membership: [{ from: DAYS[10], to: DAYS[20] }],
      },
    ]);
    expect(lacking.coverage?.someBars).toEqual([]);
    expect(lacking.warnings).toContainEqual(
      `members without bars on 10 of 20 dates, most of them on ${DAYS[10]}: 1 of 2; of 1 the lake has no bars at all: results over the others are those of survivors`,
    );
    using whole = await dataset(await toldLake(told, { ...bars, "600003.SH": [10, 20] }), {
      ...SPEC,
      from: DAYS[5] as string,
    });
    expect(whole.coverage && isWhole(whole.coverage)).toBe(true);
    expect(whole.warnings).toEqual([]);
  },
);

once(
  "who was a member only before the dataset's dates, or will be one after them, is not in it",
  async () => {
    const lake = await toldLake(
      [
        [FIRM, 0, null],
        ["600002.SH", 0, 10],
        ["600003.SH", 20, null],
      ],
      { "600002.SH": [0, DAYS.length], "600003.SH": [0, DAYS.length] },
    );
    using data = await dataset(lake, { ...SPEC, from: DAYS[10] as string, to: DAYS[20] });
    expect(data.symbols).toEqual([FIRM]);
    const before = {
      ...SPEC,
      universe: {
        sql: `SELECT '${FIRM}' AS symbol, DATE '2020-01-01' AS from_date, DATE '2020-02-01' AS to_date`,
      },
    };
    await expect(dataset(lake, { ...before, from: DAYS[0] as string })).rejects.toThrow(
      "no members between from and to",
    );
  },
);

once("a list of today's members with the dates on which they joined is no history", async () => {
  const lake = await toldLake(
    [
      [FIRM, 0, null],
      ["600002.SH", 10, null],
    ],
    { "600002.SH": [0, DAYS.length] },
  );
  using data = await dataset(lake, { ...SPEC, from: DAYS[0] as string });
  expect(data.coverage && isWhole(data.coverage)).toBe(true);
  expect(data.warnings).toEqual([expect.stringContaining("1 members joined the universe and none left")]);
});

once("an append has the coverage of a full build", async () => {
  const lake = await toldLake(
    [
      [FIRM, 0, null],
      ["600002.SH", 0, 22],
      ["600003.SH", 5, 24],
      ["600004.SH", 16, null],
    ],
    { "600002.SH": [0, 20], "600004.SH": [10, DAYS.length] },
  );
  const spec = { ...SPEC, from: DAYS[2] as string };
  const build = (to: string | undefined, output: string, existing: "refuse" | "append") =>
    buildDataset(lake, defineDataset({ ...spec, output, ...(to === undefined ? {} : { to }) }), { existing });
  const [grown, full] = [join(temporaryFolder(), "grown"), join(temporaryFolder(), "full")];
  await build(DAYS[18], grown, "refuse");
  const { coverage } = await build(undefined, grown, "append");
  expect(coverage?.someBars.map(({ symbol, without }) => [symbol, without])).toEqual([["600002.SH", 2]]);
  expect(coverage?.noBars.map(({ symbol, dates }) => [symbol, dates])).toEqual([["600003.SH", 19]]);
  expect(coverage).toEqual((await build(undefined, full, "refuse")).coverage);
  expect((await readManifest(lake.storageAt(grown))).coverage).toEqual(coverage);
});

once("a member of another region has no bars on its holidays, and lacks none", async () => {
  const lake = await toldLake([[FIRM, 0, null]], {});
  using session = await Session.open({ threads: 1 });
  const options = { operation: "TEST", runId: "test", now: T0 };
  const open = DAYS.filter((date) => date !== "2025-12-25");
  const bars = ["SPY.US", "AAPL.US", "MSFT.US"].flatMap((symbol) =>
    open
      .filter((date) => symbol !== "MSFT.US" || date !== "2025-12-24")
      .map((date) => ({ symbol, at: Date.parse(`${date}T00:00:00-05:00`) })),
  );
  await land(session, lake, BARS_1D, bars);
  await landTradingDays(session, lake, options);
  using data = await dataset(lake, {
    ...SPEC,
    universe: {
      sql: `SELECT unnest(['${FIRM}', 'AAPL.US', 'MSFT.US']) AS symbol, DATE '2025-12-01' AS from_date`,
    },
    from: DAYS[0] as string,
  });
  expect(data.coverage?.ranges.filter(({ withoutBars }) => withoutBars > 0)).toEqual([
    { first: "2025-12-24", last: "2025-12-24", dates: 1, members: 3, withBars: 2, withoutBars: 1 },
  ]);
});

once("of minutes, a day without trades lacks none: its daily bar says so", async () => {
  const told = [FIRM, "600002.SH", "600003.SH"].map((symbol) => [symbol, 0, null] as const);
  const lake = await toldLake(told, {});
  using session = await Session.open({ threads: 1 });
  await land(session, lake, BARS_1D, [
    { symbol: "600002.SH", at: midnight(1), volume: 0 },
    { symbol: "600003.SH", at: midnight(1) },
  ]);
  const minute = (symbol: string, n: number) => ({ symbol, at: midnight(n) + 10 * 3_600_000 });
  const minutes = [0, 1].map((n) => minute(FIRM, n));
  await land(session, lake, BARS_1M, [...minutes, minute("600002.SH", 0), minute("600003.SH", 0)]);
  using data = await dataset(lake, {
    ...SPEC,
    period: "1m",
    from: DAYS[0] as string,
    to: DAYS[2],
  });
  expect(data.coverage?.ranges.map(({ first, members, withBars }) => [first, members, withBars])).toEqual([
    [DAYS[0], 3, 3],
    [DAYS[1], 3, 2],
  ]);
  expect(data.coverage?.someBars).toEqual([
    { symbol: "600003.SH", dates: 2, without: 1, first: DAYS[1], last: DAYS[1] },
  ]);
});

once("lists and regions have no coverage: nobody says when their symbols were members", async () => {
  const lake = await toldLake([[FIRM, 0, null]], {});
  for (const universe of [[FIRM], { region: "CN" as const }, { sql: `SELECT '${FIRM}' AS symbol` }]) {
    using data = await dataset(lake, { ...SPEC, universe, from: DAYS[0] as string });
    expect(data.coverage).toBeUndefined();
  }
});
