import { expect, test } from "vitest";
import type { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landActions } from "../../../src/lake/land/land-versions.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { CORPORATE_ACTIONS, SYMBOL_CHANGES } from "../../../src/schema/actions.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { instrumentReport } from "../../../src/ui/instrument/instrument-report.js";
import type { InstrumentReport } from "../../../src/ui/page-data.js";
import { landSomeActions } from "../../lake/land/some-actions.js";
import { land, openSession, T0, temporaryLake } from "../../lake/temporary-lake.js";

const SYMBOL = "600519.SH";

async function reportOf(lake: Lake, compared: readonly string[] = []): Promise<InstrumentReport> {
  using reader = await openReader(lake, { threads: 1 });
  return await instrumentReport(reader, [], SYMBOL, compared);
}

/** Bars with one restated previous close, and of another symbol without any. */
async function landBars(lake: Lake): Promise<void> {
  await land(await openSession(), lake, BARS_1D, [
    { at: "2026-05-11T00:00:00+08:00", close: 100, prevClose: 99 },
    { at: "2026-05-12T00:00:00+08:00", close: 80, prevClose: 80 },
    { symbol: "000001.SZ", at: "2026-05-11T00:00:00+08:00", close: 10, prevClose: 10 },
    { symbol: "000001.SZ", at: "2026-05-12T00:00:00+08:00", close: 11, prevClose: 10 },
  ]);
}

test("a lake without a table of actions has the ex-events that its bars state", async () => {
  const lake = temporaryLake();
  await landBars(lake);
  const { exEvents, actions, hasEarlier, adjusted } = await reportOf(lake, ["000001.SZ", "600000.SH"]);
  expect(exEvents).toEqual([
    { day: "2026-05-12", lastClose: 100, prevClose: 80, factor: 1.25, witness: "prev_close", source: null },
  ]);
  expect([actions, hasEarlier, adjusted]).toEqual([[], false, [SYMBOL]]);
});

test("actions are the newest versions, also of ex-dates to come", async () => {
  const lake = temporaryLake();
  await landBars(lake);
  await landSomeActions(await openSession(), lake, T0);
  const { actions } = await reportOf(lake);
  expect(actions.map(({ day, kind, cash, ratio, price }) => [day, kind, cash, ratio, price])).toEqual([
    ["2026-06-19", "stock_dividend", null, 0.3, null],
    ["2026-06-19", "cash_dividend", 1.45, null, null],
    ["2026-09-10", "rights", null, 0.2, 4.5],
  ]);
  expect(actions[1]).toMatchObject({ announced: "2026-04-20", paid: "2026-06-22", source: "test" });
});

test("an action whose ex-date has no bar is of the day of the next bar, as its ex-event is", async () => {
  const lake = temporaryLake();
  await landBars(lake);
  const session = await openSession();
  await land(session, lake, BARS_1D, [
    { at: "2026-06-18T00:00:00+08:00", close: 80, prevClose: 80 },
    { at: "2026-06-22T00:00:00+08:00", close: 60, prevClose: 80 },
  ]);
  await landSomeActions(session, lake, T0);
  const { actions, exEvents } = await reportOf(lake);
  expect(actions.map(({ day, exDate }) => [day, exDate])).toEqual([
    ["2026-06-22", "2026-06-19"],
    ["2026-06-22", "2026-06-19"],
    ["2026-09-10", "2026-09-10"],
  ]);
  expect(exEvents.map(({ day, factor, witness, source }) => [day, factor, witness, source])).toEqual([
    ["2026-05-12", 1.25, "prev_close", null],
    ["2026-06-22", 1.35, "factor", "test"],
  ]);
});

test("an ex-event before a rename is one of the new name, too", async () => {
  const lake = temporaryLake();
  await landBars(lake);
  const session = await openSession();
  const names = { old: "600602.SH", new: "601602.SH" };
  await land(session, lake, BARS_1D, [
    { symbol: names.old, at: "2026-05-11T00:00:00+08:00", close: 100, prevClose: 100 },
    { symbol: names.old, at: "2026-05-12T00:00:00+08:00", close: 80, prevClose: 80 },
    { symbol: names.new, at: "2026-05-13T00:00:00+08:00", close: 80, prevClose: 80 },
  ]);
  expect((await reportOf(lake, Object.values(names))).adjusted.toSorted()).toEqual([SYMBOL, names.old]);
  const columns = SYMBOL_CHANGES.columns.filter(({ name }) => name !== "first_seen_at");
  const rename = { symbol: names.old, from_date: "2026-05-13", kind: "rename", new_symbol: names.new };
  await stageObjects(session, "a_rename", columns, [{ ...rename, source: "test", region: "CN" }]);
  const options = { operation: "IMPORT", runId: "rename", now: T0 };
  await landActions(session, lake, SYMBOL_CHANGES, "a_rename", options);
  const { adjusted } = await reportOf(lake, [...Object.values(names), "000001.SZ"]);
  expect(adjusted.toSorted()).toEqual([SYMBOL, names.old, names.new]);
});

test("of thousands of actions the newest are listed, with the ex-events of the same time", async () => {
  const lake = temporaryLake();
  await landBars(lake);
  const session = await openSession();
  const columns = CORPORATE_ACTIONS.columns.filter(({ name }) => name !== "first_seen_at");
  // Later than the bars, so that the ex-event of these lies before what is listed.
  const rows = Array.from({ length: 2000 }, (_, n) => ({
    symbol: SYMBOL,
    source: "test",
    region: "CN",
    kind: "cash_dividend",
    ex_date: new Date(T0 + n * 86_400_000).toISOString().slice(0, 10),
    cash: 0.1,
  }));
  await stageObjects(session, "many_actions", columns, rows);
  const options = { operation: "IMPORT", runId: "many", now: T0 };
  await landActions(session, lake, CORPORATE_ACTIONS, "many_actions", options);
  const { actions, exEvents, hasEarlier, adjusted } = await reportOf(lake);
  expect([actions.length, actions[0]?.day, actions.at(-1)?.day]).toEqual([
    1000,
    rows[1000]?.ex_date,
    rows[1999]?.ex_date,
  ]);
  expect([exEvents, hasEarlier, adjusted]).toEqual([[], true, [SYMBOL]]);
});
