import type { TimeRange } from "../../core/time.js";
import type { TableCompleteness } from "../../jobs/run/report/completeness.js";
import { REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { localDate } from "../../market/zone.js";
import { count, paint, plural } from "../text/text.js";

/** Maximum number of symbols that are named. */
const NAMED = 5;

/** The text for each reason. */
const SAYS: Readonly<Record<string, string>> = {
  others_came: "not in a response that had the others",
  not_yet: "before the first bar",
  begins_late: "listed, and before the first bar",
  no_bar: "after the first bar, taken for suspended",
  no_session: "no bar of any symbol, taken for a holiday",
  no_minutes: "no minutes at the service",
  suspended: "taken for suspended",
  no_bars: "of symbols without any bar, as on days before",
  ended: "no longer listed",
  as_before: "absent as before",
};

/** The requested, absent, unexplained and set-aside parts of a table; nothing if nothing was requested. */
export function completenessLines(table: TableCompleteness): string[] {
  const { dataset, asked, received, absent, unexplained, setAside, withdrawn } = table;
  const lines: string[] = [];
  if (asked.sessions > 0) {
    const quiet = absent.map(({ reason, sessions }) => `${count(sessions)} ${SAYS[reason] ?? reason}`);
    lines.push(
      `${dataset}: asked for ${plural(asked.sessions, "session")} of ${plural(asked.symbols, "symbol")}, received ${plural(received.bars, "bar")}` +
        (quiet.length > 0 ? `; sessions without a bar: ${quiet.join(", ")}` : ""),
    );
  }
  if (unexplained.length > 0) {
    const windows = unexplained.map(
      ({ symbol, start, end }) => `${symbol} ${datesOf(symbol, { start, end })}`,
    );
    lines.push(
      `${paint("red", `${dataset}: ${plural(unexplained.length, "window")} without any bar, and nothing says why:`)} ${some(windows)}`,
      "they are requested again by later runs, and at once with --repair",
    );
  }
  if (setAside.length > 0) {
    const parts = setAside.map(({ symbol, window, bars }) => {
      const number = bars === undefined ? "bars" : plural(bars, "bar");
      return `${symbol} ${window === undefined ? "" : `${datesOf(symbol, window)} `}(${number})`;
    });
    lines.push(`${paint("red", `${dataset}: set aside, and not in the lake:`)} ${some(parts)}`);
  }
  if (withdrawn.length > 0) {
    const parts = withdrawn.map(
      ({ symbol, window, bars }) => `${symbol} ${datesOf(symbol, window)} (${plural(bars, "bar")})`,
    );
    lines.push(
      `${paint("yellow", `${dataset}: the service no longer has:`)} ${some(parts)}`,
      `to see them, or to accept that: barlake withdrawn ${dataset} --symbols ... --from ...`,
    );
  }
  return lines;
}

/** The days of a window, by the calendar of the symbol's exchange. */
function datesOf(symbol: string, { start, end }: TimeRange): string {
  const { zone } = REGIONS[regionOf(symbol) ?? "CN"];
  const [first, last] = [localDate(start, zone), localDate(end - 1, zone)];
  return first === last ? first : `${first} to ${last}`;
}

function some(parts: readonly string[]): string {
  const more = parts.length > NAMED ? ` and ${count(parts.length - NAMED)} more` : "";
  return `${parts.slice(0, NAMED).join(", ")}${more}`;
}
