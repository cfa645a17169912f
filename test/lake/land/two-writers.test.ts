import { expect } from "vitest";
import type { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landStatements } from "../../../src/lake/land/land-statements.js";
import { landVersions } from "../../../src/lake/land/land-versions.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import type { LandReport } from "../../../src/lake/land/upsert.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { UNIVERSES } from "../../../src/schema/reference.js";
import { BALANCE_SHEET } from "../../../src/schema/statements.js";
import { once } from "../../once.js";
import { interruptedLake } from "../interrupted-lake.js";
import { land, liveRows, openSession, T0, temporaryLake } from "../temporary-lake.js";

async function landUniverses(
  session: Session,
  lake: Lake,
  names: readonly string[],
  now: number,
): Promise<LandReport> {
  const columns = UNIVERSES.columns.filter(({ name }) => !name.startsWith("valid_"));
  const rows = names.map((name, n) => ({ id: `U${n}`, name, category: "c", region: "CN", symbol_count: 1 }));
  await stageObjects(session, "staged", columns, rows);
  return landVersions(session, lake, UNIVERSES, "staged", {
    operation: "TEST",
    runId: "test",
    now,
    complete: "true",
  });
}

async function landStatement(session: Session, lake: Lake, assets: number, now: number): Promise<LandReport> {
  await session.run(`CREATE OR REPLACE TEMP TABLE staged AS SELECT '600519.SH' AS symbol, DATE '2023-03-31' AS period_end,
    CAST(NULL AS DATE) AS announce_date, 'test' AS source, 1 AS line, ${assets}::DOUBLE AS total_assets`);
  return landStatements(session, lake, BALANCE_SHEET, "staged", {
    operation: "TEST",
    runId: "test",
    now,
    rejects: new Rejects(session, "test"),
  });
}

once("two snapshots at the same time leave one current row a subject", async () => {
  const [{ location: folder }, a, b] = [temporaryLake(), await openSession(), await openSession()];
  await landUniverses(a, new Lake(folder), ["first", "stays"], T0);
  const other = new Lake(folder);
  const lake = interruptedLake(folder, 1, () => landUniverses(b, other, ["second", "stays"], T0 + 1000));
  const report = await landUniverses(a, lake, ["third", "stays"], T0 + 2000);
  expect(report).toMatchObject({ inserted: 1, updated: 1, version: 2 });
  const rows = await liveRows(
    a,
    new Lake(folder),
    UNIVERSES,
    "SELECT id, name, valid_to IS NULL AS current FROM live ORDER BY id, valid_from",
  );
  expect(rows).toEqual([
    { id: "U0", name: "first", current: false },
    { id: "U0", name: "second", current: false },
    { id: "U0", name: "third", current: true },
    { id: "U1", name: "stays", current: true },
  ]);
});

once("a snapshot that is older than another one leaves one current row a subject", async () => {
  const [{ location: folder }, a, b] = [temporaryLake(), await openSession(), await openSession()];
  await landUniverses(a, new Lake(folder), ["first", "stays"], T0);
  const newer = (): Promise<unknown> => landUniverses(b, new Lake(folder), ["newer", "stays"], T0 + 2000);
  const report = await landUniverses(a, interruptedLake(folder, 1, newer), ["older", "stays"], T0 + 1000);
  expect(report).toMatchObject({ inserted: 0, updated: 0 });
  await landUniverses(a, new Lake(folder), ["newest", "stays"], T0 + 3000);
  const rows = await liveRows(
    a,
    new Lake(folder),
    UNIVERSES,
    `SELECT name, CAST(epoch_ms(valid_from) - ${T0} AS INTEGER) AS start, CAST(epoch_ms(valid_to) - ${T0} AS INTEGER) AS "end"
     FROM live ORDER BY name`,
  );
  expect(rows).toEqual([
    { name: "first", start: 0, end: 2000 },
    { name: "newer", start: 2000, end: 3000 },
    { name: "newest", start: 3000, end: null },
    { name: "stays", start: 0, end: null },
  ]);
});

once(
  "a snapshot that is older than another one does not bring back a subject that this one lacks",
  async () => {
    const [{ location: folder }, session] = [temporaryLake(), await openSession()];
    const lake = new Lake(folder);
    await landUniverses(session, lake, ["stays", "leaves"], T0);
    await landUniverses(session, lake, ["stays"], T0 + 2000);
    const report = await landUniverses(session, lake, ["stays", "leaves"], T0 + 1000);
    expect(report).toMatchObject({ inserted: 0, updated: 0 });
    const ends = async (): Promise<unknown[]> =>
      await liveRows(
        session,
        lake,
        UNIVERSES,
        `SELECT name, CAST(epoch_ms(valid_from) - ${T0} AS INTEGER) AS start, CAST(epoch_ms(valid_to) - ${T0} AS INTEGER) AS "end"
       FROM live ORDER BY name, start`,
      );
    const left = { name: "leaves", start: 0, end: 2000 };
    const stays = { name: "stays", start: 0, end: null };
    expect(await ends()).toEqual([left, stays]);
    await landUniverses(session, lake, ["stays", "leaves"], T0 + 3000);
    expect(await ends()).toEqual([left, { name: "leaves", start: 3000, end: null }, stays]);
  },
);

once("a statement that two processes bring at the same time is one version", async () => {
  const [{ location: folder }, a, b] = [temporaryLake(), await openSession(), await openSession()];
  await landStatement(a, new Lake(folder), 1, T0);
  const other = new Lake(folder);
  const lake = interruptedLake(folder, 1, () => landStatement(b, other, 2, T0 + 1000));
  expect(await landStatement(a, lake, 2, T0 + 2000)).toMatchObject({ inserted: 0, unchanged: 1, version: 1 });
  const rows = await liveRows(
    a,
    new Lake(folder),
    BALANCE_SHEET,
    "SELECT total_assets FROM live ORDER BY first_seen_at",
  );
  expect(rows).toEqual([{ total_assets: 1 }, { total_assets: 2 }]);
});

const day = (n: number): string =>
  new Date(Date.parse("2026-01-05T16:00:00Z") + n * 86_400_000).toISOString();

once(
  "an append follows another append with the files that it has; one that meets the other is compared again",
  async () => {
    const [{ location: folder }, a, b] = [temporaryLake(), await openSession(), await openSession()];
    await land(a, new Lake(folder), BARS_1D, [{ at: day(0) }]);
    const other = new Lake(folder);
    const landings = [[{ at: day(20), symbol: "000001.SZ" }], [{ at: day(5), close: 10.7 }, { at: day(6) }]];
    for (const [index, bars] of landings.entries()) {
      const written: string[] = [];
      const { storage } = interruptedLake(folder, 1, () => land(b, other, BARS_1D, bars));
      const noting: Storage = {
        ...storage,
        putFileIfAbsent: (localFile, path) => {
          if (path.endsWith(".parquet")) written.push(path);
          return storage.putFileIfAbsent(localFile, path);
        },
      };
      const report = await land(a, new Lake(folder, { storage: noting }), BARS_1D, [
        { at: day(5), close: 10.6 },
        { at: day(7 + index) },
      ]);
      expect([index, written.length, report.version, report.updated]).toEqual([
        index,
        index + 1,
        2 + 2 * index,
        index,
      ]);
    }
    const rows = await liveRows(
      a,
      new Lake(folder),
      BARS_1D,
      "SELECT close FROM live ORDER BY symbol DESC, timestamp",
    );
    expect(rows.map((row) => (row as { close: number }).close)).toEqual([10.5, 10.6, 10.5, 10.5, 10.5, 10.5]);
  },
);
