import fc from "fast-check";
import { expect, test } from "vitest";
import type { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { landStatements } from "../../../src/lake/land/land-statements.js";
import { Rejects, rejectsSql } from "../../../src/lake/land/rejects.js";
import type { LandReport } from "../../../src/lake/land/upsert.js";
import { BALANCE_SHEET } from "../../../src/schema/statements.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { interruptedLake } from "../interrupted-lake.js";
import { liveRows, openSession, T0, temporaryLake } from "../temporary-lake.js";

/** Items that the table declares, and one that only files have. */
const ITEMS = ["total_assets", "inventory", "odd_item"] as const;
type Items = Readonly<Partial<Record<(typeof ITEMS)[number], number>>>;

interface FileStatement extends Items {
  readonly symbol: string;
  readonly period: string;
  readonly announced?: string;
}

/** Lands the rows of files. @param lacking the items of which no file has a column. */
async function landFiles(
  session: Session,
  lake: Lake,
  files: readonly (readonly FileStatement[])[],
  now: number,
  lacking: readonly string[] = [],
): Promise<LandReport> {
  const items = ITEMS.filter((name) => !lacking.includes(name));
  const columns = items.map((name) => `${name} DOUBLE, `).join("");
  await session.run(`CREATE OR REPLACE TEMP TABLE files (symbol VARCHAR, period_end DATE, announce_date DATE, ${columns}
    source VARCHAR, line BIGINT, ordinal BIGINT)`);
  const rows = files.flatMap((statements, file) =>
    statements.map(({ symbol, period, announced, ...values }, line) => {
      const numbers = items.map(
        (name) => `${values[name] === undefined ? "NULL" : `'${values[name]}'::DOUBLE`}, `,
      );
      const date = announced === undefined ? "NULL" : `DATE '${announced}'`;
      return `('${symbol}', DATE '${period}', ${date}, ${numbers.join("")}'file ${file}', ${line}, ${file * 1000 + line})`;
    }),
  );
  if (rows.length > 0) await session.run(`INSERT INTO files VALUES ${rows.toReversed().join(", ")}`);
  await using rejects = new Rejects(session, `run-${now}`);
  const report = await landStatements(session, lake, BALANCE_SHEET, "files", {
    operation: "TEST",
    runId: "test",
    now,
    rejects,
    merge: "keep",
  });
  await rejects.save(lake);
  return report;
}

interface Version {
  readonly symbol: string;
  readonly period: string;
  readonly announced: string | undefined;
  readonly seen: number;
  readonly items: Items;
}

const definedOnly = (row: Items): Items =>
  Object.fromEntries(ITEMS.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])));

/** The versions of a table after the rows of files, one after the other. */
function versionsAfter(
  before: readonly Version[],
  files: readonly (readonly FileStatement[])[],
  now: number,
): { readonly versions: readonly Version[]; readonly replaced: readonly string[] } {
  const announcedBefore = new Map<string, string>();
  const groups = new Map<string, { place: string; row: FileStatement }[]>();
  for (const [file, rows] of files.entries())
    for (const [line, row] of rows.entries()) {
      const period = `${row.symbol} ${row.period}`;
      const announced = row.announced ?? announcedBefore.get(period);
      if (announced !== undefined) announcedBefore.set(period, announced);
      const key = `${period} ${announced}`;
      const { announced: _, ...others } = row;
      const full = announced === undefined ? others : { ...others, announced };
      groups.set(key, [...(groups.get(key) ?? []), { place: `file ${file} ${line}`, row: full }]);
    }
  const replaced: string[] = [];
  const said = new Map<string, FileStatement>();
  for (const rows of groups.values()) {
    const all = rows.reduce<Items>((sum, { row }) => ({ ...sum, ...definedOnly(row) }), {});
    for (const { place, row } of rows.slice(0, -1))
      if (ITEMS.some((name) => row[name] !== undefined && row[name] !== all[name])) replaced.push(place);
    const first = rows[0]?.row as FileStatement;
    const seen = before.filter(({ symbol, period }) => symbol === first.symbol && period === first.period);
    const newest = seen.toSorted(
      (a, b) => b.seen - a.seen || (b.announced ?? "").localeCompare(a.announced ?? ""),
    )[0];
    const announced = first.announced ?? newest?.announced;
    const key = `${first.symbol} ${first.period} ${announced}`;
    // A row without an announcement comes before all that have one.
    const [earlier, later] = first.announced === undefined ? [all, said.get(key)] : [said.get(key), all];
    const date = announced === undefined ? {} : { announced };
    said.set(key, {
      symbol: first.symbol,
      period: first.period,
      ...date,
      ...definedOnly(earlier ?? {}),
      ...definedOnly(later ?? {}),
    });
  }
  const versions = [...before];
  for (const { symbol, period, announced, ...items } of said.values()) {
    const own = before.filter(
      (one) => one.symbol === symbol && one.period === period && one.announced === announced,
    );
    const last = own.toSorted((a, b) => b.seen - a.seen)[0];
    const isOther = ITEMS.some((name) => items[name] !== undefined && items[name] !== last?.items[name]);
    if (last === undefined || isOther)
      versions.push({
        symbol,
        period,
        announced,
        seen: now,
        items: { ...last?.items, ...definedOnly(items) },
      });
  }
  return { versions, replaced: replaced.sort() };
}

async function versionsIn(session: Session, lake: Lake): Promise<unknown[]> {
  const known = new Set((await lake.snapshot(BALANCE_SHEET)).columns.map(({ name }) => name));
  const items = ITEMS.map((name) => (known.has(name) ? name : `NULL::DOUBLE AS ${name}`));
  const rows = await liveRows<Record<string, unknown>>(
    session,
    lake,
    BALANCE_SHEET,
    `SELECT symbol, period_end::VARCHAR AS period, announce_date::VARCHAR AS announced, epoch_ms(first_seen_at)::DOUBLE AS seen, ${items.join(", ")} FROM live`,
  );
  return rows.map((row) => JSON.stringify(row)).sort();
}

const textsOf = (versions: readonly Version[]): string[] =>
  versions
    .map(({ symbol, period, announced, seen, items }) =>
      JSON.stringify({
        symbol,
        period,
        announced: announced ?? null,
        seen,
        ...Object.fromEntries(ITEMS.map((name) => [name, items[name] ?? null])),
      }),
    )
    .sort();

const anyItem = fc.option(fc.constantFrom(1, 2, 3), { nil: undefined });
const anyStatement: fc.Arbitrary<FileStatement> = fc
  .record({
    symbol: fc.constantFrom("600519.SH", "AAPL.US"),
    period: fc.constantFrom("2024-03-31", "2024-06-30"),
    announced: fc.option(fc.constantFrom("2024-08-01", "2024-09-01"), { nil: undefined }),
    ...Object.fromEntries(ITEMS.map((name) => [name, anyItem])),
  })
  .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as never);
const anyDelivery = fc.record({
  files: fc.array(fc.array(anyStatement, { maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  lacking: fc.subarray([...ITEMS]),
});

test("a file's statements change what they say, and nothing else", async () => {
  const session = await openSession();
  await fc.assert(
    fc.asyncProperty(fc.array(anyDelivery, { minLength: 1, maxLength: 4 }), async (deliveries) => {
      const lake = temporaryLake();
      let model: readonly Version[] = [];
      for (const [n, { files, lacking }] of deliveries.entries()) {
        const now = T0 + n * 1000;
        const said = files.map((rows) =>
          rows.map((row) =>
            Object.fromEntries(Object.entries(row).filter(([name]) => !lacking.includes(name as never))),
          ),
        ) as unknown as FileStatement[][];
        const report = await landFiles(session, lake, said, now, lacking);
        const { versions, replaced } = versionsAfter(model, said, now);
        expect(await versionsIn(session, lake)).toEqual(textsOf(versions));
        expect(report).toMatchObject({ inserted: versions.length - model.length, updated: 0 });
        expect(report.inserted + report.unchanged + replaced.length).toBe(said.flat().length);
        model = versions;
        const listed = await session.json<{ place: string }>(
          `SELECT source || ' ' || line AS place FROM (${await rejectsSql(lake)}) WHERE run_id = 'run-${now}' ORDER BY place`,
        );
        expect(listed.map(({ place }) => place)).toEqual(replaced);
      }
    }),
    { numRuns: cases({ few: 8, all: 300 }) },
  );
});

const STATEMENT = { symbol: "600519.SH", period: "2024-03-31" };

once("fields are kept of the version that another import commits at the same time", async () => {
  const [{ location: folder }, a, b] = [temporaryLake(), await openSession(), await openSession()];
  await landFiles(a, new Lake(folder), [[{ ...STATEMENT, total_assets: 1 }]], T0);
  const other = () => landFiles(b, new Lake(folder), [[{ ...STATEMENT, inventory: 2 }]], T0 + 1000);
  await landFiles(a, interruptedLake(folder, 1, other), [[{ ...STATEMENT, odd_item: 3 }]], T0 + 2000);
  const versions = await versionsIn(a, new Lake(folder));
  expect(versions.map((text) => JSON.parse(text as string) as object)).toMatchObject([
    { total_assets: 1, inventory: null, odd_item: null },
    { total_assets: 1, inventory: 2, odd_item: null },
    { total_assets: 1, inventory: 2, odd_item: 3 },
  ]);
});

once(
  "a replaced statement names the later file and line; numbers that are not finite are null, with a remark",
  async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await landFiles(
      session,
      lake,
      [
        [{ ...STATEMENT, total_assets: 1, inventory: Number.NaN }],
        [
          { ...STATEMENT, total_assets: Infinity },
          { ...STATEMENT, total_assets: 2 },
        ],
      ],
      T0,
    );
    expect(
      (await versionsIn(session, lake)).map((text) => JSON.parse(text as string) as object),
    ).toMatchObject([{ total_assets: 2, inventory: null }]);
    const rows = await session.json(
      `SELECT source, line::INT AS line, rule, reason, bars::INT AS bars FROM (${await rejectsSql(lake)}) ORDER BY ALL`,
    );
    expect(rows).toEqual([
      {
        source: "file 0",
        line: 0,
        rule: "duplicate_key",
        reason: "600519.SH 2024-03-31 is repeated; file 1 line 1 was used",
        bars: null,
      },
      {
        source: "file 0",
        line: 0,
        rule: "out_of_range",
        reason: "inventory of 1 statements is not a finite number; it became null",
        bars: 0,
      },
      {
        source: "file 1",
        line: 0,
        rule: "out_of_range",
        reason: "total_assets of 1 statements is not a finite number; it became null",
        bars: 0,
      },
    ]);
  },
);
