import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { readableTables } from "../../../src/lake/lake-views.js";
import { openReader } from "../../../src/lake/open-reader.js";
import type { SegmentPlace } from "../../../src/lake/segments/segment-folder.js";
import { type CopiedFiles, copiedMinutes } from "../../../src/lake/sql-copy/copied-months.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { once } from "../../once.js";
import { pickFrom } from "../../sweep.js";
import { land, openSession, T0, type TestBar, temporaryFolder } from "../temporary-lake.js";
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

const MONTH = SYMBOLS.length * MINUTES.length;
/** Estimated bytes of the bars that a month's minutes make in CN, HK and US, and of the minutes. */
const [BARS, A_MONTH] = [(9 + 18 + 18) * MINUTES.length, 17 * MONTH];
/** Space for the bars of three months and the minutes of one, for the bars of three, and of two. */
const SPACES = [3 * BARS + A_MONTH, 3 * BARS, 2 * BARS] as const;

/** The tables of a copy in which each month has rows. */
async function tablesByMonth(lake: Lake, copies: SegmentPlace): Promise<Record<string, string>> {
  using reader = await openReader(lake, { threads: 1, copies });
  const tables = ["bars_1m", "bars_5m", "bars_60m"];
  const rows = tables.map((name) => `SELECT '${name}' AS name, trade_date FROM barlake_minutes.${name}`);
  const found = await reader.session.json<{ month: string; names: string }>(
    `SELECT strftime(trade_date, '%m') AS month, string_agg(DISTINCT name[6:], ' ' ORDER BY name[6:]) AS names
     FROM (${rows.join(" UNION ALL ")}) GROUP BY month`,
  );
  return Object.fromEntries(found.map(({ month, names }) => [month, names]));
}

async function rowsOf(lake: Lake, copies: SegmentPlace | undefined, sql: string): Promise<unknown[]> {
  using reader = await openReader(lake, { threads: 1, copies });
  return await reader.session.json(`${sql} ORDER BY ALL`);
}

/** Damages a lake's files of minutes of some months. @returns what restores them. */
async function damage(lake: Lake, months: readonly string[]): Promise<() => void> {
  const files = [...(await lake.snapshot(BARS_1M)).files.values()];
  const damaged = files.filter(({ partitionValues: { month } }) => months.includes(month ?? ""));
  const paths = damaged.map(({ path }) => join(lake.location, BARS_1M.name, path));
  const sound = new Map(paths.map((path) => [path, readFileSync(path)]));
  for (const [path, bytes] of sound) writeFileSync(path, Buffer.from(bytes).fill(7, 50, 100));
  return () => {
    for (const [path, bytes] of sound) writeFileSync(path, bytes);
  };
}

once(
  "bars of all months come before minutes, except those of the newest month where these are few",
  async () => {
    const session = await openSession();
    const lake = await lakeOfMinutes(session, true);
    const monthsOf = ({ files }: CopiedFiles): unknown[] => [
      ...new Set(files.map(({ partitionValues: { month } }) => month?.slice(5, 7))),
    ];
    const foundWith = async (space: number | undefined): Promise<unknown> => {
      const { snapshots } = await readableTables(lake, {});
      const minutes = copiedMinutes(snapshots, placeIn(lake, "folder", space), lake.clock.now());
      return minutes && [monthsOf(minutes.aggregated), monthsOf(minutes.copied), minutes.bytes];
    };
    const found = await Promise.all([undefined, ...SPACES, BARS - 1].map(foundWith));
    expect(found).toEqual([
      [["04", "03", "02"], ["04", "03", "02"], 3 * (BARS + A_MONTH)],
      [["04", "03", "02"], ["04"], SPACES[0]],
      [["04", "03", "02"], [], SPACES[1]],
      [["04", "03"], [], SPACES[2]],
      undefined,
    ]);
    const more = ["2025-12-01", "2026-01-05"].flatMap((day) =>
      SYMBOLS.flatMap((symbol) => MINUTES.map((minute) => at(symbol, day, minute))),
    );
    await land(session, lake, BARS_1M, more);
    expect(await foundWith(5 * BARS)).toEqual([["04", "03", "02"], ["04"], SPACES[0]]);
    expect(await foundWith(4 * A_MONTH - 1)).toEqual([["04", "03", "02", "01"], [], 4 * BARS]);
  },
);

test("bars are read without a file where there is space for them; the others are aggregated", async () => {
  const session = await openSession();
  const lake = await lakeOfMinutes(session, true);
  // A day with a price of 0, in a month whose minutes are not copied.
  const day = (minute: number): TestBar => at(["600519.SH", "CN"], "2026-02-26", minute);
  const [zero, low] = [0, 1].map((price) => ({ low: price, open: price, close: price, high: price }));
  await land(session, lake, BARS_1M, [
    { ...day(600), ...zero },
    { ...day(599), ...low },
  ]);
  const [bars, minutes] = ["FROM bars('5m')", "FROM bars_1m"];
  const all = { "02": "5m 60m", "03": "5m 60m", "04": "5m 60m" };
  const cases = [
    [SPACES[0], { ...all, "04": "1m 5m 60m" }, ["bars_5m", "odd_minutes"], ["bars_1m", "READ_PARQUET"]],
    [SPACES[1], all, ["bars_5m", "odd_minutes"], ["READ_PARQUET"]],
    [SPACES[2], { "03": "5m 60m", "04": "5m 60m" }, ["bars_5m", "READ_PARQUET"], ["READ_PARQUET"]],
  ] as const;
  const places: SegmentPlace[] = [];
  for (const [space, months, ofBars, ofMinutes] of cases) {
    // The two bars of the day with a price of 0.
    const copies = placeIn(lake, temporaryFolder(), space + 2 * 9);
    places.push(copies);
    await buildMinutes(lake, copies);
    expect(await tablesByMonth(lake, copies)).toEqual(months);
    expect(await tablesOf(lake, copies, bars)).toEqual(ofBars);
    expect(await tablesOf(lake, copies, minutes)).toEqual(ofMinutes);
    await expectSameBars(
      lake,
      copies,
      space === SPACES[0] ? pickFrom(PERIODS, { few: 2, more: 5, all: 5 }) : ["15m"],
    );
    if (space === SPACES[1]) continue;
    await expectSameBars(
      lake,
      copies,
      ["5m"],
      "WHERE trade_date >= '2026-02-27' AND trade_date < '2026-04-01'",
    );
    await expectSameBars(lake, copies, ["60m"], "WHERE \"timestamp\" > TIMESTAMPTZ '2026-03-06 01:35:00Z'");
  }
  const expected = await rowsOf(lake, undefined, bars);
  await damage(lake, ["2026-02-01", "2026-03-01", "2026-04-01"]);
  expect(await rowsOf(lake, places[0], bars)).toEqual(expected);
  expect(await rowsOf(lake, places[1], bars)).toEqual(expected);
  await expect(rowsOf(lake, places[2], bars)).rejects.toThrow("damaged");
});

test("a month between others gets its bars when it has settled, and older ones their minutes", async () => {
  const session = await openSession();
  const lake = await lakeOfMinutes(session, true);
  const copies = placeIn(lake, temporaryFolder());
  const march = at(["600519.SH", "CN"], "2026-03-09", 600);
  let now = T0 + 3_600_000;
  await land(session, lake, BARS_1M, [march], { now });
  const read = new Lake(lake.location, { hasDatabase: false, clock: { ...lake.clock, now: () => now } });
  await buildMinutes(read, copies);
  expect(await tablesByMonth(read, copies)).toEqual({ "02": "5m 60m", "04": "1m 5m 60m" });
  await expectSameBars(read, copies);
  now += 3_600_000;
  await buildMinutes(read, copies);
  const all = { "02": "1m 5m 60m", "03": "1m 5m 60m", "04": "1m 5m 60m" };
  expect(await tablesByMonth(read, copies)).toEqual(all);
  await expectSameBars(read, copies, pickFrom(PERIODS, { few: 2, more: 5, all: 5 }));
  expect(await rowsOf(read, copies, "FROM bars_1m")).toEqual(await rowsOf(read, undefined, "FROM bars_1m"));
  const [newest] = copiesIn(copies.folder).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const path of copiesIn(copies.folder)) if (path !== newest) rmSync(path);
  // A bar is changed, so that the month has new files, until an hour later.
  await land(session, lake, BARS_1M, [{ ...march, close: 10.75 }], { now: now + 1 });
  now += 2;
  const expected = await rowsOf(read, undefined, "FROM bars('5m')");
  const restore = await damage(read, ["2026-02-01", "2026-04-01"]);
  await buildMinutes(read, copies);
  expect(await tablesByMonth(read, copies)).toEqual({ "02": "5m 60m", "04": "1m 5m 60m" });
  expect(await rowsOf(read, copies, "FROM bars('5m')")).toEqual(expected);
  // The bars of other months are not built again, but the minutes of the older month have to be read.
  now += 3_600_000;
  await expect(buildMinutes(read, copies)).rejects.toThrow("is not what was written");
  restore();
  await buildMinutes(read, copies);
  expect(await tablesByMonth(read, copies)).toEqual(all);
  await expectSameBars(read, copies);
});
