import { decodeKlineResponse } from "../../../arrow/stream/decode-kline-response.js";
import { int64Words } from "../../../core/int64-words.js";
import { releaseAfter } from "../../../core/release-after.js";
import { literalList } from "../../../db/quote.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import { REGION_NAMES } from "../../../market/regions.js";
import { finalEnd } from "../../../market/sessions.js";
import { regionOf } from "../../../market/symbol.js";
import { TradingCalendar } from "../../../market/trading-calendar.js";
import { type CutDay, cutDay } from "../../../plan/absence/cut-day.js";
import { symbolsOfOtherPeriod } from "../../../plan/absence/other-period.js";
import { symbolSpans } from "../../../plan/absence/window-beginning.js";
import { filteredBars } from "../../../plan/filtered-bars.js";
import { BARS_1M } from "../../../schema/bars.js";
import { UNIVERSE_MEMBERS, UNIVERSES } from "../../../schema/reference.js";
import type { DecodedKlines } from "../../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../../wire/endpoints.js";
import type { KlineColumns } from "../../../wire/kline-columns.js";
import { lastResponses, neverReceived } from "../../ledger/ledger.js";
import type { PendingResponse } from "../../run/request/request-records.js";
import type { Run } from "../../run/run.js";
import type { RunContext } from "../../run/run-context.js";
import { leaseInTurn } from "../request-sharing.js";
import { received } from "./klines-request.js";
import { LandingBars } from "./landing-bars.js";
import { type EmptyUniverse, failEmpty, type ReceivedUniverse, recordMembers } from "./universe-members.js";

/**
 * Requests the minute bars of whole universes on the latest trading day. A day that is complete is not requested again.
 * A universe of which nothing ever came is requested by each run: no later response has the minutes of an earlier day.
 */
export async function ingestIntraday(run: Run, universes: readonly string[]): Promise<void> {
  const endpoint = ENDPOINTS.intradayUniverse;
  const lease = await leaseInTurn(run, { dataset: endpoint.path, symbols: universes });
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
        { endpoint, query: { universes: id, period: "1m", count: LIMITS.maxCount }, arrow: true },
        { dataset: BARS_1M.name, symbols: [id] },
        async (body, _, type) => {
          const decoded = await decodeKlineResponse(body, type, { shape: "map" }, run.buffers);
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
  await lease.release();
}

async function knownUniverses({ session, lake }: RunContext): Promise<readonly { readonly id: string }[]> {
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSES)));
  return session.json(`SELECT id FROM (${files}) WHERE valid_to IS NULL`);
}

/** The current members of universes, by universe. */
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
