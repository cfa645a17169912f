import { useEffect, useRef, useState } from "preact/hooks";
import { change, useAddress } from "../address/address.js";
import { askJson } from "../fetch-data.js";
import { instant } from "../formats.js";
import { useShownState } from "../lake-state.js";
import { text } from "../texts.js";

/** Shows which version the workspace shows, with a slider to earlier versions. */
export function AsOf() {
  const { report } = useShownState();
  const asOf = useAddress().query.get("asof");
  const [isOpen, setOpen] = useState(false);
  const [times, setTimes] = useState<readonly number[]>([]);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    askJson<{ times: number[] }>("/api/commits").then(
      (found) => setTimes(found.times),
      () => setTimes([]),
    );
    const closeOutside = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", closeOutside);
    return () => removeEventListener("pointerdown", closeOutside);
  }, [isOpen]);
  const committed = Math.max(...(report?.tables ?? []).map(({ committedAt }) => committedAt ?? 0), 0);
  const shownAt = report?.asOf ?? committed;
  const at =
    asOf === undefined ? times.length - 1 : times.findLastIndex((time) => time <= (report?.asOf ?? 0));
  const choose = (index: number): void => {
    const time = times[index];
    const isNewest = index >= times.length - 1 || time === undefined;
    change({ asof: isNewest ? undefined : new Date(time).toISOString() }, false);
  };
  return (
    <div
      class="asof"
      ref={root}
      onKeyDown={(event) => {
        if (event.key === "Escape") setOpen(false);
      }}
    >
      <button
        type="button"
        class={asOf === undefined ? "chip" : "chip past"}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="quiet">{asOf === undefined ? text("newest") : text("asOf")}</span>{" "}
        {shownAt > 0 ? <time>{instant(shownAt)}</time> : "…"}
      </button>
      {isOpen && (
        <div class="panel" role="group" aria-label={text("asOfTitle")}>
          <strong>{text("asOfTitle")}</strong>
          {times.length < 2 ? (
            <p class="quiet">{text("noEarlier")}</p>
          ) : (
            <>
              <input
                type="range"
                min={0}
                max={times.length - 1}
                value={at}
                aria-label={text("asOfTitle")}
                aria-valuetext={times[at] === undefined ? "" : `${instant(times[at])} UTC`}
                onInput={(event) => choose(Number(event.currentTarget.value))}
              />
              <p class="quiet">{asOf === undefined ? text("asOfNow") : `${instant(shownAt)} UTC`}</p>
              <button type="button" disabled={asOf === undefined} onClick={() => choose(times.length)}>
                {text("backToNewest")}
              </button>
            </>
          )}
        </div>
      )}
    </div>
  );
}
