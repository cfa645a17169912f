import fc from "fast-check";
import { expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { Rejects, rejectsSql } from "../../../src/lake/land/rejects.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { interruptedLake } from "../interrupted-lake.js";
import { openSession, temporaryLake } from "../temporary-lake.js";
import { type FileBar, type Kept, keptAfter, keptIn, landFiles, OPTIONAL } from "./keep-model.js";

const MINUTE = 60_000;
/** Near the end of a month and of a year in Shanghai. */
const START = Date.parse("2024-12-30T16:00:00Z");
const STEPS = { bars_1d: 24 * 60 * MINUTE, bars_1m: MINUTE };
const SYMBOLS = ["600519.SH", "000001.SZ", "830799.BJ"];

const anyNumber = fc.option(fc.constantFrom(5, 10, 10.5), { nil: undefined });
/** The same number of shares in shares and in lots, and others. */
const anyVolume = fc.constantFrom([100, 1], [1, 100], [200, 1], [2, 100], [150, 1]);
const anyFile = fc.array(
  fc
    .record({
      symbol: fc.constantFrom(...SYMBOLS),
      n: fc.integer({ min: 0, max: 3 }),
      /** Milliseconds after a whole minute: nearly always 0. */
      odd: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 250),
      close: fc.constantFrom(5, 6),
      pair: anyVolume,
      amount: anyNumber,
      open_interest: anyNumber,
      prev_close: anyNumber,
      settlement_price: anyNumber,
    })
    .map(({ pair: [volume = 0, lot = 1], ...bar }) => ({ ...bar, volume, lot })),
  { maxLength: 8 },
);
const anyDelivery = fc.record({
  files: fc.array(anyFile, { minLength: 1, maxLength: 3 }),
  lacking: fc.subarray([...OPTIONAL]),
  /** Which bars are final. */
  finalSteps: fc.integer({ min: 0, max: 4 }),
});

test.each([BARS_1D, BARS_1M])("$name: what files do not say is not changed", async (table) => {
  const session = await openSession();
  const step = STEPS[table.name as keyof typeof STEPS];
  await fc.assert(
    fc.asyncProperty(fc.array(anyDelivery, { minLength: 1, maxLength: 4 }), async (deliveries) => {
      const lake = temporaryLake();
      let model: Kept = new Map();
      for (const [n, { files, lacking, finalSteps }] of deliveries.entries()) {
        const finalEnd = START + finalSteps * step;
        const bars = files.map((rows) =>
          rows.map(({ n: at, odd, ...bar }): FileBar => {
            const said = Object.fromEntries(
              Object.entries(bar).filter(
                ([name, value]) => value !== undefined && !lacking.includes(name as never),
              ),
            );
            return { ...(said as unknown as FileBar), at: START + at * step + odd };
          }),
        );
        await using rejects = new Rejects(session, `run-${n}`);
        const report = await landFiles(session, lake, table, bars, { rejects, finalEnd, lacking });
        const expected = keptAfter(model, bars, (at) => at < finalEnd);
        model = expected.after;
        expect(await keptIn(session, lake, table)).toEqual(model);
        expect(report).toMatchObject(expected.report);
        await rejects.save(lake);
        const listed = await session.json<{ place: string; rule: string }>(
          `SELECT source || ' ' || line AS place, rule FROM (${await rejectsSql(lake)}) WHERE run_id = 'run-${n}' ORDER BY place`,
        );
        expect(listed.map(({ place }) => place)).toEqual(expected.replaced);
        expect(listed.every(({ rule }) => rule === "duplicate_key")).toBe(true);
      }
    }),
    { numRuns: cases({ few: 5, all: 400 }) },
  );
});

const bar = (more: Partial<FileBar> = {}): FileBar => ({
  symbol: "600519.SH",
  at: START,
  close: 5,
  volume: 100,
  lot: 1,
  ...more,
});
const KEY = `600519.SH ${START}`;

once("a reject of a replaced row names the later file and line", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const rejects = new Rejects(session, "test");
  const report = await landFiles(session, lake, BARS_1D, [[bar({ amount: 7 })], [bar({ close: 6 })]], {
    rejects,
    finalEnd: START,
  });
  expect(report).toMatchObject({ inserted: 1, updated: 0, unchanged: 0 });
  const [counted] = await rejects.save(lake);
  expect(counted).toMatchObject({ rule: "duplicate_key", source: "file 0", line: 0, rows: 1 });
  expect(counted?.reason).toContain("file 1 line 0");
  expect((await keptIn(session, lake, BARS_1D)).get(KEY)).toMatchObject({ close: 6, amount: 7 });
});

once("values are kept of the version that the landing is committed on", async () => {
  const [{ location: folder }, a, b] = [temporaryLake(), await openSession(), await openSession()];
  const finalEnd = START;
  const landed = async (lake: Lake, session: typeof a, one: FileBar) => {
    await using rejects = new Rejects(session, "test");
    return landFiles(session, lake, BARS_1D, [[one]], { rejects, finalEnd });
  };
  // Another import changes the bar between the comparison and the commit, once where it is new and once where it is known.
  const first = interruptedLake(folder, 1, () =>
    landed(new Lake(folder), b, bar({ prev_close: 3, amount: 9 })),
  );
  expect(await landed(first, a, bar({ close: 6 }))).toMatchObject({ inserted: 0, updated: 1 });
  expect((await keptIn(a, new Lake(folder), BARS_1D)).get(KEY)).toMatchObject({
    close: 6,
    prev_close: 3,
    amount: 9,
  });
  const second = interruptedLake(folder, 1, () =>
    landed(new Lake(folder), b, bar({ close: 6, prev_close: 4 })),
  );
  expect(await landed(second, a, bar({ close: 7 }))).toMatchObject({ inserted: 0, updated: 1 });
  expect((await keptIn(a, new Lake(folder), BARS_1D)).get(KEY)).toMatchObject({
    close: 7,
    prev_close: 4,
    amount: 9,
  });
});

once("volumes whose product with the lot is beyond 64 bits are compared, too", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const rejects = new Rejects(session, "test");
  const large = bar({ volume: 2 ** 62, lot: 100 });
  for (const one of [large, bar({ volume: 2 ** 62, lot: 1000 }), large])
    await landFiles(session, lake, BARS_1D, [[one], [one]], { rejects, finalEnd: START });
  expect((await keptIn(session, lake, BARS_1D)).get(KEY)).toMatchObject({ volume: 2 ** 62, lot: 100 });
});
