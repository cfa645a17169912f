import { groupBy } from "../../core/group-by.js";
import { lowerBound } from "../../core/lower-bound.js";
import { firstNames } from "../../core/text-order.js";
import { dateOfEpochDay, epochDay, type TradingDate } from "../../core/time.js";
import type { Block } from "../panel/block.js";
import type { WriterPlace } from "./dataset-writer.js";

/** What engines that know splits and dividends are told of a symbol's ex-date. */
export interface EngineEvent {
  /** The first label with trades at the new price level. */
  readonly label: number;
  /** By which prices before are divided. */
  readonly factor: number;
  /** The corporate actions of the day that account for the factor; undefined where none do, or they have rights. */
  readonly actions: EngineActions | undefined;
}

interface EngineActions {
  /** Shares after it for one: 4 for a split of 4 for 1, 1.3 for a stock dividend of 3 for 10; 1 for none. */
  readonly shares: number;
  /** Cash, in the currency of the price. */
  readonly cash: number;
  readonly announceDate: TradingDate | undefined;
  readonly recordDate: TradingDate | undefined;
  readonly payDate: TradingDate | undefined;
}

interface Event {
  readonly day: number;
  readonly factor: number;
  readonly last_close: number | null;
}

interface Actions {
  readonly day: number;
  readonly source: string;
  /** What the holder of one share gets, less what it pays for rights. */
  readonly cash: number;
  /** Shares after it for one. */
  readonly shares: number;
  readonly hasRights: boolean;
  readonly announced: string | null;
  readonly recorded: string | null;
  readonly paid: string | null;
}

/** Finds the events of a block's symbol that lie after its first label with trades, in order of time. */
export type EventsOf = (block: Block, symbol: number) => EngineEvent[];

/**
 * The ex-events that adjust the lake's prices, with the corporate actions as they were known at the end of the
 * dataset's last day. An event on a label without trades counts from the next one with trades.
 */
export async function readEngineEvents({ session, shape }: WriterPlace): Promise<EventsOf> {
  const { days, count } = shape.labels;
  const until = `DATE '${dateOfEpochDay(days[count - 1] as number)}'`;
  const dayOf = (date: string): string => `CAST(${date} - DATE '1970-01-01' AS INTEGER)`;
  const events = groupBy(
    await session.json<Event & { readonly symbol: string }>(
      `SELECT symbol, ${dayOf("ex_date")} AS day, factor, last_close FROM ex_events WHERE ex_date <= ${until} ORDER BY symbol, day`,
    ),
    ({ symbol }) => symbol,
  );
  const actions = groupBy(
    await session.json<Actions & { readonly symbol: string }>(
      `SELECT symbol, ${dayOf("ex_date")} AS day, source, cash, shares, "hasRights",
         CAST(announced AS VARCHAR) AS announced, CAST(recorded AS VARCHAR) AS recorded, CAST(paid AS VARCHAR) AS paid
       FROM (SELECT symbol, ex_date, source, 0 - paid AS cash, shares, priority FROM ex_terms(as_of := ${until}) WHERE witness = 'actions')
       JOIN (SELECT symbol, ex_date, source, bool_or(kind = 'rights') AS "hasRights", min(announce_date) FILTER (cash > 0) AS announced,
           max(record_date) FILTER (cash > 0) AS recorded, max(pay_date) FILTER (cash > 0) AS paid
         FROM corporate_action_versions WHERE known_from <= ${until} AND known_to > ${until}
         GROUP BY symbol, ex_date, source) USING (symbol, ex_date, source)
       WHERE ex_date <= ${until} ORDER BY symbol, day, priority`,
    ),
    ({ symbol }) => symbol,
  );
  return ({ symbols, first, last, width, traded }, s) => {
    const { symbol = "" } = symbols[s] ?? {};
    const own = events.get(symbol);
    if (own === undefined) return [];
    const [start, end] = [first[s] as number, (last[s] as number) + 1];
    const labelOf = (day: number): number => {
      let label = lowerBound(start, end, (at) => (days[at] as number) >= day);
      while (label < end && traded[s * width + label] === 0) label++;
      return label;
    };
    const told = groupBy(actions.get(symbol) ?? [], ({ day }) => labelOf(day));
    const found = groupBy(own, ({ day }) => labelOf(day));
    return Array.from(found, ([label, [event, ...more]]) => {
      const factor = [event, ...more].reduce((product, one) => product * (one?.factor ?? 1), 1);
      const lastClose = event?.last_close ?? Number.NaN;
      return { label, factor, actions: accountFor(factor, lastClose, told.get(label) ?? []) };
    }).filter(({ label }) => label > start && label < end);
  };
}

/** Differences of a factor from that of its actions: exchanges state prices in cents, and sources print four digits. */
const [OF_RATIO, OF_PRICE, MOST] = [1e-3, 0.005, 1e-2] as const;

/** The actions of the first source that account for a factor. */
function accountFor(factor: number, lastClose: number, told: readonly Actions[]): EngineActions | undefined {
  const most = Math.max(OF_RATIO, Math.min(MOST, (1.001 * OF_PRICE * factor) / lastClose || 0));
  for (const sourced of groupBy(told, ({ source }) => source).values()) {
    const [one] = sourced;
    if (one === undefined || sourced.length > 1) continue;
    const { cash, shares, hasRights, announced, recorded, paid } = one;
    const theirs = cash === 0 ? shares : (lastClose * shares) / (lastClose - cash);
    if (hasRights) continue;
    if (!(Math.abs(theirs / factor - 1) <= most)) continue;
    return {
      shares,
      cash,
      announceDate: dateOf(announced),
      recordDate: dateOf(recorded),
      payDate: dateOf(paid),
    };
  }
  return undefined;
}

function dateOf(text: string | null): TradingDate | undefined {
  return text === null ? undefined : (text as TradingDate);
}

/** Events of symbols for a warning: `2 ex-events (600519.SH 2026-06-19, ...)`. */
export function eventsText(
  events: readonly { readonly symbol: string; readonly date: TradingDate }[],
): string {
  const examples = events.map(({ symbol, date }) => `${symbol} ${date}`);
  return `${events.length} ex-event${events.length === 1 ? "" : "s"} (${firstNames(examples, 3)})`;
}

/** The first label on or after a date; the number of labels where there is none. */
export function labelOn({ days, count }: WriterPlace["shape"]["labels"], date: TradingDate): number {
  const day = epochDay(date);
  return lowerBound(0, count, (at) => (days[at] as number) >= day);
}
