import { int64Words } from "../../../core/bits.js";
import { freedAfterUse } from "../../../core/memory-pool.js";
import { releaseAfter } from "../../../core/release-after.js";
import type { TradingDate } from "../../../core/time.js";
import { literalList } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Lake } from "../../../lake/lake.js";
import { readTradingDays } from "../../../lake/land/trading-days.js";
import { REGION_NAMES, REGIONS } from "../../../market/regions.js";
import { finalEnd } from "../../../market/sessions.js";
import { regionOf } from "../../../market/symbol.js";
import { TradingCalendar } from "../../../market/trading-calendar.js";
import { localDate } from "../../../market/zone.js";
import { symbolsOfOtherPeriod } from "../../../plan/absence/judge-response.js";
import { type CutDay, cutDay, symbolSpans } from "../../../plan/absence/window-beginning.js";
import { filteredBars } from "../../../plan/filtered-bars.js";
import { BARS_1M } from "../../../schema/bars.js";
import { UNIVERSE_MEMBERS, UNIVERSES } from "../../../schema/reference.js";
import { type DecodedKlines, decodeKlines } from "../../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../../wire/endpoints.js";
import type { KlineColumns } from "../../../wire/kline-columns.js";
import { symbolsByRegion } from "../../ledger/landed-bars.js";
import { lastResponses, neverReceived } from "../../ledger/ledger.js";
import type { PendingResponse } from "../../run/request/request-records.js";
import type { Run } from "../../run/run.js";
import type { RunContext } from "../../run/run-context.js";
import { received } from "./kline-requester.js";
import { LandingBars } from "./landing-bars.js";

/** A response without a bar of a universe that has members. */
interface EmptyUniverse {
  readonly id: string;
  readonly members: readonly string[];
  /** Epoch milliseconds of this response and, if none had a bar, of all earlier ones; ascending. */
  readonly times: readonly number[];
  readonly got: PendingResponse<unknown>;
}

/** After so many sessions without a bar of a universe the service has none of it; fewer may be a fault that passes. */
const SESSIONS_OF_NONE = 3;

interface ReceivedUniverse {
  readonly members: readonly string[];
  readonly came: ReadonlySet<string>;
  readonly rows: number;
}

/**
 * Records which members have no bar in the responses of a run. Call it after the bars of the run have landed: members
 * may be in several universes.
 */
async function recordMembers(
  run: Run,
  {
    received: universes,
    empty,
  }: { readonly received: readonly ReceivedUniverse[]; readonly empty: readonly EmptyUniverse[] },
): Promise<void> {
  const { session, lake } = run.context;
  const landed = once(() => symbolsWithMinutes(session, lake));
  for (const one of universes) await recordReceived(run, one, landed);
  await recordEmpty(run, empty, landed);
}

type Landed = () => Promise<ReadonlySet<string>>;

/**
 * Counts the members of a universe, and those of which the response has no bar. Where the lake has no minute of a
 * member of a region other than China, and the response has none of that region, the service may have none.
 */
async function recordReceived(
  { log: { completeness }, context: { marketClock } }: Run,
  { members, came, rows }: ReceivedUniverse,
  landed: Landed,
): Promise<void> {
  completeness.asked(BARS_1M.name, members, members.length, marketClock.now());
  completeness.received(BARS_1M.name, rows);
  const regions = new Set([...came].map(regionOf));
  const absent = members.filter((symbol) => !came.has(symbol));
  const foreign = absent.filter((symbol) => !isChinese(symbol) && !regions.has(regionOf(symbol)));
  const have = foreign.length > 0 ? await landed() : new Set();
  const without = new Set(foreign.filter((symbol) => !have.has(symbol)));
  const others = absent.filter((symbol) => !without.has(symbol));
  completeness.absent(BARS_1M.name, "others_came", others, 1);
  if (without.size > 0) completeness.absent(BARS_1M.name, "unavailable", [...without], 1);
}

/**
 * Whether the service has no minutes of a universe of which nothing came: the lake has no minute of a member, and either
 * no member is of China, or nothing ever came in at least three sessions.
 *
 * @param have the symbols of which the lake has a minute. @param sessions the known trading days of China, ascending.
 */
export function hasNoMinutes(
  { members, times }: Pick<EmptyUniverse, "members" | "times">,
  have: ReadonlySet<string>,
  sessions?: readonly TradingDate[],
): boolean {
  const chinese = members.filter(isChinese);
  if ((chinese.length > 0 ? chinese : members).some((symbol) => have.has(symbol))) return false;
  return chinese.length === 0 || sessionsOf(new TradingCalendar("CN", sessions), times) >= SESSIONS_OF_NONE;
}

/**
 * Records empty responses. A universe of which the service may have minutes is a failure, so that the run is partial. In
 * any case the next run requests the universe again.
 */
async function recordEmpty(run: Run, empty: readonly EmptyUniverse[], landed: Landed): Promise<void> {
  if (empty.length === 0) return;
  const { session, lake } = run.context;
  const [have, known] = [await landed(), await readTradingDays(session, lake)];
  for (const one of empty) {
    if (hasNoMinutes(one, have, known.get("CN"))) recordNoMinutes(run, one);
    else {
      const why = `the service gave nothing for its ${one.members.length} members; it is requested again`;
      failEmpty(run, one.id, why, one.got);
    }
  }
}

/** Many services have minutes of no other region. */
function isChinese(symbol: string): boolean {
  return regionOf(symbol) === "CN";
}

/** A function that loads a value at its first call. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => (loaded ??= load());
}

/** Records a failed request for a universe of which nothing came, so that the next run requests it again. */
function failEmpty(run: Run, id: string, why: string, { requestId, entry }: PendingResponse<unknown>): void {
  const reason = `universe ${id}: ${why}`;
  const dataset = BARS_1M.name;
  run.log.failure({ dataset, request: `${dataset} ${requestId}`, reason, symbols: 0 });
  run.ledger.enter({ ...entry, records: entry.records.map((one) => ({ ...one, status: "failed", reason })) });
}

/** Records that the service has no minutes of the members of a universe. */
function recordNoMinutes(run: Run, { members, got: { entry } }: EmptyUniverse): void {
  const { completeness } = run.log;
  completeness.asked(BARS_1M.name, members, members.length, run.context.marketClock.now());
  completeness.absent(BARS_1M.name, "unavailable", members, 1);
  run.ledger.enter({ ...entry, records: entry.records.map((one) => ({ ...one, reason: "unavailable" })) });
}

async function symbolsWithMinutes(session: Session, lake: Lake): Promise<ReadonlySet<string>> {
  const byRegion = await symbolsByRegion(session, lake, await lake.snapshot(BARS_1M));
  return new Set([...byRegion.values()].flatMap((symbols) => [...symbols]));
}

/**
 * The number of different sessions that responses are certainly about, each about the latest session at its time: two
 * are about different sessions if a known one, or more weekdays than a holiday has, lie between them.
 */
function sessionsOf(calendar: TradingCalendar, times: readonly number[]): number {
  const { region } = calendar;
  const { zone } = REGIONS[region];
  let sessions = 0;
  let last: TradingDate | undefined;
  for (const time of times) {
    const afterFinal = localDate(finalEnd(region, time), zone);
    if (last !== undefined && calendar.areNeighbours(last, afterFinal)) continue;
    sessions += 1;
    last = localDate(time, zone);
  }
  return sessions;
}

/**
 * Requests the minute bars of whole universes on the latest trading day. A day that is complete is not requested again.
 * A universe of which nothing ever came is requested by each run: no later response has the minutes of an earlier day.
 */
export async function ingestIntraday(run: Run, universes: readonly string[]): Promise<void> {
  const endpoint = ENDPOINTS.intradayUniverse;
  const { session, lake, marketClock } = run.context;
  const path = `${endpoint.method} ${endpoint.path}`;
  const answered = await lastResponses(session, lake, BARS_1M.name, path);
  const never = await neverReceived(session, lake, BARS_1M.name, path);
  const known = new Set((await knownUniverses(run.context)).map(({ id }) => id));
  const members = await membersOf(run.context, universes);
  const due = universes.filter(
    (id) => (never.has(id) && members.has(id)) || isDue(answered.get(id), marketClock.now()),
  );
  run.progress.plan(BARS_1M.name, due.length);
  const landing = new LandingBars(run, BARS_1M);
  const responses = { received: [] as ReceivedUniverse[], empty: [] as EmptyUniverse[] };
  const ask = async (): Promise<void> => {
    for (const id of due) {
      if (run.requests.isHalted(BARS_1M.name)) break;
      run.progress.doing(`minutes of ${id}`);
      const got = await run.requests.ask(
        { endpoint, query: { universes: id, period: "1m", count: LIMITS.maxCount } },
        { dataset: BARS_1M.name, symbols: [id] },
        async (body) => {
          const decoded = await decodeKlines(freedAfterUse(body), { shape: "map" }, run.buffers);
          const other = ofOtherPeriod(decoded.columns);
          const columns = filteredBars(decoded.columns, (symbol) => !other.has(symbol));
          const read = received({ ...decoded, columns });
          // At the end of the run, such a universe is reported as requested without a result.
          return { ...read, other, absent: read.rows === 0 ? [id] : [] };
        },
      );
      if (got === undefined) continue;
      const { other, response } = got.value;
      const { columns } = response;
      const own = members.get(id) ?? [];
      const cut = cutDay(columns);
      if (got.value.rows > 0) {
        const came = new Set(symbolSpans(columns).map(({ symbol }) => symbol));
        responses.received.push({ members: own, came, rows: columns.rows });
      }
      if (other.size > 0) await landing.take(failOther(run, id, other, got));
      else if (got.value.rows === 0 && !known.has(id)) failEmpty(run, id, UNKNOWN, got);
      else if (got.value.rows === 0 && own.length > 0)
        responses.empty.push({ id, members: own, times: [...(never.get(id) ?? []), marketClock.now()], got });
      else if (cut === undefined) await landing.take(got);
      else await landing.take(failCut(run, id, cut, got));
    }
  };
  await releaseAfter(
    ask,
    () => landing.finish(),
    () => recordMembers(run, responses),
  );
  await run.ledger.land();
}

async function knownUniverses({ session, lake }: RunContext): Promise<readonly { readonly id: string }[]> {
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSES)));
  return session.json(`SELECT id FROM (${files}) WHERE valid_to IS NULL`);
}

async function membersOf(
  { session, lake }: RunContext,
  universes: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSE_MEMBERS)));
  const rows = await session.json<{ id: string; symbols: string[] }>(
    `SELECT id, list(DISTINCT symbol ORDER BY symbol) AS symbols FROM (${files})
     WHERE valid_to IS NULL AND id IN (SELECT unnest(${literalList(universes)})) GROUP BY id`,
  );
  return new Map(rows.map(({ id, symbols }) => [id, symbols]));
}

/** Why nothing came of a universe that neither the lake nor the service knows. */
const UNKNOWN =
  'the service gave nothing for it, and the lake does not know it; run the pipeline reference, and see: barlake sql "from universes"';

/** The symbols whose bars are no minutes. Symbols with too few bars to show it are among them as in a response to K-lines. */
function ofOtherPeriod(columns: KlineColumns): ReadonlySet<string> {
  const spans = symbolSpans(columns);
  const words = int64Words(columns.timestamp);
  const found = REGION_NAMES.flatMap((region) => {
    const own = spans.filter(({ symbol }) => regionOf(symbol) === region);
    return [...symbolsOfOtherPeriod(own, words, { region, period: "1m", isAggregated: false })];
  });
  return new Set(found);
}

type Responded = PendingResponse<{ readonly response: DecodedKlines }>;

/** Records a failed request for a universe some of whose bars were no minutes: these do not land. */
function failOther(run: Run, id: string, symbols: ReadonlySet<string>, got: Responded): Responded {
  const reason = `universe ${id}: symbols with bars of another period than 1m (${symbols.size}), such as ${[...symbols][0]}: these bars were set aside`;
  return fail(run, reason, symbols.size, got);
}

/** Records a failed request for a universe whose day was cut: its bars land, but the run is not complete. */
function failCut(run: Run, id: string, cut: CutDay, got: Responded): Responded {
  const since = new Date(cut.since).toISOString();
  const reason = `universe ${id}: ${cut.symbols} symbols have ${cut.bars} bars each, and none before ${since}: the service seems to cut them; the pipeline minute asks for whole days`;
  return fail(run, reason, cut.symbols, got);
}

function fail(run: Run, reason: string, symbols: number, got: Responded): Responded {
  const dataset = BARS_1M.name;
  run.log.failure({ dataset, request: `${dataset} ${got.requestId}`, reason, symbols });
  const records = got.entry.records.map((one) => ({ ...one, status: "failed" as const, reason }));
  return { ...got, entry: { ...got.entry, records } };
}

/**
 * Whether there may be new bars since the last response: a session was open then, or has begun in some region since.
 */
function isDue(lastAt: number | undefined, now: number): boolean {
  if (lastAt === undefined) return true;
  return REGION_NAMES.some((region) => {
    const since = { start: finalEnd(region, lastAt), end: now };
    return new TradingCalendar(region).daysIn(since, now).length > 0;
  });
}
