import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LakeError } from "../../../src/core/errors.js";
import type { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { stagedColumns, stagedTable } from "../../../src/lake/land/staged-rows.js";
import { filesToCompare } from "../../../src/lake/land/upsert.js";
import type { DataFile } from "../../../src/lake/log/snapshot.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { addFile } from "../bar-files.js";
import { land, openSession, temporaryLake } from "../temporary-lake.js";

const SYMBOLS = ["600000.SH", "600001.SH", "600002.SH", "600003.SH"] as const;
const START = Date.parse("2025-01-02T02:00:00Z");

/** Minutes of one symbol: the first, and the last. */
interface Minutes {
  readonly symbol: (typeof SYMBOLS)[number];
  readonly first: number;
  readonly last: number;
}

const minutes = fc
  .record({ symbol: fc.constantFrom(...SYMBOLS), first: fc.nat(20), length: fc.nat(4) })
  .map(({ symbol, first, length }): Minutes => ({ symbol, first, last: first + length }));
const rows = fc.uniqueArray(minutes, { selector: ({ symbol }) => symbol, minLength: 1, maxLength: 3 });

function rowsSql(some: readonly Minutes[]): string {
  const own = ["symbol", "timestamp"];
  const rest = BARS_1M.columns
    .filter(({ name }) => !own.includes(name) && !BARS_1M.partition.includes(name))
    .map(
      ({ name, type }) =>
        `${{ boolean: "true", date: "DATE '2025-01-02'" }[type as string] ?? "1"} AS ${name}`,
    );
  const parts = some.map(
    ({ symbol, first, last }) =>
      `SELECT '${symbol}' AS symbol, make_timestamptz(${START * 1000}::BIGINT + n * 60000000) AS timestamp, ${rest.join(", ")}
       FROM range(${first}, ${last + 1}) r(n)`,
  );
  return parts.join(" UNION ALL ");
}

async function compared(session: Session, lake: Lake, offered: readonly Minutes[]): Promise<DataFile[]> {
  const base = await lake.snapshot(BARS_1M);
  await session.run(
    `CREATE OR REPLACE TEMP TABLE offered AS SELECT *, 'CN' AS region, DATE '2025-01-01' AS month FROM (${rowsSql(offered)})`,
  );
  const staged = await stagedTable(session, BARS_1M, "offered", await stagedColumns(session, "offered"));
  return [...(await filesToCompare(session, lake, base, [...base.files.values()], staged))];
}

test("finds the files in which a symbol's range overlaps, after any earlier reads of the session", async () => {
  const session = await openSession();
  await fc.assert(
    fc.asyncProperty(fc.array(rows, { minLength: 1, maxLength: 4 }), rows, async (files, offered) => {
      const lake = temporaryLake();
      const known: { path: string; rows: readonly Minutes[] }[] = [];
      for (const one of files) {
        const before = new Set((await lake.snapshot(BARS_1M)).files.keys());
        await addFile(session, lake, BARS_1M, rowsSql(one), { region: "CN", month: "2025-01-01" });
        const after = (await lake.snapshot(BARS_1M)).files.keys();
        known.push({ path: [...after].find((path) => !before.has(path)) as string, rows: one });
        const expected = known
          .filter((file) =>
            file.rows.some((a) =>
              offered.some((b) => a.symbol === b.symbol && a.first <= b.last && b.first <= a.last),
            ),
          )
          .map(({ path }) => path);
        const found = await compared(session, lake, offered);
        expect(found.map(({ path }) => path).sort()).toEqual(expected.sort());
      }
    }),
    { numRuns: 12 },
  );
});

test("a damaged file is refused where its rows are compared, also after its ranges were read", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const at = "2025-01-02T16:00:00Z";
  await land(session, lake, BARS_1D, [
    { symbol: "600000.SH", at },
    { symbol: "600002.SH", at },
  ]);
  const [first] = (await lake.snapshot(BARS_1D)).files.keys();
  const report = await land(session, lake, BARS_1D, [{ symbol: "600001.SH", at }]);
  expect(report).toMatchObject({ inserted: 1, updated: 0, filesAdded: 1 });
  const file = join(lake.location, "bars_1d", first as string);
  const bytes = readFileSync(file);
  bytes[100] = (bytes[100] as number) ^ 1;
  writeFileSync(file, bytes);
  const corrected = land(session, lake, BARS_1D, [{ symbol: "600000.SH", at, close: 10.75 }]);
  await expect(corrected).rejects.toThrow(LakeError);
});
