import type { TimeRange } from "../../../core/time.js";
import { landKlines, rejectAgain } from "../../../lake/land/land-klines.js";
import { isLoss } from "../../../lake/land/rejects.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { dayRange } from "../../../market/sessions.js";
import { regionOf } from "../../../market/symbol.js";
import { localDate } from "../../../market/zone.js";
import type { RejectedSegment } from "../../../plan/bar-partitions.js";
import type { TableSchema } from "../../../schema/column.js";
import type { BarSegment, DeliveredBars } from "../../../wire/bar-segment.js";
import type { DecodedKlines } from "../../../wire/decode/decode-klines.js";
import { type KlineLayout, klineLayout, klinePieces } from "../../../wire/kline-bytes.js";
import type { KlineColumns } from "../../../wire/kline-columns.js";
import type { RequestRecord } from "../../ledger/ledger.js";
import { emptyIn, type LedgerEntry, type PendingResponse } from "../../run/request/request-records.js";
import type { Run } from "../../run/run.js";
import { landOptions } from "../../run/run-context.js";
import { groupResponses } from "../landing-records.js";

/** Most bars that land together. The same number may be waiting at the same time, so this limits memory. */
export const GROUP_BARS = 750_000;

/** The facts that are stored on disk with the columns of a response until it has landed. */
export interface BarsNote {
  readonly dataset: string;
  readonly source: string;
  readonly finalEnds: Readonly<Record<Region, number>>;
  readonly entry: LedgerEntry;
  /** Of the bytes of the columns; absent where there are none, and where an earlier version stored them as Arrow. */
  readonly layout?: KlineLayout;
}

type CachedResponse = PendingResponse<{ readonly response: DecodedKlines }>;

/**
 * Lands responses of bars in the background, in groups, while other responses arrive: first the bars, then the ledger.
 * The ledger gets the entries of one group while the bars of the next one land.
 */
export class LandingBars {
  readonly #run: Run;
  readonly #table: TableSchema;
  #cached: CachedResponse[] = [];
  #bars = 0;
  /** Resolves when the bars of all collected groups have landed, or have failed to. */
  #landed: Promise<void> = Promise.resolve();
  /** Resolves when the ledger has these groups, too. */
  #recorded: Promise<void> = Promise.resolve();
  /** Resolves when at most one collected group has not landed yet, or is not in the ledger. */
  #before: Promise<void> = Promise.resolve();
  #failure: unknown;

  constructor(run: Run, table: TableSchema) {
    this.#run = run;
    this.#table = table;
  }

  /**
   * Writes a response to disk and lands it later. The promise resolves when the memory budget permits another response.
   *
   * @throws the error of an earlier group's landing: its responses remain on disk for the next run.
   */
  async take(cached: CachedResponse): Promise<void> {
    const { columns } = cached.value.response;
    const { dataset, finalEnds } = { dataset: this.#table.name, finalEnds: this.#run.context.finalEnds };
    const layout = columns.rows > 0 ? klineLayout(columns) : undefined;
    const { source, entry } = cached;
    const note: BarsNote = { dataset, source, finalEnds, entry, ...(layout && { layout }) };
    try {
      await this.#run.responses.store(cached.requestId, note, layout && klinePieces(columns, layout));
    } catch (error) {
      this.#run.log.stopIfUnwritable(error);
      throw error;
    }
    this.#cached.push(cached);
    this.#bars += columns.rows;
    const isFull = this.#bars >= GROUP_BARS || this.#cached.length >= groupResponses(this.#run.context.lake);
    if (isFull) this.#startLanding();
    await this.#before;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Lands the remaining responses. @throws the error of a group's landing. */
  async finish(): Promise<void> {
    this.#startLanding();
    await this.#recorded;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Lands the collected group once the bars of the previous group have landed. The ledger gets it after the previous
   * group, for which the next group does not wait.
   */
  #startLanding(): void {
    const group = this.#cached;
    this.#cached = [];
    this.#bars = 0;
    const earlier = this.#recorded;
    const landed = this.#landed.then(() => this.#landGroup(group));
    const noteFailure = (error: unknown): void => {
      this.#failure ??= error;
    };
    this.#landed = landed.then(() => undefined, noteFailure);
    const record = async (): Promise<void> => {
      await earlier;
      await this.#record(group, await landed);
    };
    this.#recorded = record().catch(noteFailure);
    this.#before = earlier;
  }

  /**
   * @returns the landing of its ledger entries. @throws its error, or the error of an earlier group; in that case this
   *   group does not land.
   */
  async #landGroup(group: readonly CachedResponse[]): Promise<() => Promise<void>> {
    const run = this.#run;
    try {
      if (this.#failure !== undefined) throw this.#failure;
      if (group.length === 0) return async () => undefined;
      run.progress.doing(`landing ${this.#table.name}`);
      return await run.exclusive(() =>
        landBarsOf(run, this.#table, group.map(delivered), run.context.finalEnds),
      );
    } catch (error) {
      run.log.stopIfUnwritable(error);
      throw error;
    } finally {
      for (const { value } of group) value.response[Symbol.dispose]();
    }
  }

  /** Lands the ledger entries of a group whose bars have landed, and deletes its responses. */
  async #record(group: readonly CachedResponse[], landEntries: () => Promise<void>): Promise<void> {
    const { log, responses } = this.#run;
    try {
      await landEntries();
      await responses.forget(group.map(({ requestId }) => requestId));
    } catch (error) {
      log.stopIfUnwritable(error);
      throw error;
    }
  }
}

function delivered({ value, source, entry }: CachedResponse): DeliveredResponse {
  return { columns: value.response.columns, source, entry };
}

export interface DeliveredResponse {
  /** Undefined where the response has no bars to land. */
  readonly columns: KlineColumns | undefined;
  /** Whether the bars are in the lake already, although the ledger may not have the request. @default false */
  readonly hasLanded?: boolean;
  readonly source: string;
  readonly entry: LedgerEntry;
}

/** Lands responses in one commit, and then their ledger entries. */
export async function landResponses(...group: Parameters<typeof landBarsOf>): Promise<void> {
  const landEntries = await landBarsOf(...group);
  await landEntries();
}

/** Lands the bars of responses in one commit. @returns the landing of their ledger entries. */
async function landBarsOf(
  run: Run,
  table: TableSchema,
  group: readonly DeliveredResponse[],
  finalEnds: Readonly<Record<Region, number>>,
): Promise<() => Promise<void>> {
  const barsOf = (hasLanded: boolean): DeliveredBars[] =>
    group.flatMap(({ columns, source, hasLanded: has = false }) =>
      has === hasLanded && columns !== undefined && columns.rows > 0 ? [{ columns, source }] : [],
    );
  const [bars, landedBars] = [barsOf(false), barsOf(true)];
  const rejected: RejectedSegment[] = [];
  const onRejected = (some: readonly RejectedSegment[]): void => {
    // A loop, because each of these bars is a segment and there can be more than fit into an argument list.
    for (const one of some) rejected.push(one);
  };
  const { rejects, marketClock } = run.context;
  const marketNow = marketClock.now();
  const options = { ...landOptions(run.context), rejects, finalEnd: finalEnds, marketNow, onRejected };
  if (bars.length > 0) {
    const responses = bars.map(({ source }) => source);
    run.log.landed(
      await landKlines(run.context.session, run.context.lake, table, bars, { ...options, responses }),
    );
  }
  // The commit already contains the good bars, but the rejects may not have been recorded.
  await rejectAgain(run.context.session, table, landedBars, options);
  for (const { entry, source } of group) {
    const own = rejected.filter((one) => one.source === source);
    const holes = daysOf(own.filter(({ rule }) => isLoss({ rule, rows: 1 })));
    for (const { symbol, window, bars: n } of holes)
      run.log.completeness.setAside(table.name, { symbol, window, bars: n });
    const quiet = withIdle(entry, daysOf(own.filter(({ rule }) => rule === "no_trade")));
    run.ledger.enter(holes.length > 0 ? withHoles(quiet, holes) : quiet);
  }
  return run.ledger.prepare();
}

function daysOf(bars: readonly BarSegment[]) {
  const days = new Map<string, { readonly symbol: string; readonly window: TimeRange; bars: number }>();
  for (const { symbol, columns, start, end } of bars) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    for (let row = start; row < end; row++) {
      const date = localDate(Number(columns.timestamp[row]), REGIONS[region].zone);
      const key = `${symbol} ${date}`;
      const day = days.get(key) ?? { symbol, window: dayRange(region, date), bars: 0 };
      day.bars += 1;
      days.set(key, day);
    }
  }
  return [...days.values()];
}

/** A ledger entry in which the days of bars that state no trade are days without a bar. */
function withIdle(entry: LedgerEntry, days: ReturnType<typeof daysOf>): LedgerEntry {
  if (days.length === 0) return entry;
  const records = entry.records.map((record): RequestRecord => {
    const { empty } = record;
    return empty === undefined ? record : { ...record, empty: [...empty, ...emptyIn(record, days)] };
  });
  return { ...entry, records };
}

/** A ledger entry that also has the days whose bars were set aside, so that they are requested again. */
function withHoles(entry: LedgerEntry, holes: ReturnType<typeof daysOf>): LedgerEntry {
  const [first] = entry.records;
  if (first === undefined) return entry;
  const nothing = { attempts: 0, rows: 0, rejected: 0, bytes: 0, durationMs: 0 };
  const records = holes.map(({ symbol, window }, index): RequestRecord => {
    const requestId = `${first.requestId}.aside${index + 1}`;
    const absent = { symbols: [symbol], absent: [symbol], window, reason: "set_aside" };
    return { ...first, ...nothing, ...absent, empty: undefined, requestId, status: "answered" };
  });
  return { ...entry, records: [...entry.records, ...records] };
}
