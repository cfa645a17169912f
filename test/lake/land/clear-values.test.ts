import { expect, test } from "vitest";
import { ident } from "../../../src/db/quote.js";
import { clearValues, finiteRows, stageObjects } from "../../../src/lake/land/clear-values.js";
import { Rejects, rejectsSql } from "../../../src/lake/land/rejects.js";
import { stagedColumns } from "../../../src/lake/land/staged-rows.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { once } from "../../once.js";
import { openSession, temporaryLake } from "../temporary-lake.js";

test("what staged bars state in vain becomes null, with one remark a source and column", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await session.run(`CREATE TEMP TABLE bars AS SELECT 'A.US' AS symbol, make_timestamptz(line * 1000000) AS timestamp,
      source, line, prev_close::DOUBLE AS prev_close, open_interest::DOUBLE AS open_interest,
      settlement_price::DOUBLE AS settlement_price, amount::DOUBLE AS amount, 1::DOUBLE AS close, 1::BIGINT AS volume
    FROM (VALUES ('a', 1, 'nan', '1', NULL, '5'), ('a', 2, '0', 'inf', NULL, 'nan'), ('a', 3, '-1', '2', NULL, '5'),
      ('b', 4, 'inf', '3', NULL, '5'), ('b', 5, '2.5', '4', '-0.5', '5'), ('c', 6, NULL, NULL, '-3', NULL))
      AS t(source, line, prev_close, open_interest, settlement_price, amount)`);
  const rejects = new Rejects(session, "test");
  await clearValues(session, BARS_1D, "bars", rejects, ["amount"]);
  const rows = await session.json(
    "SELECT prev_close AS p, open_interest AS o, settlement_price AS s, amount AS a FROM bars ORDER BY line",
  );
  expect(rows).toEqual([
    { p: null, o: 1, s: null, a: 5 },
    { p: null, o: null, s: null, a: null },
    { p: null, o: 2, s: null, a: 5 },
    { p: null, o: 3, s: null, a: 5 },
    { p: 2.5, o: 4, s: -0.5, a: 5 },
    { p: null, o: null, s: -3, a: null },
  ]);
  const counts = await rejects.save(lake);
  expect(counts.every((count) => count.rows === 0 && count.rule === "out_of_range")).toBe(true);
  const remarks = await session.json(
    `SELECT source, line::INT AS line, reason, bars::INT AS bars FROM (${await rejectsSql(lake)}) ORDER BY ALL`,
  );
  const remark = (source: string, line: number, reason: string) => ({ source, line, reason, bars: 0 });
  expect(remarks).toEqual([
    remark("a", 1, "prev_close of 3 bars is no price above 0; it became null"),
    remark("a", 2, "amount of 1 bars is not a finite number; it became null"),
    remark("a", 2, "open_interest of 1 bars is not a finite number; it became null"),
    remark("b", 4, "prev_close of 1 bars is no price above 0; it became null"),
  ]);
});

once("numbers of staged objects that are not finite are null, also as texts", async () => {
  const session = await openSession();
  const rows = [Number.NaN, Number.POSITIVE_INFINITY, "NaN", "-Infinity", 5, "6.5"].map(
    (float_shares, n) => ({
      symbol: `A${n}.US`,
      float_shares,
    }),
  );
  await stageObjects(session, "objects", INSTRUMENTS.columns, rows);
  const found = await session.json<{ v: number | null }>(
    "SELECT float_shares AS v FROM objects ORDER BY symbol",
  );
  expect(found.map(({ v }) => v)).toEqual([null, null, null, null, 5, 6.5]);
});

once("only columns of doubles are read through a test", async () => {
  const session = await openSession();
  await session.run(
    `CREATE TEMP TABLE ${ident("some rows")} AS SELECT 'nan' AS t, 1::BIGINT AS n, 'inf'::DOUBLE AS "odd ""name", 2.5::DOUBLE AS d`,
  );
  const rows = await session.json(finiteRows("some rows", await stagedColumns(session, "some rows")));
  expect(rows).toEqual([{ t: "nan", n: 1n, 'odd "name': null, d: 2.5 }]);
});
