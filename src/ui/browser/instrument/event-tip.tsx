import { change } from "../formats.js";
import { text } from "../texts.js";
import { type EventDay, factorText } from "./event-days.js";
import { EventLines } from "./event-table.js";

/** Most ex-dates of one bar that are shown: a bar of a year may have dozens. */
const MOST_DAYS = 6;

/** What is known of the ex-dates of a bar, beside the bar. @param x pixels from the left of the stage */
export function EventTip({
  days,
  x,
}: {
  readonly days: readonly EventDay[];
  readonly x: number | undefined;
}) {
  if (days.length === 0 || x === undefined) return null;
  const more = days.length - MOST_DAYS;
  return (
    <div class="tip" role="tooltip" style={`--x:${Math.round(x)}px`}>
      {days.slice(-MOST_DAYS).map((one) => (
        <div key={one.day}>
          <b>{one.day}</b>
          {one.event !== undefined && (
            <span class="factor">
              {` ${text("factor")} ${factorText(one.event.factor)} · ${change(1 / one.event.factor - 1)}`}
            </span>
          )}
          <EventLines of={one} />
        </div>
      ))}
      {more > 0 && <small>{`+ ${more} ${text("more")}`}</small>}
    </div>
  );
}
