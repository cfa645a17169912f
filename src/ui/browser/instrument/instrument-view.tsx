import { useEffect, useMemo, useState } from "preact/hooks";
import { ADJUSTMENTS, PERIODS } from "../../../market/period.js";
import { isSymbol, regionOf } from "../../../market/symbol.js";
import type { InstrumentReport } from "../../page-data.js";
import { change, go } from "../address.js";
import { type Rising, risingClass, risingSetting, setRising } from "../colours.js";
import { FaultBox, Missing } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { useStateAddress } from "../lake-state.js";
import { Link } from "../link.js";
import { SearchBox, WrongName } from "../search-box.js";
import { useShortcuts } from "../shortcuts.js";
import { isChinese, text, translated } from "../texts.js";
import { useWatched } from "../watched.js";
import { BarsStage } from "./bars-stage.js";
import { eventDays } from "./event-days.js";
import { EventTable } from "./event-table.js";
import {
  AVERAGES,
  chooseAdjustment,
  chooseAverages,
  chooseCompared,
  choosePeriod,
  type InstrumentState,
  MOST_COMPARED,
  symbolInAddress,
  useInstrumentState,
} from "./instrument-state.js";
import { type ChartRange, RANGES } from "./price-chart.js";
import { StatementsTable } from "./statements-table.js";

/** The keys that choose the periods, in order. */
const PERIOD_KEYS = "1234567890-";

/** Controls of the chart. @param onRising called when the setting of the colours has changed */
export function InstrumentControls({
  state,
  onRising,
}: {
  readonly state: InstrumentState;
  readonly onRising: () => void;
}) {
  const { period, adjust, averages, isLog, hasMarks, compare } = state;
  useShortcuts((key) => {
    const chosen = PERIODS[PERIOD_KEYS.indexOf(key)];
    if (chosen !== undefined) choosePeriod(chosen);
    // The address is newer than what is drawn where the key is pressed twice.
    else if (key.toLowerCase() === "l")
      change({ log: new URLSearchParams(location.search).get("log") === "1" ? undefined : "1" });
    else return "left";
    return "taken";
  });
  return (
    <div class="controls">
      <div class="segments" role="group" aria-label={text("period")}>
        {PERIODS.map((one, at) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === period}
            title={`${one} (${PERIOD_KEYS[at]})`}
            onClick={() => choosePeriod(one)}
          >
            {one}
          </button>
        ))}
      </div>
      <div class="segments" role="group" aria-label={text("adjustment")}>
        {ADJUSTMENTS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === adjust}
            title={text(`${one}Says`)}
            onClick={() => chooseAdjustment(one)}
          >
            {text(one)}
          </button>
        ))}
      </div>
      <div class="segments" role="group" aria-label={text("averages")}>
        {AVERAGES.map((length) => {
          const isOn = averages.includes(length);
          return (
            <button
              key={length}
              type="button"
              aria-pressed={isOn}
              onClick={() =>
                chooseAverages(isOn ? averages.filter((n) => n !== length) : [...averages, length])
              }
            >
              {`MA${length}`}
            </button>
          );
        })}
      </div>
      <PlaceChoice range={state.range} at={state.at} />
      <label>
        <input
          type="checkbox"
          checked={isLog}
          disabled={compare.length > 0}
          onChange={(event) => change({ log: event.currentTarget.checked ? "1" : undefined })}
        />{" "}
        {text("log")}
      </label>
      <label>
        <input
          type="checkbox"
          checked={hasMarks}
          onChange={(event) => change({ marks: event.currentTarget.checked ? undefined : "0" })}
        />{" "}
        {text("marks")}
      </label>
      <Compared symbol={state.symbol} compare={compare} />
      <RisingChoice onRising={onRising} />
    </div>
  );
}

function Compared({ symbol: shown, compare }: Pick<InstrumentState, "symbol" | "compare">) {
  return (
    <div class="chips">
      {text("compare")}
      <SearchBox
        label={text("compare")}
        disabled={compare.length >= MOST_COMPARED}
        take={({ symbol }) => {
          if (![shown, ...compare].includes(symbol)) chooseCompared([...compare, symbol]);
        }}
      />
      {compare.map((symbol) => (
        <button
          key={symbol}
          type="button"
          aria-label={`${symbol}: ${text("close")}`}
          onClick={() => chooseCompared(compare.filter((one) => one !== symbol))}
        >
          {symbol} ×
        </button>
      ))}
    </div>
  );
}

/** How much of the time is in view: up to the newest bar, or up to a day. */
function PlaceChoice({ range, at }: Pick<InstrumentState, "range" | "at">) {
  return (
    <>
      <div class="segments" role="group" aria-label={text("range")}>
        {RANGES.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === range}
            onClick={() => change({ range: one, at: undefined })}
          >
            {isChinese ? CHINESE_RANGES[one] : one}
          </button>
        ))}
      </div>
      <label>
        {text("until")}
        <input
          type="date"
          value={at?.slice(0, 10) ?? ""}
          onChange={(event) => change({ at: event.currentTarget.value || undefined, range: undefined })}
        />
      </label>
    </>
  );
}

const CHINESE_RANGES: Readonly<Record<ChartRange, string>> = {
  "1M": "1月",
  "3M": "3月",
  YTD: "今年",
  "1Y": "1年",
  all: "全部",
};

const RISING: readonly (readonly [Rising, "risingAuto" | "risingRed" | "risingGreen"])[] = [
  ["auto", "risingAuto"],
  ["red", "risingRed"],
  ["green", "risingGreen"],
];

function RisingChoice({ onRising }: { readonly onRising: () => void }) {
  return (
    <label>
      {text("rising")}
      <select
        value={risingSetting()}
        onChange={(event) => {
          setRising(event.currentTarget.value as Rising);
          onRising();
        }}
      >
        {RISING.map(([value, name]) => (
          <option key={value} value={value}>
            {text(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** One instrument: its bars, the events that changed its prices, and its statements as they were known. */
export function InstrumentView() {
  const state = useInstrumentState();
  return state.symbol === "" ? <FirstInstrument /> : <Instrument state={state} />;
}

/** Shows the first instrument of the list if the address names none. */
function FirstInstrument() {
  const { value, fault } = useJson<{ found: { symbol: string }[] }>(useStateAddress("search", { q: "" }));
  const first = value?.found[0]?.symbol;
  const isLoading = fault === undefined && (value === undefined || first !== undefined);
  useShortcuts(() => (isLoading ? "later" : "left"));
  useEffect(() => {
    if (first === undefined) return;
    history.replaceState(null, "", `/instrument/${encodeURIComponent(first)}${location.search}`);
    dispatchEvent(new PopStateEvent("popstate"));
  }, [first]);
  if (fault !== undefined) return <FaultBox fault={fault} />;
  return value === undefined ? (
    <p class="quiet">{text("loading")} …</p>
  ) : (
    <Missing why={text("noBars")} next={text("noBarsHint")} />
  );
}

function Instrument({ state }: { readonly state: InstrumentState }) {
  const { symbol } = state;
  const compare = state.compare.length === 0 ? undefined : state.compare.join(",");
  const address = useStateAddress("instrument", { symbol, compare });
  const { value: report, fault } = useJson<InstrumentReport>(isSymbol(symbol) ? address : undefined);
  const [, setRound] = useState(0);
  const isOther = report !== undefined && report.symbol !== symbol;
  const own = isOther ? undefined : report;
  const days = useMemo(() => (own === undefined ? [] : eventDays(own)), [own]);
  useShortcuts((key) => {
    if (!/^Arrow(Left|Right)$/.test(key) || fault !== undefined) return "left";
    // The address is newer than what is drawn where the key is pressed twice.
    if (own?.symbol !== symbolInAddress()) return "later";
    const to = key === "ArrowLeft" ? own.previous : own.next;
    if (to !== null) go(instrumentAddress(to));
    return "taken";
  });
  document.title = `${symbol} ${own?.name ?? ""} · barlake`;
  if (!isSymbol(symbol)) return <WrongName why={`${symbol}: ${text("noSymbol")}`} begun={symbol} />;
  if (own?.isKnown === false)
    return (
      <WrongName why={`${symbol}: ${text("unknownSymbol")}`} begun={symbol.split(".")[0] ?? ""}>
        <Missing why="" next={`${text("noDaysHint")} ${symbol}`} />
      </WrongName>
    );
  return (
    <div class={risingClass(regionOf(symbol) ?? null)}>
      {fault !== undefined && <FaultBox fault={fault} />}
      <Title report={own} symbol={symbol} />
      <InstrumentControls state={state} onRising={() => setRound((n) => n + 1)} />
      <BarsStage state={state} report={own} days={days} />
      <div class="halves">
        <StatementsTable symbol={symbol} known={state.known} />
        <EventTable report={own} days={days} />
      </div>
      <p class="quiet">{text("keys")}</p>
    </div>
  );
}

function Title({
  report,
  symbol,
}: {
  readonly report: InstrumentReport | undefined;
  readonly symbol: string;
}) {
  const [watched, toggle] = useWatched();
  const isWatched = watched.includes(symbol);
  const type = report?.type == null ? undefined : translated(report.type);
  const facts = [report?.nameEn, type, report?.exchange, report?.region].filter((fact) => fact != null);
  return (
    <header class="title">
      <h1 title={report?.name ?? symbol}>
        {report?.name ?? symbol} {report?.name != null && <small>{symbol}</small>}
      </h1>
      <span class="quiet">
        {facts.join(" · ")}
        {(report?.names.length ?? 0) > 1 &&
          ` · ${report?.names.map((one) => (one.from === null ? one.symbol : `${text("nameSince")} ${one.from} ${one.symbol}`)).join(", ")}`}
        {report?.listedOn != null && (
          <>
            {` · ${text("listed")} `}
            <span class="day">{report.listedOn}</span>
          </>
        )}
      </span>
      <span class="steps">
        <button type="button" aria-pressed={isWatched} onClick={() => toggle(symbol)}>
          {isWatched ? "★" : "☆"} {text("watch")}
        </button>
        {report?.previous != null && (
          <Link to={instrumentAddress(report.previous)} title={report.previous} aria-label={text("previous")}>
            ←
          </Link>
        )}
        {report?.next != null && (
          <Link to={instrumentAddress(report.next)} title={report.next} aria-label={text("next")}>
            →
          </Link>
        )}
      </span>
    </header>
  );
}

/** The address of another instrument with the same settings. */
function instrumentAddress(symbol: string): string {
  const query = new URLSearchParams(location.search);
  query.delete("compare");
  const rest = query.toString();
  return `/instrument/${encodeURIComponent(symbol)}${rest === "" ? "" : `?${rest}`}`;
}
