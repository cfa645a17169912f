import fc from "fast-check";
import { expect, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landActions } from "../../../src/lake/land/land-versions.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../../src/schema/actions.js";
import { cases } from "../../sweep.js";
import { queryLake, temporaryLake } from "../temporary-lake.js";

type Row = Readonly<Record<string, unknown>>;

/** Lands rows as an import at a time does. */
async function land(
  lake: Lake,
  table: typeof EX_FACTORS,
  rows: readonly Row[],
  at: string,
): Promise<readonly number[]> {
  using session = await Session.open({ threads: 1 });
  const columns = table.columns.filter(({ name }) => name !== "first_seen_at");
  await stageObjects(session, "staged", columns, rows);
  const options = { operation: "IMPORT", runId: at, now: Date.parse(at) };
  const { inserted, updated, unchanged } = await landActions(session, lake, table, "staged", options);
  return [inserted, updated, unchanged];
}

const DIVIDEND = {
  symbol: "600519.SH",
  ex_date: "2026-06-19",
  kind: "cash_dividend",
  source: "a",
  region: "CN",
};

test("another content is a new version, which keeps what it does not say; the same content is none", async () => {
  const lake = temporaryLake();
  const first = { ...DIVIDEND, cash: 1.5, announce_date: "2026-04-20" };
  expect(await land(lake, CORPORATE_ACTIONS, [first], "2026-05-01T00:00:00Z")).toEqual([1, 0, 0]);
  expect(await land(lake, CORPORATE_ACTIONS, [first], "2026-05-02T00:00:00Z")).toEqual([0, 0, 1]);
  const corrected = { ...DIVIDEND, cash: 1.4 };
  expect(await land(lake, CORPORATE_ACTIONS, [corrected], "2026-05-03T00:00:00Z")).toEqual([1, 0, 0]);
  const query =
    "SELECT cash, CAST(announce_date AS VARCHAR) AS announced, CAST(known_from AS VARCHAR) AS known_from, CAST(known_to AS VARCHAR) AS known_to FROM corporate_action_versions ORDER BY first_seen_at";
  expect(await queryLake(lake, query)).toEqual([
    { cash: 1.5, announced: "2026-04-20", known_from: "2026-04-20", known_to: "2026-05-03" },
    { cash: 1.4, announced: "2026-04-20", known_from: "2026-05-03", known_to: "9999-12-31" },
  ]);
  expect(await queryLake(lake, "SELECT cash FROM corporate_actions")).toEqual([{ cash: 1.4 }]);
});

test("a correction by a clock that is behind is the newest version all the same", async () => {
  const lake = temporaryLake();
  await land(lake, CORPORATE_ACTIONS, [{ ...DIVIDEND, cash: 1.5 }], "2026-05-03T00:00:00Z");
  await land(lake, CORPORATE_ACTIONS, [{ ...DIVIDEND, cash: 1.4 }], "2026-05-01T00:00:00Z");
  expect(await queryLake(lake, "SELECT cash FROM corporate_actions")).toEqual([{ cash: 1.4 }]);
});

test("a factor is replaced, and keeps the time at which one was first seen", async () => {
  const lake = temporaryLake();
  const row = { symbol: "600519.SH", ex_date: "2026-06-19", source: "a", region: "CN" };
  expect(await land(lake, EX_FACTORS, [{ ...row, factor: 1.01 }], "2026-07-01T00:00:00Z")).toEqual([1, 0, 0]);
  expect(await land(lake, EX_FACTORS, [{ ...row, factor: 1.02 }], "2026-07-02T00:00:00Z")).toEqual([0, 1, 0]);
  expect(await land(lake, EX_FACTORS, [{ ...row, factor: 1.02 }], "2026-07-03T00:00:00Z")).toEqual([0, 0, 1]);
  await land(lake, EX_FACTORS, [{ ...row, source: "0", factor: 1.03 }], "2026-07-03T00:00:00Z");
  expect(
    await queryLake(
      lake,
      "SELECT source, factor, priority::INTEGER AS priority, first_seen_at::DATE::VARCHAR AS seen FROM ex_factors ORDER BY source",
    ),
  ).toEqual([
    { source: "0", factor: 1.03, priority: 2, seen: "2026-07-03" },
    { source: "a", factor: 1.02, priority: 1, seen: "2026-07-01" },
  ]);
});

/** An action as an import says it on a day of May 2026. */
interface Told {
  readonly seen: number;
  readonly ex: number;
  readonly kind: string;
  readonly source: string;
  readonly cash: number | null;
  readonly ratio: number | null;
  readonly price: number | null;
  readonly announced: number | null;
}

const day = (n: number): string => `2026-05-${String(n).padStart(2, "0")}`;
const told: fc.Arbitrary<Told> = fc.record({
  seen: fc.integer({ min: 1, max: 28 }),
  ex: fc.constantFrom(10, 20),
  kind: fc.constantFrom(
    "cash_dividend",
    "stock_dividend",
    "split",
    "consolidation",
    "rights",
    "spin_off",
    "other",
  ),
  source: fc.constantFrom("a", "b"),
  cash: fc.constantFrom(0.25, 0.5, null),
  ratio: fc.constantFrom(0.5, 0.25, null),
  price: fc.constantFrom(2, 3, null),
  announced: fc.constantFrom(2, 5, 9, null),
});

/** What of all that was told is known at the end of a day: by hand, version after version. */
function knownAt(all: readonly Told[], at: number): Map<string, Told & { readonly firstSeen: number }> {
  const known = new Map<string, Told & { readonly firstSeen: number }>();
  const before = new Map<string, Told & { readonly firstSeen: number }>();
  for (const one of all) {
    const key = `${one.ex} ${one.source} ${one.kind}`;
    const last = before.get(key);
    const now = {
      ...one,
      cash: one.cash ?? last?.cash ?? null,
      ratio: one.ratio ?? last?.ratio ?? null,
      price: one.price ?? last?.price ?? null,
      announced: one.announced ?? last?.announced ?? null,
      firstSeen: last?.firstSeen ?? one.seen,
    };
    before.set(key, now);
    const from = last === undefined ? Math.min(one.announced ?? one.ex, one.ex, one.seen) : one.seen;
    if (from <= at) known.set(key, now);
  }
  return known;
}

/** The factor of an ex-date of a source, by the actions one after another. */
function factorOf(actions: readonly Told[], close: number): number | null {
  let [cash, after, bonus, rights, paid] = [0, 1, 0, 0, 0];
  for (const { kind, cash: c, ratio, price } of actions) {
    if (kind === "rights" && price === null) return null;
    if (kind === "spin_off" && c === null && (ratio === null || price === null)) return null;
    if (kind === "other" && c === null) return null;
    cash += c ?? (kind === "spin_off" ? (ratio ?? 0) * (price ?? 0) : 0);
    if (kind === "split" || kind === "consolidation") after *= ratio ?? 1;
    if (kind === "stock_dividend") bonus += ratio ?? 0;
    if (kind === "rights") [rights, paid] = [rights + (ratio ?? 0), paid + (ratio ?? 0) * (price ?? 0)];
  }
  return (close * (after + bonus + rights)) / (close - cash + paid);
}

test("the actions of an ex-date, as they were known on each day, are those of a slow computation", async () => {
  const input = fc.array(told, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(input, fc.integer({ min: 1, max: 28 }), async (some, at) => {
      const all = some.toSorted((a, b) => a.seen - b.seen);
      const lake = temporaryLake();
      for (const [i, one] of all.entries()) {
        const row = {
          symbol: "600519.SH",
          region: "CN",
          ex_date: day(one.ex),
          kind: one.kind,
          source: one.source,
          cash: one.cash,
          ratio: one.ratio,
          price: one.price,
          announce_date: one.announced === null ? null : day(one.announced),
        };
        // In the morning in Shanghai, one after another.
        await land(lake, CORPORATE_ACTIONS, [row], `${day(one.seen)}T01:00:${String(i).padStart(2, "0")}Z`);
      }
      const { session } = await openReader(lake, { threads: 1, statement: "ex_terms" });
      using reader = session;
      const found = await reader.json<Row>(
        `SELECT day(ex_date)::INTEGER AS ex, source, 10 * shares / (10 + paid) AS factor, priority::INTEGER AS priority
         FROM ex_terms(as_of := DATE '${day(at)}') ORDER BY ex, source`,
      );
      const known = [...knownAt(all, at).values()];
      const expected = [10, 20].flatMap((ex) => {
        const sources = ["a", "b"].flatMap((source) => {
          const own = known.filter((one) => one.ex === ex && one.source === source);
          const factor = own.length === 0 ? null : factorOf(own, 10);
          return factor === null ? [] : [{ ex, source, factor, own }];
        });
        return sources;
      });
      expect(found.map(({ ex, source, factor }) => ({ ex, source, factor }))).toEqual(
        expected.map(({ ex, source, factor }) => ({ ex, source, factor: expect.closeTo(factor, 12) })),
      );
      for (const ex of [10, 20]) {
        const priorities = found.filter((one) => one.ex === ex).map(({ priority }) => priority as number);
        expect(priorities.toSorted((a, b) => a - b)).toEqual(priorities.map((_, i) => i + 1));
      }
    }),
    { numRuns: cases({ few: 8, all: 200 }) },
  );
});
