import { useEffect, useRef, useState } from "preact/hooks";
import { groupBy } from "../../../core/group-by.js";
import type { CoverageReport, MissingReport, MonthReport } from "../../page-data.js";
import { addressOf } from "../address.js";
import { Command, FaultBox } from "../fault-box.js";
import { useJson } from "../fetch-data.js";
import { count, percent } from "../formats.js";
import { useStateAddress } from "../lake-state.js";
import { Link } from "../link.js";
import { Table } from "../table.js";
import { text } from "../texts.js";

function MissingList({ month, close }: { readonly month: MonthReport; readonly close: () => void }) {
  const { dataset, region, month: name } = month;
  const { value, fault } = useJson<MissingReport>(
    useStateAddress("missing", { dataset, region, month: name }),
  );
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [month]);
  return (
    <section
      class="missing"
      aria-labelledby="missing"
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <header>
        <h3 id="missing" tabIndex={-1} ref={heading}>
          {dataset} · {region} · {name}
        </h3>
        <button type="button" class="close" onClick={close} aria-label={text("close")}>
          ×
        </button>
      </header>
      {fault !== undefined && <FaultBox fault={fault} />}
      {value === undefined && fault === undefined && <p class="quiet">{text("loading")} …</p>}
      {value?.total === 0 && month.asked !== null && <p>{text("nothingMissing")}</p>}
      {month.asked === null && (
        <p>
          {text("notCompared")}{" "}
          <Link to={addressOf(rulePath(dataset), daysOf(month))}>{text("withoutBars")}</Link>
        </p>
      )}
      {value !== undefined && value.total > 0 && (
        <>
          <p>
            <b>{count(value.total)}</b> {text("missing")}. {text("repairs")}{" "}
            <Command command={value.command} />
          </p>
          <Table
            of="missing"
            head={(["symbol", "days", "from", "to", "why"] as const).map(text)}
            numbers={[1]}
          >
            <tbody>
              {value.symbols.map((one) => (
                <tr key={one.symbol}>
                  <th scope="row">
                    <Link to={addressOf(`/instrument/${encodeURIComponent(one.symbol)}`)}>{one.symbol}</Link>
                  </th>
                  <td class="n">{one.days}</td>
                  <td>{one.first}</td>
                  <td>{one.last}</td>
                  <td>{text(one.isOpen ? "open" : "gap")}</td>
                </tr>
              ))}
            </tbody>
          </Table>
        </>
      )}
    </section>
  );
}

/** The address of the rule that finds sessions without bars in a table, with or without requests. */
function rulePath(dataset: string): string {
  return `/quality/${dataset === "bars_1m" ? "missing_sessions" : "missing_days"}`;
}

function daysOf({ region, month }: MonthReport): Readonly<Record<string, string>> {
  const [year = 0, number = 0] = month.split("-").map(Number);
  const last = new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
  return { region, from: `${month}-01`, to: last };
}

const MONTHS = ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"];

/** Bars and coverage as a calendar for each table and region, with a line for each year and a field for each month. */
export function CoverageMap({ coverage: { months, note } }: { readonly coverage: CoverageReport }) {
  const [chosen, setChosen] = useState<MonthReport>();
  const groups = groupBy(months, ({ dataset, region }) => `${dataset} · ${region}`);
  const names = [...groups.keys()].sort();
  if (names.length === 0) return <p class="empty">{text("noMonths")}</p>;
  return (
    <>
      <p class="quiet">{note === null ? text("coverageNote") : text(note)}</p>
      <p class="key" aria-hidden="true">
        {note === null ? (
          <>
            <KeyEntry name="answered" says={text("answered")} />
            <KeyEntry name="no-data" says={text("noData")} />
            <KeyEntry name="open" says={text("open")} />
            <KeyEntry name="gap" says={text("gap")} />
          </>
        ) : (
          <KeyEntry name="answered" says={text("hasBars")} />
        )}
      </p>
      <div class="calendars">
        {names.map((name) => (
          <Calendar
            key={name}
            name={name}
            months={groups.get(name) ?? []}
            chosen={chosen}
            choose={setChosen}
          />
        ))}
      </div>
      {chosen !== undefined && <MissingList month={chosen} close={() => setChosen(undefined)} />}
    </>
  );
}

function Calendar({
  name,
  months,
  chosen,
  choose,
}: {
  readonly name: string;
  readonly months: readonly MonthReport[];
  readonly chosen: MonthReport | undefined;
  readonly choose: (month: MonthReport) => void;
}) {
  const byMonth = new Map(months.map((month) => [month.month, month]));
  // The newest years come first, because the nightly runs change them.
  const years = [...new Set(months.map(({ month }) => month.slice(0, 4)))].sort().reverse();
  const sum = (of: (asked: NonNullable<MonthReport["asked"]>) => number): number =>
    months.reduce((all, { asked }) => all + (asked === null ? 0 : of(asked)), 0);
  const expected = sum((asked) => asked.expected);
  const bars = months.reduce((all, month) => all + month.bars, 0);
  const most = Math.max(...months.map((month) => month.bars), 1);
  const first = months.findLast(({ month }) => month.startsWith(years[0] ?? ""))?.month;
  /** Tab reaches one field; the arrow keys move to the others. */
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -12, ArrowDown: 12 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const fields = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".month")];
    let at = fields.indexOf(document.activeElement as HTMLElement) + step;
    while (fields[at]?.tagName === "I") at += Math.sign(step);
    fields[at]?.focus();
  };
  return (
    <div class="calendar">
      <h3>
        {name}{" "}
        <small>
          {expected > 0
            ? percent(sum((asked) => asked.answered) / expected)
            : `${count(bars)} ${text("bars")}`}
        </small>
      </h3>
      <div class="years" role="group" aria-label={name} onKeyDown={move}>
        {years.map((year) => (
          <div class="year" key={year}>
            <span aria-hidden="true">{year}</span>
            {MONTHS.map((number) => {
              const month = byMonth.get(`${year}-${number}`);
              if (month === undefined) return <i key={number} class="month" />;
              return (
                <button
                  key={number}
                  type="button"
                  class={month === chosen ? "month chosen" : "month"}
                  style={`background:${fill(month, most)}`}
                  tabIndex={month.month === (chosen?.month ?? first) ? 0 : -1}
                  title={describe(month)}
                  aria-label={describe(month)}
                  onClick={() => choose(month)}
                />
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}

/** A part that is not zero gets at least this percentage of the height. */
const LEAST = 14;

/** Days of symbols that have a response without a bar: of minutes, which are counted by bar, all of a month or none. */
function withoutData({ dataset, asked, bars }: MonthReport): number {
  if (asked === null) return 0;
  if (dataset !== "bars_1d") return bars === 0 ? asked.answered : 0;
  return Math.max(0, asked.answered - bars);
}

/** The parts of a month as a gradient from bottom to top. */
function fill(month: MonthReport, most: number): string {
  const { asked, bars, sessions, withBars } = month;
  if (asked === null || asked.expected === 0) {
    if (bars === 0) return "var(--grid)";
    const share =
      sessions === null || withBars === null ? bars / most : withBars / Math.max(sessions, withBars);
    return `color-mix(in srgb, var(--answered) ${Math.round(30 + 70 * share)}%, var(--paper))`;
  }
  const { expected, open, gap } = asked;
  const part = (days: number): number => (days === 0 ? 0 : Math.max(LEAST, (days / expected) * 100));
  const top = 100 - Math.min(100, part(gap));
  const middle = Math.max(0, top - part(open));
  const data = Math.max(0, middle - (withoutData(month) / expected) * 100);
  return `linear-gradient(to top, var(--answered) ${data}%, var(--no-data) ${data}% ${middle}%, var(--open) ${middle}% ${top}%, var(--gap) ${top}%)`;
}

function describe(of: MonthReport): string {
  const { month, dataset, region, bars, asked, sessions, withBars } = of;
  const parts = [`${dataset} ${region} ${month}`, `${count(bars)} ${text("bars")}`];
  if (asked !== null) {
    const { expected, answered, open, gap } = asked;
    if (expected > 0) parts.push(`${text("answered")} ${percent(answered / expected)}`);
    const empty = withoutData(of);
    if (empty > 0) parts.push(`${text("noData")} ${count(empty)}`);
    if (open > 0) parts.push(`${text("open")} ${count(open)}`);
    if (gap > 0) parts.push(`${text("gap")} ${count(gap)}`);
  } else if (sessions !== null && withBars !== null) parts.push(`${withBars} / ${sessions} ${text("days")}`);
  return parts.join(", ");
}

function KeyEntry({ name, says }: { readonly name: string; readonly says: string }) {
  return (
    <span>
      <i class={name} /> {says}
    </span>
  );
}
