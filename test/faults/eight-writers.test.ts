import { expect, test } from "vitest";
import { Lake } from "../../src/lake/lake.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { contentOf, landed, type ModelBar, timeOf } from "../lake/bar-model.js";
import { openSession, temporaryLake } from "../lake/temporary-lake.js";
import { cases } from "../sweep.js";
import { startLakeWorker } from "./lake-worker.js";

const WRITERS = cases({ few: 4, all: 8 });
/** Number of landings of each writer, a multiple of five: every fifth corrects a day. */
const LANDINGS = cases({ few: 5, all: 200 });

/** Landing number `turn` of a writer: mostly days of the writer's own symbol, sometimes days that all writers write. */
function deliveryOf(writer: number, turn: number): ModelBar[] {
  const own = `60000${writer}.SH`;
  const bars = [0, 1].map((i): ModelBar => ({ symbol: own, n: 2 * turn + i, close: 10 + writer }));
  // Every fifth landing corrects one of the writer's own days, and also writes one that the others write.
  if (turn % 5 !== 4) return bars;
  return [...bars, { symbol: own, n: turn, close: 20 + writer }, { symbol: "000001.SZ", n: turn, close: 30 }];
}

test(`${WRITERS} processes land ${LANDINGS} times each in one table: every row is there, once`, async () => {
  const [session, { location: folder }] = [await openSession(), temporaryLake()];
  const workers = await Promise.all(Array.from({ length: WRITERS }, startLakeWorker));
  const reports = await Promise.all(
    workers.map(async (worker, index) => {
      const own = { inserted: 0, updated: 0, versions: [] as number[] };
      for (let turn = 0; turn < LANDINGS; turn++) {
        const bars = deliveryOf(index, turn).map((bar) => ({ ...bar, at: timeOf(bar) }));
        const report = await worker.perform({ kind: "land", folder, bars });
        own.inserted += report?.inserted ?? Number.NaN;
        own.updated += report?.updated ?? Number.NaN;
        own.versions.push(report?.version ?? Number.NaN);
      }
      worker.close();
      return own;
    }),
  );
  let expected: ReturnType<typeof landed>["content"] = new Map();
  for (let index = 0; index < WRITERS; index++)
    for (let turn = 0; turn < LANDINGS; turn++) expected = landed(expected, deliveryOf(index, turn)).content;
  const snapshot = await new Lake(folder).snapshot(BARS_1D);
  expect(await contentOf(session, new Lake(folder), snapshot)).toEqual(expected);
  expect(snapshot.version).toBe(WRITERS * LANDINGS - 1);
  const versions = reports.flatMap((report) => report.versions).sort((a, b) => a - b);
  expect(versions).toEqual(Array.from({ length: WRITERS * LANDINGS }, (_, version) => version));
  expect(reports.reduce((sum, report) => sum + report.inserted, 0)).toBe(expected.size);
  expect(reports.map(({ updated }) => updated)).toEqual(Array.from({ length: WRITERS }, () => LANDINGS / 5));
});
