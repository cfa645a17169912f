import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DAY_MS, subtractRanges, type TimeRange, unionRanges } from "../../src/core/time.js";
import { Session } from "../../src/db/session/session.js";
import { landRequests, type RequestRecord } from "../../src/jobs/ledger/ledger.js";
import { holesOf, leavesHole, readLedgerWindows } from "../../src/jobs/ledger/ledger-windows.js";
import { Lake } from "../../src/lake/lake.js";
import { FORMER_REASONS, REVISIT_DAYS } from "../../src/plan/absence/absence.js";
import type { AbsenceReason } from "../../src/schema/runs.js";
import { cases } from "../sweep.js";

const DATASETS = ["bars_1d", "ex_factors"];
const SYMBOLS = ["600000.SH", "600001.SH", "600002.SH", "600003.SH", "600004.SH"];
const START = Date.UTC(2024, 0, 1);
const NOW = START + 60 * DAY_MS;
const RECENT_SINCE = NOW - 3 * DAY_MS;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "barlake-ledger-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Mostly the same lists, as of nights; each request has its own time. */
const symbols = fc.oneof(
  fc.constant(SYMBOLS),
  fc.constant(SYMBOLS.slice(0, 3)),
  fc.subarray(SYMBOLS, { minLength: 1 }),
);
const request = fc
  .record({
    dataset: fc.constantFrom(...DATASETS),
    symbols,
    first: fc.integer({ min: 0, max: 50 }),
    days: fc.integer({ min: 1, max: 8 }),
    absent: fc.oneof(fc.constant(0), fc.constant(31), fc.integer({ min: 0, max: 31 })),
    status: fc.constantFrom("answered", "answered", "answered", "empty", "lost", "failed"),
    // Two of them are names of earlier versions.
    reason: fc.constantFrom(
      undefined,
      undefined,
      undefined,
      "ended",
      "unexplained",
      "set_aside",
      "no_bars",
      "as_before",
    ),
  })
  .map(
    ({ dataset, symbols: asked, first, days, absent, status, reason }): Partial<RequestRecord> => ({
      dataset,
      symbols: asked,
      absent: asked.filter((symbol) => (absent >> SYMBOLS.indexOf(symbol)) % 2 === 1),
      window: { start: START + first * DAY_MS, end: START + (first + days) * DAY_MS },
      status: status as RequestRecord["status"],
      reason: status === "lost" ? undefined : reason,
    }),
  );

/** What the records say of one symbol, record after record. */
function saidOf(symbol: string, records: readonly RequestRecord[]) {
  const own = records
    .filter((one) => one.symbols.includes(symbol) && one.status !== "failed")
    .map((one) => ({ ...one, reason: one.reason && (FORMER_REASONS[one.reason] ?? one.reason) }))
    .flatMap(({ window, finalEnd, ...one }) => {
      const { start, end } = window as TimeRange;
      const final = { start, end: Math.min(end, finalEnd as number) };
      return final.start < final.end
        ? [{ ...one, window: final, isAbsent: one.absent.includes(symbol) }]
        : [];
    });
  const lost = own.filter(({ status }) => status === "lost");
  const judged = own.filter(({ status }) => status !== "lost");
  const windowsSince = (since: number): TimeRange[] =>
    unionRanges(
      judged
        .filter(
          ({ askedAt, isAbsent }) =>
            askedAt >= since && (askedAt >= NOW - REVISIT_DAYS * DAY_MS || !isAbsent),
        )
        .flatMap(({ window, askedAt }) =>
          subtractRanges(
            window,
            lost.filter((one) => one.askedAt > askedAt).map((one) => one.window),
          ),
        ),
    );
  const holes = holesOf(
    judged.map(({ window, askedAt, reason, isAbsent, ...one }) => {
      const isHole = leavesHole({ ...one, window, askedAt, reason });
      const why = reason ?? (isAbsent ? "unexplained" : undefined);
      return { symbol, ...window, askedAt, reason: (isHole ? (why ?? null) : null) as AbsenceReason | null };
    }),
  );
  return {
    answered: windowsSince(Number.NEGATIVE_INFINITY),
    recent: windowsSince(RECENT_SINCE),
    holes: holes.get(symbol) ?? [],
  };
}

test("what the ledger says of lists is what it says of each symbol", async () => {
  let lakes = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 25 }), async (requests) => {
      const records = requests.map((one, n): RequestRecord => {
        const askedAt = START + 20 * DAY_MS + Math.floor(((n + 1) * 40 * DAY_MS) / (requests.length + 1));
        return {
          runId: "run",
          pipeline: "daily",
          requestId: String(n),
          endpoint: "klines",
          finalEnd: askedAt - 5 * DAY_MS,
          askedAt,
          attempts: 1,
          rows: 0,
          rejected: 0,
          bytes: 0,
          durationMs: 0,
          ...one,
        } as RequestRecord;
      });
      const lake = new Lake(join(folder, String(++lakes)));
      using session = await Session.open({ threads: 1 });
      await landRequests(session, lake, records, { operation: "INGEST", runId: "run", now: NOW });
      const options = { now: NOW, recentSince: RECENT_SINCE };
      const read = await readLedgerWindows(session, lake, DATASETS, options);
      for (const dataset of DATASETS) {
        const found = read.get(dataset);
        const own = records.filter((one) => one.dataset === dataset);
        for (const symbol of SYMBOLS) {
          const { answered, recent, holes } = saidOf(symbol, own);
          expect(found?.answered.get(symbol) ?? []).toEqual(answered);
          expect(found?.recent.get(symbol) ?? []).toEqual(recent);
          expect(found?.holes.get(symbol) ?? []).toEqual(holes);
        }
      }
    }),
    { numRuns: cases({ few: 15, all: 100 }) },
  );
});
