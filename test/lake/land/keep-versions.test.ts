import fc from "fast-check";
import { expect, test } from "vitest";
import { ident, literal } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { landVersions } from "../../../src/lake/land/land-versions.js";
import type { LandReport } from "../../../src/lake/land/upsert.js";
import { DUCKDB_TYPE } from "../../../src/schema/column.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { interruptedLake } from "../interrupted-lake.js";
import { liveRows, openSession, T0, temporaryLake } from "../temporary-lake.js";

/** Columns that a file may lack. */
const OPTIONAL = ["name", "type", "ext_type", "total_shares", "listing_date"] as const;
type Said = Readonly<Partial<Record<(typeof OPTIONAL)[number], string | number>>>;
type Listed = Said & { readonly symbol: string };

async function landFile(
  session: Session,
  lake: Lake,
  rows: readonly Listed[],
  now: number,
  lacking: readonly string[] = [],
): Promise<LandReport> {
  const columns = INSTRUMENTS.columns.filter(
    ({ name }) => !name.startsWith("valid_") && !lacking.includes(name) && name !== "ext_other",
  );
  const ddl = columns.map(({ name, type }) => `${ident(name)} ${DUCKDB_TYPE[type]}`);
  await session.run(`CREATE OR REPLACE TEMP TABLE file (${ddl.join(", ")})`);
  const values = rows.map((row) => {
    const whole = { ...row, code: "x", exchange: "US", region: "US" } as Record<
      string,
      string | number | undefined
    >;
    const texts = columns.map(({ name }) =>
      whole[name] === undefined ? "NULL" : literal(String(whole[name])),
    );
    return `(${texts.join(", ")})`;
  });
  if (values.length > 0) await session.run(`INSERT INTO file VALUES ${values.join(", ")}`);
  return landVersions(session, lake, INSTRUMENTS, "file", {
    operation: "TEST",
    runId: "test",
    now,
    merge: "keep",
    defaults: { type: "'other'", ext_type: "CASE WHEN s.total_shares > 0 THEN 'us_equity' END" },
  });
}

/** The versions of each symbol: their beginnings, and what they say. */
async function versionsIn(session: Session, lake: Lake): Promise<Record<string, unknown[]>> {
  const rows = await liveRows<{ symbol: string; since: number; current: boolean }>(
    session,
    lake,
    INSTRUMENTS,
    `SELECT symbol, (epoch_ms(valid_from) - ${T0})::DOUBLE AS since, valid_to IS NULL AS current,
       name, type, ext_type, total_shares, listing_date::VARCHAR AS listing_date FROM live ORDER BY symbol, valid_from`,
  );
  const found: Record<string, unknown[]> = {};
  for (const { symbol, ...version } of rows) (found[symbol] ??= []).push(version);
  return found;
}

const anyListed = fc.record({
  symbol: fc.constantFrom("A.US", "B.US", "C.US"),
  name: fc.constantFrom(undefined, "one", "two"),
  type: fc.constantFrom(undefined, "stock", "etf"),
  ext_type: fc.constantFrom(undefined, undefined, "other"),
  total_shares: fc.constantFrom(undefined, 5, 6, Number.NaN),
  listing_date: fc.constantFrom(undefined, "2020-01-02"),
}) as fc.Arbitrary<Listed>;
const anyFile = fc.record({
  rows: fc.uniqueArray(anyListed, { selector: ({ symbol }) => symbol, maxLength: 3 }),
  lacking: fc.subarray([...OPTIONAL]),
});

test("a file's instruments change what they say, and nothing else", async () => {
  const session = await openSession();
  await fc.assert(
    fc.asyncProperty(fc.array(anyFile, { minLength: 1, maxLength: 5 }), async (files) => {
      const lake = temporaryLake();
      const model: Record<string, Record<string, unknown>[]> = {};
      for (const [n, { rows, lacking }] of files.entries()) {
        await landFile(session, lake, rows, T0 + n * 1000, lacking);
        for (const { symbol, ...row } of rows) {
          const said = Object.entries(row).filter(
            ([name, value]) =>
              value !== undefined && !Number.isNaN(value) && !lacking.includes(name as never),
          );
          const versions = (model[symbol] ??= []);
          const last = versions.at(-1);
          const hasShares = said.some(([name]) => name === "total_shares");
          const defaults = { name: null, type: "other", ext_type: hasShares ? "us_equity" : null };
          const before = last ?? { ...defaults, total_shares: null, listing_date: null };
          if (last !== undefined && said.every(([name, value]) => last[name] === value)) continue;
          if (last !== undefined) last.current = false;
          versions.push({ ...before, ...Object.fromEntries(said), since: n * 1000, current: true });
        }
        expect(await versionsIn(session, lake)).toEqual(
          Object.fromEntries(Object.entries(model).filter(([, versions]) => versions.length > 0)),
        );
      }
    }),
    { numRuns: cases({ few: 8, all: 300 }) },
  );
});

once("values are kept of the version that another import commits at the same time", async () => {
  const [{ location: folder }, a, b] = [temporaryLake(), await openSession(), await openSession()];
  await landFile(a, new Lake(folder), [{ symbol: "A.US", type: "stock" }], T0);
  const other = () => landFile(b, new Lake(folder), [{ symbol: "A.US", total_shares: 7 }], T0 + 1000);
  await landFile(a, interruptedLake(folder, 1, other), [{ symbol: "A.US", name: "one" }], T0 + 2000);
  const versions = (await versionsIn(a, new Lake(folder)))["A.US"];
  expect(versions).toMatchObject([
    { name: null, type: "stock", total_shares: null, current: false },
    { name: null, type: "stock", total_shares: 7, current: false },
    { name: "one", type: "stock", total_shares: 7, current: true },
  ]);
});
