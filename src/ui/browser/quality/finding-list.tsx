import { useEffect, useRef, useState } from "preact/hooks";
import { isRegion } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import type {
  CellValue,
  ColumnReport,
  EvidenceReport,
  FindingReport,
  FindingsReport,
} from "../../quality/quality-data.js";
import { addressOf, change, useAddress } from "../address.js";
import { risingColour, useIsDark } from "../colours.js";
import { Command, FaultBox, Loaded } from "../fault-box.js";
import { type Fault, faultOf, useJson } from "../fetch-data.js";
import { percent, change as ratioText } from "../formats.js";
import { type Bars, loadBars } from "../instrument/bars-source.js";
import { PriceChart } from "../instrument/price-chart.js";
import { useShownState, useStateAddress } from "../lake-state.js";
import { Link } from "../link.js";
import { Table } from "../table.js";
import { text, unitText } from "../texts.js";
import { Pager } from "./pager.js";
import { columnText, qualityText, whyNone } from "./quality-texts.js";

/** The heads of a first column, which only readers of screens are told of, and of the others, with their units. */
function headOf(
  first: "inQuestion" | "choose",
  columns: readonly ColumnReport[],
  rows: readonly { readonly values: readonly CellValue[] }[],
) {
  const isNumeric = (nth: number): boolean => rows.some(({ values }) => typeof values[nth] === "number");
  return {
    head: [
      <span class="hidden">{qualityText(first)}</span>,
      ...columns.map(({ name, unit }) => (
        <>
          {columnText(name)} {unit !== null && !IS_PERCENT.test(name) && <small>{unitText(unit)}</small>}
        </>
      )),
    ],
    numbers: columns.flatMap((_, nth) => (isNumeric(nth) ? [nth + 1] : [])),
  };
}

const ALL_DIGITS = 12;
/** Names of columns of ratios that are shown in percent. */
const IS_PERCENT = /_return$|^share$/;

/** As it is stored: a number with all digits, of ratios the significant ones, of returns percent; a text unchanged. */
function CellText({
  value,
  column: { name, unit } = { name: "", unit: null },
}: {
  readonly value: CellValue;
  readonly column?: ColumnReport | undefined;
}) {
  if (typeof value === "number" && IS_PERCENT.test(name))
    return (
      <td class="n" title={cellText(value, ALL_DIGITS)}>
        {name === "simple_return" ? ratioText(value) : percent(value)}
      </td>
    );
  if (typeof value !== "number") return <td class="value">{cellText(value, ALL_DIGITS)}</td>;
  const isComputed = unit?.endsWith("ratio") === true;
  return (
    <td class="n" title={isComputed ? cellText(value, ALL_DIGITS) : undefined}>
      {cellText(value, isComputed ? 4 : ALL_DIGITS)}
    </td>
  );
}

function cellText(value: CellValue, digits: number): string {
  if (value === null) return "·";
  if (typeof value === "boolean") return qualityText(value ? "yes" : "no");
  if (typeof value === "number") return value.toLocaleString("en-US", { maximumSignificantDigits: digits });
  return value;
}

const DAY_MS = 86_400_000;
/** Number of days after a finding that its chart shows, by period. */
const DAYS_AFTER = { "1d": 90, "5m": 4, "1m": 1 } as const;

/** The period of a finding's chart, and the day after the last day that it shows. */
function chartWindow({ evidence, last, first }: Pick<FindingReport, "evidence" | "first" | "last">): {
  readonly period: "1d" | "5m" | "1m";
  readonly to: string;
} {
  const period = evidence === "minutes" ? "1m" : evidence === "minute days" ? "5m" : "1d";
  const end = Date.parse(`${last ?? first}T00:00:00Z`) + DAYS_AFTER[period] * DAY_MS;
  return { period, to: new Date(end).toISOString().slice(0, 10) };
}

/** The chart of the instrument around a finding. The bars in question are marked. */
function FindingChart({
  subject,
  finding,
  evidence: { rows, columns },
}: {
  readonly subject: string;
  readonly finding: FindingReport;
  readonly evidence: EvidenceReport;
}) {
  const state = useShownState().report?.state;
  const [bars, setBars] = useState<Bars>();
  const [fault, setFault] = useState<Fault>();
  const element = useRef<HTMLDivElement>(null);
  const isDark = useIsDark();
  // If the finding is about all symbols of a region's day, the first symbol is drawn.
  const symbol = isRegion(subject)
    ? String(rows[0]?.values[columns.findIndex(({ name }) => name === "symbol")] ?? "")
    : subject;
  const { period, to } = chartWindow(finding);
  useEffect(() => {
    if (state === undefined || symbol === "") return;
    const stop = new AbortController();
    loadBars({ state, symbol, period, adjust: "none", to }, stop.signal).then(setBars, (error: unknown) => {
      if (!stop.signal.aborted) setFault(faultOf(error));
    });
    return () => stop.abort();
  }, [state, symbol, period, to]);
  useEffect(() => {
    if (bars === undefined || bars.time.length === 0) return;
    const chart = new PriceChart(
      element.current as HTMLElement,
      () => {},
      () => {},
    );
    const marks = rows
      .filter((row) => row.isInQuestion)
      .map(({ time }) => ({ time, kind: "question" as const }));
    chart.draw({
      bars,
      hasTimes: period !== "1d",
      rising: risingColour(regionOf(symbol) ?? null),
      averages: [],
      isLog: false,
      marks,
      compared: [],
      around: { first: marks[0]?.time ?? 0, last: marks.at(-1)?.time ?? 0 },
    });
    return () => chart.remove();
  }, [bars, isDark, rows]);
  return (
    <>
      {fault !== undefined && <FaultBox fault={fault} />}
      <div class="stage" data-shown={bars === undefined ? "" : `${symbol} ${period} none`}>
        <div
          class="drawing"
          ref={element}
          role="img"
          aria-label={`${symbol}, ${period}, ${finding.first} – ${finding.last}`}
        />
        {bars === undefined && fault === undefined && <span class="busy quiet">{text("loading")} …</span>}
      </div>
      <p class="truth">
        {symbol} · {period} · {qualityText("asLanded")}
      </p>
    </>
  );
}

function FindingBars({ finding, subject }: { readonly finding: FindingReport; readonly subject: string }) {
  const { evidence, first, last, at, repairs, explains } = finding;
  const address = useStateAddress("quality/evidence", {
    subject,
    evidence,
    first: first ?? undefined,
    last: last ?? undefined,
    at: at ?? undefined,
  });
  const isShown = evidence !== "none" && first !== null;
  const bars = useJson<EvidenceReport>(isShown ? address : undefined);
  return (
    <section class="finding" aria-label={`${subject} ${first ?? ""}`}>
      {isShown ? (
        <>
          <Loaded waiting={bars} height={420}>
            {(value) => (
              <>
                <FindingChart subject={subject} finding={finding} evidence={value} />
                <Values report={value} />
              </>
            )}
          </Loaded>
        </>
      ) : (
        <p class="empty">{qualityText(evidence === "none" ? "noEvidence" : "noDay")}</p>
      )}
      <p class="commands">
        {repairs !== null && (
          <>
            {qualityText("repairs")} <Command command={repairs} />{" "}
          </>
        )}
        {qualityText("explains")} <Command command={explains} />
      </p>
    </section>
  );
}

function Values({ report: { columns, rows, hasMore } }: { readonly report: EvidenceReport }) {
  return (
    <>
      <h2 id="values">{qualityText("values")}</h2>
      {hasMore && <p class="quiet">{qualityText("hasMore")}</p>}
      <Table of="values" kind="values" {...headOf("inQuestion", columns, rows)}>
        <tbody>
          {rows.map(({ values, isInQuestion }, at) => {
            const isEmpty = values.slice(1).every((value) => value === null || value === 0);
            return (
              <tr key={at} class={isInQuestion ? "question" : ""}>
                <td>
                  {isInQuestion && (
                    <>
                      <span aria-hidden="true">▶</span>
                      <span class="hidden">{qualityText("inQuestion")}</span>
                    </>
                  )}
                </td>
                {isEmpty ? (
                  <>
                    <CellText value={values[0] ?? null} />
                    <td colSpan={columns.length - 1} class="quiet">
                      {qualityText("noBar")}
                    </td>
                  </>
                ) : (
                  values.map((value, nth) => <CellText key={nth} value={value} />)
                )}
              </tr>
            );
          })}
        </tbody>
      </Table>
    </>
  );
}

export function InstrumentLink({ symbol }: { readonly symbol: string }) {
  return (
    <Link to={addressOf(`/instrument/${encodeURIComponent(symbol)}`)}>{qualityText("toInstrument")}</Link>
  );
}

export function FindingList({ rule, subject }: { readonly rule: string; readonly subject: string }) {
  const { query } = useAddress();
  const [from, to, page] = ["from", "to", "page"].map((name) => query.get(name));
  const { value, fault } = useJson<FindingsReport>(
    useStateAddress("quality/findings", { rule, subject, from, to, page }),
  );
  const wanted = query.get("finding");
  const rows = value?.rows ?? [];
  const chosen = rows.find((row) => keyOf(row) === wanted) ?? rows[0];
  return (
    <>
      {fault !== undefined && <FaultBox fault={fault} />}
      {value === undefined && fault === undefined && (
        <div class="hollow" style="height:420px" aria-busy="true" />
      )}
      {value?.total === 0 && <p class="empty">{whyNone(value)}</p>}
      {value !== undefined && chosen !== undefined && (
        <>
          <FindingBars key={keyOf(chosen)} finding={chosen} subject={subject} />
          <h2 id="findings">{qualityText("findingsTitle")}</h2>
          <p class="quiet">{qualityText("choose")}</p>
          <Table of="findings" kind="whole findings" {...headOf("choose", value.columns, rows)}>
            <tbody>
              {rows.map((row, at) => (
                <tr key={`${keyOf(row)} ${at}`} class={row === chosen ? "chosen" : ""}>
                  <td>
                    <button
                      type="button"
                      aria-pressed={row === chosen}
                      onClick={() => change({ finding: keyOf(row) })}
                    >
                      {row.first ?? "·"}
                    </button>
                  </td>
                  {row.values.map((cell, nth) => (
                    <CellText key={nth} value={cell} column={value.columns[nth]} />
                  ))}
                </tr>
              ))}
            </tbody>
          </Table>
          <Pager list={value} />
        </>
      )}
    </>
  );
}

function keyOf({ dataset, first, last, at }: FindingReport): string {
  return [dataset, first, last, at].map((part) => part ?? "").join("_");
}
