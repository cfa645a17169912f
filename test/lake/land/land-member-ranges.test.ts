import fc from "fast-check";
import { expect, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landMemberRanges, landVersions } from "../../../src/lake/land/land-versions.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import { checkTable } from "../../../src/lake/maintenance/check/check-table.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { UNIVERSE_MEMBERS } from "../../../src/schema/reference.js";
import { cases } from "../../sweep.js";
import { queryLake, temporaryLake } from "../temporary-lake.js";

/** A day of May 2026 in Shanghai, as a text and as the instant at which it begins. */
const dayText = (n: number): string => `2026-05-${String(n).padStart(2, "0")}`;
const midnight = (n: number): number => Date.parse(`${dayText(n)}T00:00:00+08:00`);
const NOON = 12 * 3_600_000;

interface Range {
  readonly symbol: string;
  readonly from: number;
  readonly to: number | null;
}

const COLUMNS = UNIVERSE_MEMBERS.columns;
const rowOf = ({ symbol, from, to }: Range): Record<string, unknown> => ({
  id: "IDX",
  symbol,
  region: "CN",
  valid_from: midnight(from),
  valid_to: to === null ? null : midnight(to),
  source: "told",
});

async function tell(lake: Lake, ranges: readonly Range[], now: number): Promise<void> {
  using session = await Session.open({ threads: 1 });
  await stageObjects(session, "ranges", COLUMNS, ranges.map(rowOf));
  await landMemberRanges(session, lake, "ranges", { operation: "IMPORT", runId: "told", now });
}

/** A whole list that the lake sees on a day at noon. */
async function see(lake: Lake, symbols: readonly string[], day: number): Promise<void> {
  using session = await Session.open({ threads: 1 });
  const columns = COLUMNS.filter(({ name }) => !name.startsWith("valid_"));
  const rows = symbols.map((symbol) => ({ id: "IDX", symbol, region: "CN" }));
  await stageObjects(session, "list", columns, rows);
  const options = { operation: "INGEST", runId: "seen", now: midnight(day) + NOON, complete: "c.id = 'IDX'" };
  await landVersions(session, lake, UNIVERSE_MEMBERS, "list", options);
}

const SYMBOLS = ["600001.SH", "600002.SH", "600003.SH"];
/** Ranges of a symbol that do not overlap: neighbours of ascending days. */
const ranges = fc
  .tuple(...SYMBOLS.map(() => fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 4 })))
  .map((all) =>
    all.flatMap((days, i): Range[] => {
      const sorted = days.toSorted((a, b) => a - b);
      const symbol = SYMBOLS[i] as string;
      return sorted.flatMap((from, at) =>
        at % 2 === 0 ? [{ symbol, from, to: sorted[at + 1] ?? null }] : [],
      );
    }),
  );
const list = fc.subarray(SYMBOLS, { minLength: 1 });

/** What the macro says of the members of a day that were told or seen; those that it assumes are left out. */
async function membersOn(lake: Lake, day: number): Promise<string[]> {
  const { session } = await openReader(lake, { threads: 1, statement: "members" });
  using reader = session;
  const rows = await reader.json<{ one: string }>(
    `SELECT symbol || ' ' || known || ' ' || coalesce(source, '') AS one FROM members('IDX', DATE '${dayText(day)}') WHERE known <> 'assumed' ORDER BY one`,
  );
  return rows.map(({ one }) => one);
}

test("what was told counts until the lake saw the universe, what it saw from then on, whichever came first", async () => {
  await fc.assert(
    fc.asyncProperty(
      ranges,
      list,
      list,
      fc.boolean(),
      fc.integer({ min: 1, max: 28 }),
      async (told, first, second, isToldFirst, day) => {
        const lake = temporaryLake();
        // Nobody tells of a day that has not come.
        const past = isToldFirst ? told.filter(({ from, to }) => from < 12 && (to ?? 0) < 12) : told;
        if (isToldFirst) await tell(lake, past, midnight(12));
        await see(lake, first, 12);
        await see(lake, second, 16);
        if (!isToldFirst) await tell(lake, past, midnight(25));
        const seen = day >= 16 ? second : day >= 12 ? first : undefined;
        const expected =
          seen?.map((symbol) => `${symbol} observed `) ??
          past
            .filter(({ from, to }) => from <= day && day < (to ?? 99))
            .map(({ symbol }) => `${symbol} imported told`);
        expect(await membersOn(lake, day)).toEqual(expected.toSorted());
      },
    ),
    { numRuns: cases({ few: 12, all: 300 }) },
  );
});

test("a range that overlaps one of an earlier import does not land, and one from the same day corrects it", async () => {
  const lake = temporaryLake();
  await tell(lake, [{ symbol: "600001.SH", from: 3, to: 8 }], midnight(20));
  await expect(tell(lake, [{ symbol: "600001.SH", from: 5, to: 9 }], midnight(21))).rejects.toThrow(
    "overlaps",
  );
  await tell(lake, [{ symbol: "600001.SH", from: 3, to: 9 }], midnight(22));
  const query = "SELECT local_date(valid_to, region)::VARCHAR AS ended FROM raw.universe_members";
  expect(await queryLake(lake, query)).toEqual([{ ended: dayText(9) }]);
});

test("a table of an earlier version, without sources, takes them, and is as it should be", async () => {
  const before = temporaryLake();
  const old = { ...UNIVERSE_MEMBERS, columns: COLUMNS.filter(({ name }) => name !== "source") };
  using session = await Session.open({ threads: 1 });
  const row = { ...rowOf({ symbol: "600001.SH", from: 12, to: null }), source: undefined };
  await stageObjects(session, "old", old.columns, [row]);
  await upsert(session, before, old, "old", { operation: "INGEST", runId: "old", now: midnight(12) });
  const lake = new Lake(before.location, { hasDatabase: false });
  expect(await membersOn(lake, 12)).toEqual(["600001.SH observed "]);
  await tell(lake, [{ symbol: "600002.SH", from: 3, to: 8 }], midnight(20));
  expect(await membersOn(lake, 5)).toEqual(["600002.SH imported told"]);
  expect(await membersOn(lake, 12)).toEqual(["600001.SH observed "]);
  const { findings } = await checkTable(lake, UNIVERSE_MEMBERS, { deep: true });
  expect(findings).toEqual([]);
});
