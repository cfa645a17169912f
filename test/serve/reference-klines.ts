import type { Adjustment, Period } from "../../src/market/period.js";
import type { LandedBar } from "./served-lake.js";

/** Compact K-line data, as a response has it. */
export interface Klines {
  readonly timestamp: readonly number[];
  readonly open: readonly number[];
  readonly high: readonly number[];
  readonly low: readonly number[];
  readonly close: readonly number[];
  readonly volume: readonly number[];
  readonly amount: readonly number[];
  readonly open_interest?: readonly (number | null)[];
  readonly prev_close?: readonly (number | null)[];
  readonly settlement_price?: readonly (number | null)[];
}

/** What is asked, as the interface has it: both ends inclusive. */
export interface Question {
  readonly period: Period;
  readonly adjust: Adjustment;
  readonly count: number;
  readonly start?: number;
  readonly end?: number;
}

interface Bar extends LandedBar {
  /** Minutes since local midnight of `date`. */
  readonly minute: number;
  /** YYYY-MM-DD of the exchange. */
  readonly date: string;
}

interface Market {
  readonly zone: string;
  readonly lot: number;
  readonly hasAuction: boolean;
  /** Sessions in minutes after midnight. */
  readonly sessions: readonly (readonly [number, number])[];
}

const MARKETS: Readonly<Record<string, Market>> = {
  SH: {
    zone: "Asia/Shanghai",
    lot: 100,
    hasAuction: true,
    sessions: [
      [570, 690],
      [780, 900],
    ],
  },
  HK: {
    zone: "Asia/Hong_Kong",
    lot: 1,
    hasAuction: true,
    sessions: [
      [570, 720],
      [780, 960],
    ],
  },
  US: { zone: "America/New_York", lot: 1, hasAuction: false, sessions: [[570, 960]] },
};

const marketOf = (symbol: string): Market => MARKETS[symbol.split(".")[1] as string] as Market;

/** A bar as it lands: a previous close that is not above 0 is none. */
function asLanded(bar: LandedBar): LandedBar {
  return { ...bar, prev_close: (bar.prev_close ?? 0) > 0 ? bar.prev_close : null } as LandedBar;
}

/** A slow, separate answer to a question about one symbol: what the service's is compared with. */
export function referenceKlines(
  landed: readonly LandedBar[],
  daily: readonly LandedBar[],
  question: Question,
): Klines {
  const bars = [...landed]
    .sort((a, b) => a.timestamp - b.timestamp)
    .map(asLanded)
    .map(localBar);
  const events = eventsOf(
    [...daily]
      .sort((a, b) => a.timestamp - b.timestamp)
      .map(asLanded)
      .map(localBar),
  );
  const adjusted = bars.map((bar) => adjust(bar, events, question.adjust));
  const made =
    question.period === "1m" || question.period === "1d"
      ? adjusted.map(served)
      : aggregate(adjusted, question.period);
  const { start = -Infinity, end = Infinity, count } = question;
  const within = made.filter((bar) => bar.timestamp >= start && bar.timestamp <= end);
  return columns(within.slice(Math.max(0, within.length - count)));
}

/** The clock of each zone: to make one takes far longer than to read it. */
const CLOCKS = new Map(
  Object.values(MARKETS).map(({ zone }) => [
    zone,
    new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" }),
  ]),
);

function localBar(bar: LandedBar): Bar {
  // YYYY-MM-DD HH:MM
  const text = CLOCKS.get(marketOf(bar.symbol).zone)?.format(bar.timestamp) ?? "";
  return {
    ...bar,
    date: text.slice(0, 10),
    minute: Number(text.slice(11, 13)) * 60 + Number(text.slice(14)),
  };
}

/** A bar after adjustment. */
interface AdjustedBar extends Bar {
  readonly stated: Readonly<Record<"open" | "high" | "low", number>>;
}

interface Event {
  readonly date: string;
  readonly factor: number;
  readonly amount: number;
}

function eventsOf(daily: readonly Bar[]): Event[] {
  const events: Event[] = [];
  for (let i = 1; i < daily.length; i++) {
    const { date, prev_close: prev } = daily[i] as Bar;
    const last = (daily[i - 1] as Bar).close;
    if (prev == null || prev <= 0 || last <= 0) continue;
    if (Math.abs(last / prev - 1) < 1e-9) continue;
    events.push({ date, factor: last / prev, amount: last - prev });
  }
  return events;
}

function adjust(bar: Bar, events: readonly Event[], kind: Adjustment): AdjustedBar {
  const later = events.filter((event) => event.date > bar.date);
  const sofar = events.filter((event) => event.date <= bar.date);
  const product = (list: readonly Event[]): number => list.reduce((value, event) => value * event.factor, 1);
  const sum = (list: readonly Event[]): number => list.reduce((value, event) => value + event.amount, 0);
  const price = (value: number): number => {
    if (kind === "forward") return value / product(later);
    if (kind === "backward") return value * product(sofar);
    if (value === 0 || kind === "none") return value;
    return kind === "forward_additive" ? value - sum(later) : value + sum(sofar);
  };
  return {
    ...bar,
    open: price(bar.open),
    high: price(bar.high),
    low: price(bar.low),
    close: price(bar.close),
    // What replaces a price that was landed as 0, in an aggregate.
    stated: {
      open: price(bar.open || bar.close),
      high: price(bar.high || bar.close),
      low: price(bar.low || bar.close),
    },
    prev_close: bar.prev_close == null ? null : price(bar.prev_close),
    settlement_price: bar.settlement_price == null ? null : price(bar.settlement_price),
  };
}

const sharesOf = (bar: LandedBar): bigint => BigInt(bar.volume) * BigInt(bar.lot ?? marketOf(bar.symbol).lot);

const MAX_INT64 = 2n ** 63n - 1n;

function inUnits(shares: bigint, symbol: string): number {
  const lot = BigInt(marketOf(symbol).lot);
  const rest = shares % lot;
  const units = shares / lot + (rest * 2n >= lot ? 1n : 0n);
  return Number(units < MAX_INT64 ? units : MAX_INT64);
}

function served(bar: LandedBar): LandedBar {
  return { ...bar, volume: inUnits(sharesOf(bar), bar.symbol) };
}

function aggregate(bars: readonly AdjustedBar[], period: Period): LandedBar[] {
  const groups = new Map<string, { label: number; bars: AdjustedBar[] }>();
  for (const bar of bars) {
    const { key, label } = period.endsWith("m")
      ? minuteGroup(bar, Number.parseInt(period, 10))
      : dayGroup(bar, period);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { label, bars: [bar] });
    else {
      group.label = Math.max(group.label, label);
      group.bars.push(bar);
    }
  }
  return [...groups.values()].map(({ label, bars: members }) => {
    const [first, last] = [members[0] as AdjustedBar, members.at(-1) as AdjustedBar];
    const stated = (name: "open" | "high" | "low"): number[] => members.map((bar) => bar.stated[name]);
    return {
      symbol: first.symbol,
      timestamp: label,
      open: stated("open")[0] as number,
      high: Math.max(...stated("high")),
      low: Math.min(...stated("low")),
      close: last.close,
      volume: inUnits(
        members.reduce((sum, bar) => sum + sharesOf(bar), 0n),
        first.symbol,
      ),
      amount: members.reduce((sum, bar) => sum + bar.amount, 0),
      prev_close: first.prev_close ?? null,
      open_interest: last.open_interest ?? null,
      settlement_price: last.settlement_price ?? null,
    };
  });
}

function dayGroup(bar: Bar, period: Period): { key: string; label: number } {
  const day = new Date(`${bar.date}T00:00:00Z`);
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
  const monday = new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * 86_400_000).toISOString();
  const keys = {
    "1w": monday,
    "1M": `${year}-${month}`,
    "1Q": `${year}-${Math.floor(month / 3)}`,
    "1Y": `${year}`,
  };
  return { key: keys[period as keyof typeof keys], label: bar.timestamp };
}

function minuteGroup(bar: Bar, minutes: number): { key: string; label: number } {
  const end = endOfGroup(bar.minute, minutes, marketOf(bar.symbol));
  return { key: `${bar.date} ${end}`, label: bar.timestamp + (end - bar.minute) * 60_000 };
}

/** Walks the grid of ends, minute by minute, until one covers the bar. */
function endOfGroup(minute: number, minutes: number, { sessions, hasAuction }: Market): number {
  const next = sessions.find(([, close]) => minute <= close);
  const [open, close] = next ?? sessions[sessions.length - 1] ?? [0, 1440];
  const onGrid = (at: number): boolean => (((at - open) % minutes) + minutes) % minutes === 0;
  const isEnd = (at: number): boolean => onGrid(at) || (next !== undefined && at === close) || at >= 1440;
  let end = minute === open && hasAuction ? minute + 1 : minute;
  while (!isEnd(end)) end += 1;
  return end;
}

function columns(bars: readonly LandedBar[]): Klines {
  const optional = (name: "open_interest" | "prev_close" | "settlement_price"): object =>
    bars.some((bar) => bar[name] != null) ? { [name]: bars.map((bar) => bar[name] ?? null) } : {};
  return {
    timestamp: bars.map((bar) => bar.timestamp),
    open: bars.map((bar) => bar.open),
    high: bars.map((bar) => bar.high),
    low: bars.map((bar) => bar.low),
    close: bars.map((bar) => bar.close),
    volume: bars.map((bar) => Number(bar.volume)),
    amount: bars.map((bar) => bar.amount),
    ...optional("open_interest"),
    ...optional("prev_close"),
    ...optional("settlement_price"),
  };
}
