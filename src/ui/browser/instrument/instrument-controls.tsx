import { useState } from "preact/hooks";
import { ADJUSTMENTS, PERIODS } from "../../../market/period.js";
import { change } from "../address/address.js";
import { type Rising, risingSetting, setRising } from "../rising.js";
import { useShortcuts } from "../shortcuts.js";
import { text } from "../texts.js";
import {
  AVERAGES,
  chooseAdjustment,
  chooseAverages,
  chooseCompared,
  choosePeriod,
  type InstrumentState,
  MOST_COMPARED,
} from "./instrument-state.js";

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
  const [typed, setTyped] = useState("");
  const isFull = compare.length >= MOST_COMPARED;
  return (
    <form
      class="chips"
      onSubmit={(event) => {
        event.preventDefault();
        const symbol = typed.trim().toUpperCase();
        if (!["", shown, ...compare].includes(symbol) && !isFull) chooseCompared([...compare, symbol]);
        setTyped("");
      }}
    >
      <label>
        {text("compare")}
        <input
          type="text"
          size={10}
          value={typed}
          disabled={isFull}
          placeholder={text("compareHint").split(" ").at(-1) ?? ""}
          title={text("compareHint")}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
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
    </form>
  );
}

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
