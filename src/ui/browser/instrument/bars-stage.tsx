import { Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { basePeriod } from "../../../market/period.js";
import { regionOf } from "../../../market/symbol.js";
import type { InstrumentReport } from "../../page-data.js";
import { change } from "../address.js";
import { risingColour, risingSetting, useIsDark } from "../colours.js";
import { FaultBox, Missing } from "../fault-box.js";
import { type Fault, faultOf } from "../fetch-data.js";
import { compactNumber, instant, change as ratioText } from "../formats.js";
import { useShownState } from "../lake-state.js";
import { text } from "../texts.js";
import { adjustmentText } from "./adjustment-text.js";
import { type Bars, type BarsKey, loadAhead, loadEarlier, loadReaching } from "./bars-source.js";
import { type EventDay, factorText, lettersOf } from "./event-days.js";
import { EventLines } from "./event-table.js";
import type { InstrumentState } from "./instrument-state.js";
import { type Mark, movingAverage, PriceChart, placeText, placeTime, rangeStart } from "./price-chart.js";

interface ComparedBars {
  readonly symbol: string;
  readonly bars: Bars;
}

/**
 * Loads the bars of other instruments for the range of the given bars. One whose bars are refused, such as a symbol
 * that cannot exist, is left out, and the first such error is returned.
 */
async function loadCompared(
  key: BarsKey,
  symbols: readonly string[],
  { from }: Bars,
  signal: AbortSignal,
): Promise<{ readonly compared: readonly ComparedBars[]; readonly fault: Fault | undefined }> {
  const reaches = (bars: Bars): boolean => from !== undefined && bars.from !== undefined && bars.from <= from;
  const outcomes = await Promise.allSettled(
    symbols.map(
      async (symbol): Promise<ComparedBars> => ({
        symbol,
        bars: await loadReaching({ ...key, symbol }, reaches, signal),
      }),
    ),
  );
  signal.throwIfAborted();
  const refused = outcomes.find((outcome) => outcome.status === "rejected");
  return {
    compared: outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : [])),
    fault: refused && faultOf(refused.reason),
  };
}

/** Most ex-dates of one bar that are shown: a bar of a year may have dozens. */
const MOST_DAYS = 6;

/** What is known of the ex-dates of a bar, beside the bar. @param x pixels from the left of the stage */
function EventTip({ days, x }: { readonly days: readonly EventDay[]; readonly x: number | undefined }) {
  if (days.length === 0 || x === undefined) return null;
  const more = days.length - MOST_DAYS;
  return (
    <div class="tip" role="tooltip" style={`--x:${Math.round(x)}px`}>
      {days.slice(-MOST_DAYS).map((one) => (
        <div key={one.day}>
          <b>{one.day}</b>
          {one.event !== undefined && (
            <span class="factor">
              {` ${text("factor")} ${factorText(one.event.factor)} · ${ratioText(1 / one.event.factor - 1)}`}
            </span>
          )}
          <EventLines of={one} />
        </div>
      ))}
      {more > 0 && <small>{`+ ${more} ${text("more")}`}</small>}
    </div>
  );
}

/** The chart counts as at rest after this time without a movement, in milliseconds. */
const REST_MS = 300;
interface Loaded {
  readonly key: BarsKey;
  readonly bars: Bars;
  readonly compared: readonly ComparedBars[];
  readonly jump: number;
  /** Whether the place in the address is before the first bar of the lake. */
  readonly isBefore: boolean;
}

/** The chart, the values of the bar under the pointer, and the units of the numbers. */
export function BarsStage({
  state,
  report,
  days,
}: {
  readonly state: InstrumentState;
  readonly report: InstrumentReport | undefined;
  readonly days: readonly EventDay[];
}) {
  const { report: lake } = useShownState();
  const { symbol, period, adjust, averages, isLog, hasMarks } = state;
  const [loaded, setLoaded] = useState<Loaded>();
  const [fault, setFault] = useState<Fault>();
  const [isBusy, setBusy] = useState(false);
  const [point, setPoint] = useState<number>();
  const [mark, setMark] = useState<number>();
  const isDark = useIsDark();
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<PriceChart | undefined>(undefined);
  const earlier = useRef(() => {});
  const moved = useRef((_end: number | undefined) => {});
  const resting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const compare = state.compare.join(",");
  const stateId = lake?.state;
  /** The place in the address that the chart has, and how often another one was chosen. */
  const place = useRef({ at: state.at, range: state.range, jump: 0 });
  if (place.current.at !== state.at || place.current.range !== state.range)
    place.current = { at: state.at, range: state.range, jump: place.current.jump + 1 };
  const { jump } = place.current;
  // Requests and drawing start before the next frame, for which an effect would wait.
  useLayoutEffect(() => {
    chart.current = new PriceChart(
      element.current as HTMLElement,
      (at, marked) => {
        setPoint(at);
        setMark(marked);
      },
      () => earlier.current(),
      (end) => moved.current(end),
    );
    return () => chart.current?.remove();
  }, []);
  useLayoutEffect(() => {
    if (stateId === undefined) return;
    const stop = new AbortController();
    const key = { state: stateId, symbol, period, adjust };
    const others = compare === "" ? [] : compare.split(",");
    const load = async (): Promise<void> => {
      const at = placeTime(state.at);
      const reachesPlace = ({ time }: Bars): boolean => {
        const first = time[0] ?? Number.POSITIVE_INFINITY;
        return first <= (at ?? (state.range && rangeStart(state.range, time.at(-1) ?? 0)) ?? first);
      };
      const bars = await loadReaching(key, reachesPlace, stop.signal);
      const { compared, fault: refused } = await loadCompared(key, others, bars, stop.signal);
      setFault(refused);
      setPoint(undefined);
      setMark(undefined);
      const isBefore = at !== undefined && !bars.hasEarlier && at < (bars.time[0] ?? at);
      setLoaded({ key, bars, compared, jump, isBefore });
    };
    load().catch((error: unknown) => {
      if (stop.signal.aborted) return;
      // What is drawn is of another instrument, period, adjustment or version.
      setLoaded(undefined);
      setFault(faultOf(error));
    });
    return () => stop.abort();
  }, [stateId, symbol, period, adjust, compare, jump]);
  useEffect(() => {
    if (loaded === undefined || report === undefined) return;
    const stop = new AbortController();
    // What is loaded ahead is only missing where it fails: the request for it is sent again where it is shown.
    const timer = setTimeout(() => void loadAhead(loaded.key, stop.signal).catch(() => {}), REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [loaded?.key, report === undefined]);
  earlier.current = () => {
    if (loaded === undefined || isBusy || !loaded.bars.hasEarlier) return;
    setBusy(true);
    const { key } = loaded;
    const load = async (): Promise<void> => {
      const { signal } = new AbortController();
      const bars = await loadEarlier(key, loaded.bars, signal);
      const symbols = loaded.compared.map((one) => one.symbol);
      const { compared } = await loadCompared(key, symbols, bars, signal);
      setLoaded((now) => (now?.key === key ? { ...now, bars, compared } : now));
    };
    load()
      .catch((error: unknown) => setFault(faultOf(error)))
      .finally(() => setBusy(false));
  };
  // The address is updated with the position of the chart once the chart is at rest.
  moved.current = (end) => {
    clearTimeout(resting.current);
    performance.mark("chart-moves");
    resting.current = setTimeout(() => {
      performance.mark("chart-rests");
      const at = end === undefined ? undefined : placeText(end, basePeriod(period) === "1m");
      if (at === (new URLSearchParams(location.search).get("at") ?? undefined)) return;
      place.current = { ...place.current, at, range: undefined };
      change({ at, range: undefined }, false);
    }, REST_MS);
  };
  useEffect(() => () => clearTimeout(resting.current), [symbol]);
  const marks = hasMarks ? marksOf(days, report) : [];
  const rising = risingColour(regionOf(symbol) ?? null);
  useLayoutEffect(() => {
    if (loaded === undefined || loaded.bars.time.length === 0) return chart.current?.remove();
    const { bars, key, compared, jump: drawnJump } = loaded;
    const hasTimes = basePeriod(key.period) === "1m";
    chart.current?.draw({
      bars,
      hasTimes,
      rising,
      averages,
      isLog,
      marks,
      compared,
      end: placeTime(state.at),
      start: state.range && rangeStart(state.range, bars.time.at(-1) ?? 0),
      jump: drawnJump,
      title: key.symbol,
    });
    performance.mark("bars-drawn", { detail: `${key.symbol} ${key.period} ${key.adjust}` });
  }, [loaded, averages.join(), isLog, marks.length, rising, risingSetting(), isDark]);
  const { bars, compared = [] } = loaded ?? {};
  const absent = compared.filter((one) => one.bars.time.length === 0).map((one) => one.symbol);
  const isEmpty = bars !== undefined && bars.time.length === 0;
  const isMinutes = basePeriod(period) === "1m";
  const isOfOther = loaded !== undefined && loaded.key.symbol !== symbol;
  const says = adjustmentText(
    adjust,
    [symbol, ...compared.filter((one) => one.bars.time.length > 0).map((one) => one.symbol)],
    report?.adjusted,
  );
  const shownUntil = placeTime(state.at) ?? Number.POSITIVE_INFINITY;
  const lastShown = bars?.time.findLastIndex((time) => time <= shownUntil) ?? -1;
  const next = `${text(isMinutes ? "noMinutesHint" : "noDaysHint")} ${symbol}`;
  return (
    <>
      <div
        class={isOfOther ? "stage stale" : "stage"}
        aria-busy={isOfOther}
        data-shown={
          loaded === undefined ? "" : `${loaded.key.symbol} ${loaded.key.period} ${loaded.key.adjust}`
        }
      >
        <div
          class="drawing"
          ref={element}
          role="img"
          aria-label={[symbol, period, says].filter(Boolean).join(", ")}
        />
        {bars !== undefined && !isEmpty && !isOfOther && (
          <Legend
            bars={bars}
            at={point ?? Math.max(lastShown, 0)}
            averages={compared.length > 0 ? [] : averages}
            isMinutes={isMinutes}
          />
        )}
        {bars !== undefined && mark !== undefined && !isOfOther && (
          <EventTip days={daysAt(days, bars, mark)} x={chart.current?.leftOf(mark)} />
        )}
        {loaded === undefined && fault === undefined && <span class="busy quiet">{text("loading")} …</span>}
        {isBusy && <span class="busy quiet">{text("earlier")} …</span>}
        {isEmpty && <Missing why={text("noBarsOf")} next={next} />}
        {fault !== undefined && <FaultBox fault={fault} />}
      </div>
      {loaded?.isBefore && bars !== undefined && (
        <p class="truth" role="status">
          {text("beginsAt")} {placeText(bars.time[0] as number, isMinutes)}
        </p>
      )}
      {absent.length > 0 && (
        <p class="truth" role="status">
          {absent.join(", ")}: {text("noBarsOf")}
        </p>
      )}
      <p class="truth">
        {compared.length > 0 && `${text("comparedSays")} · `}
        {says !== undefined && `${says} · `}
        {text("priceUnit")}
        {isMinutes && report !== undefined && ` · ${report.zone}`}
        {lake !== undefined && ` · ${text("asOf")} ${instant(shownAt(lake))} UTC`}
      </p>
    </>
  );
}

function shownAt({
  asOf,
  tables,
}: {
  asOf: number | null;
  tables: readonly { committedAt: number | null }[];
}): number {
  return asOf ?? Math.max(0, ...tables.map(({ committedAt }) => committedAt ?? 0));
}

/** Shows the values of the bar under the pointer, or of the newest bar. */
function Legend({
  bars,
  at,
  averages,
  isMinutes,
}: {
  readonly bars: Bars;
  readonly at: number;
  readonly averages: readonly number[];
  readonly isMinutes: boolean;
}) {
  const { time, open, high, low, close, shares, amount, prevClose, isFinal } = bars;
  const last = close[at];
  if (last === undefined) return null;
  const digits = last < 10 ? 3 : 2;
  const shown = (value: number | undefined): string => (value ?? 0).toFixed(digits);
  const before = prevClose[at] ?? close[at - 1];
  const ratio = before === undefined || before === 0 ? null : last / before - 1;
  const iso = new Date((time[at] as number) * 1000).toISOString();
  const from = Math.max(0, at - 260);
  return (
    <div class="legend">
      <b>{isMinutes ? iso.slice(0, 16).replace("T", " ") : iso.slice(0, 10)}</b>{" "}
      <span>
        {text("openAt")} {shown(open[at])}
      </span>{" "}
      <span>
        {text("highAt")} {shown(high[at])}
      </span>{" "}
      <span>
        {text("lowAt")} {shown(low[at])}
      </span>{" "}
      <span>
        {text("closeAt")} <b>{shown(last)}</b>
      </span>{" "}
      <span class={(ratio ?? 0) > 0 ? "up" : (ratio ?? 0) < 0 ? "down" : ""}>{ratioText(ratio)}</span>{" "}
      <span>
        {text("volumeOf")} {compactNumber(shares[at] ?? 0)}
      </span>{" "}
      {(amount[at] ?? 0) > 0 && (
        <>
          <span>
            {text("amount")} {compactNumber(amount[at] as number)}
          </span>{" "}
        </>
      )}
      {averages.map((length, nth) => {
        const mean = movingAverage(close.subarray(from, at + 1), length).at(-1);
        if (mean === undefined || Number.isNaN(mean)) return null;
        return (
          <Fragment key={length}>
            <span style={`color:var(--line-${(nth % 4) + 1})`}>
              MA{length} {shown(mean)}
            </span>{" "}
          </Fragment>
        );
      })}
      {isFinal[at] === false && <b class="bad">{text("openBar")}</b>}
    </div>
  );
}

const secondsOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1000;

function marksOf(days: readonly EventDay[], report: InstrumentReport | undefined): Mark[] {
  return [
    ...days.map((one): Mark => ({ time: secondsOf(one.day), kind: "ex", text: lettersOf([one]) })),
    ...(report?.announced ?? []).map(({ day }): Mark => ({ time: secondsOf(day), kind: "statement" })),
  ];
}

/** The ex-dates that are marked at a bar: those after the bar before it. */
function daysAt(days: readonly EventDay[], { time }: Bars, at: number): EventDay[] {
  const before = time[at - 1] ?? Number.NEGATIVE_INFINITY;
  return days.filter(({ day }) => secondsOf(day) > before && secondsOf(day) <= (time[at] as number));
}
