import { groupBy } from "../../core/group-by.js";
import { firstNames } from "../../core/text-order.js";
import type { TimeRange } from "../../core/time.js";
import type { FilesPlan, FilesReport } from "../../jobs/files/plan-files.js";
import type { KnownList } from "../../jobs/ledger/known-lists.js";
import type { SessionReason, TableCompleteness } from "../../jobs/run/report/completeness.js";
import type { RunReport } from "../../jobs/run/run-pipeline.js";
import type { ReferenceChange } from "../../lake/land/land-versions.js";
import type { RejectCount } from "../../lake/land/rejects.js";
import type { LandReport } from "../../lake/land/upsert.js";
import { REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { localDate } from "../../market/zone.js";
import { REASON_RULES } from "../../plan/absence/absence.js";
import { inOptionWords } from "../error-text.js";
import { count, duration, paint, plural, size, table } from "../text.js";

function saidOf(reason: SessionReason): string {
  return reason === "no_bar" ? "after the first bar, taken for suspended" : REASON_RULES[reason].says;
}

/** The requested and absent parts of a table; nothing if nothing was requested. */
export function askedLines({ dataset, asked, received, absent }: TableCompleteness): string[] {
  if (asked.sessions === 0) return [];
  const quiet = absent.map(({ reason, sessions }) => `${count(sessions)} ${saidOf(reason)}`);
  return [
    `${dataset}: asked for ${plural(asked.sessions, "session")} of ${plural(asked.symbols, "symbol")}, received ${plural(received.bars, "bar")}` +
      (quiet.length > 0 ? `; sessions without a bar: ${quiet.join(", ")}` : ""),
  ];
}

export function openLines(of: TableCompleteness): string[] {
  const { dataset, unexplained, setAside, withdrawn } = of;
  const lines: string[] = [];
  if (unexplained.length > 0) {
    const windows = unexplained.map(
      ({ symbol, start, end }) => `${symbol} ${datesOf(symbol, { start, end })}`,
    );
    lines.push(
      `${paint("red", `${dataset}: ${plural(unexplained.length, "window")} without any bar, and nothing says why:`)} ${firstNames(windows)}`,
      "they are requested again by later runs, and at once with --repair",
    );
  }
  if (setAside.length > 0) {
    const parts = setAside.map(({ symbol, window, bars }) => {
      const number = bars === undefined ? "bars" : plural(bars, "bar");
      return `${symbol} ${window === undefined ? "" : `${datesOf(symbol, window)} `}(${number})`;
    });
    lines.push(`${paint("red", `${dataset}: set aside, and not in the lake:`)} ${firstNames(parts)}`);
  }
  if (withdrawn.length > 0) {
    const parts = withdrawn.map(
      ({ symbol, window, bars }) => `${symbol} ${datesOf(symbol, window)} (${plural(bars, "bar")})`,
    );
    lines.push(
      `${paint("yellow", `${dataset}: the service no longer has:`)} ${firstNames(parts)}`,
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

/** Most files that are named of each kind; refused ones are all named. */
const SHOWN_FILES = 10;

/** The first line about a run of files. */
function filesHead({ pipeline, status, durationMs, requests, rows, bytes }: RunReport): string {
  const colour = status === "complete" ? "green" : "red";
  return (
    `${paint("bold", pipeline)} ${paint(colour, status)} in ${duration(durationMs)}: ` +
    `${plural(requests.sent, "file")} read (${count(requests.answered)} landed, ${count(requests.refused)} refused), ` +
    `${plural(rows, "row")}, ${size(bytes)}`
  );
}

function filesLines(files: FilesReport): string[] {
  const { listed, unchanged, copies, refused, leftToNextRun, remarks } = files;
  const lines = [`${plural(listed, "file")} in ${files.from}, ${count(unchanged)} unchanged`];
  if (copies.length > 0) {
    const [first] = copies;
    lines.push(
      `${plural(copies.length, "file")} with the content of another one that has landed: ${first?.file} is a copy of ${first?.of}${copies.length > 1 ? ", ..." : ""}`,
    );
  }
  if (leftToNextRun.length > 0)
    lines.push(
      `${paint("yellow", `changed while ${leftToNextRun.length === 1 ? "it was" : "they were"} read, and left to the next run:`)} ${firstNames(leftToNextRun, SHOWN_FILES)}`,
    );
  for (const { remark, files: n, example } of remarks.slice(0, SHOWN_FILES))
    lines.push(`${example}${n > 1 ? ` and ${plural(n - 1, "more file")}` : ""}: ${remark}`);
  if (refused.length > 0)
    lines.push(
      "",
      `${paint("red", `${plural(refused.length, "file")} refused`)}: nothing of ${refused.length === 1 ? "it" : "them"} has landed; each run reads and names ${refused.length === 1 ? "it" : "them"} until it is changed or gone`,
      table(
        ["file", "why"],
        refused.map(({ file, reason }) => [file, inOptionWords(reason)]),
      ),
    );
  return lines;
}

export function filesPlanText(name: string, { files, unchanged }: FilesPlan): string {
  const lines = [
    `${paint("bold", name)}: ${plural(files.length, "file")} to read, ${count(unchanged)} unchanged; nothing was read into the lake`,
  ];
  if (files.length === 0) lines.push("the lake has them all");
  else
    lines.push(
      table(
        ["file", "size", "is", "why it was refused"],
        files.map((one) => [
          one.file,
          size(one.size),
          one.state === "refused" ? "refused before" : one.state,
          one.reason === undefined ? undefined : inOptionWords(one.reason),
        ]),
      ),
    );
  return lines.join("\n");
}

/** Maximum number of lists that are named of those that are known since one day. */
const NAMED_LISTS = 5;

const ADVICE =
  "what left a list before that day is not in the lake; request such symbols by name, with --symbols";

/** The line of a run about lists whose first snapshot it took: since when they are known. Empty if there are none. */
function newListLines(lists: readonly KnownList[]): string[] {
  if (lists.length === 0) return [];
  const lines = grouped(lists, ({ dataset, since }) => `${dataset} ${since}`).map(
    ({ dataset, since, lists: names }) =>
      `${dataset === "instruments" ? "instruments" : "members"} of ${namedLists(names)} known since ${since}`,
  );
  return [...lines.map((line) => `${paint("yellow", "note:")} ${line}`), ADVICE];
}

/**
 * The line of a run about bars of a time before the lake knew the lists of their symbols:
 * symbols that had left the lists by then were not asked for. Nothing if there are none.
 *
 * @param start of the earliest requested window, epoch milliseconds.
 */
function earlierBarsLines(dataset: string, start: number | undefined, lists: readonly KnownList[]): string[] {
  const later = lists.filter(({ firstSeenAt }) => start !== undefined && start < firstSeenAt);
  if (later.length === 0) return [];
  const known = grouped(later, (one) => `${one.dataset} ${one.since}`).map(
    ({ dataset: listed, since, lists: names }) =>
      `${listed === "instruments" ? "instruments" : "members"} of ${namedLists(names)} since ${since}`,
  );
  return [
    `${paint("yellow", "note:")} ${dataset}: the symbols are the ${known.join(", ")}; what left these lists before was not asked for; request such symbols by name, with --symbols`,
  ];
}

/** Since when the lake knows the lists, as a table. Nothing if there are none. */
export function knownListLines(lists: readonly KnownList[]): string[] {
  if (lists.length === 0) return [];
  const groups = grouped(lists, ({ dataset, region, since }) => `${dataset} ${region} ${since}`);
  const rows = groups.map(({ dataset, region, since, lists: names }) => [
    dataset,
    region,
    since,
    count(names.length),
    namedLists(names),
  ]);
  return ["", table(["lists of symbols", "region", "known since", "number", "lists"], rows), ADVICE];
}

/** The lists with the same key: the facts of the first one, and the names of all. */
function grouped(lists: readonly KnownList[], keyOf: (list: KnownList) => string) {
  return [...groupBy(lists, keyOf).values()].map((own) => ({
    ...(own[0] as KnownList),
    lists: own.map(({ list }) => list),
  }));
}

function namedLists(names: readonly string[]): string {
  const more = names.length > NAMED_LISTS ? ` and ${plural(names.length - NAMED_LISTS, "other")}` : "";
  return `${names.slice(0, NAMED_LISTS).join(", ")}${more}`;
}

/** Maximum number of rejects and failures that are listed. */
const SHOWN = 10;

/** What landed, one line per table. */
export function landedTable(landed: readonly LandReport[]): string {
  return table(
    ["table", "inserted", "updated", "unchanged", "files", "version"],
    landed.map((r) => [
      r.table,
      count(r.inserted),
      count(r.updated),
      count(r.unchanged),
      count(r.filesAdded),
      r.version < 0 ? "" : r.version,
    ]),
  );
}

/** Some of the updated rows, with their old and new values; empty if there are none. */
export function changesTable(landed: readonly LandReport[]): string[] {
  const rows = landed.flatMap((report) =>
    report.sample.flatMap(({ key, changed }) =>
      Object.entries(changed).map(([column, { from, to }]) => [
        report.table,
        Object.values(key).join(" "),
        column,
        from ?? "null",
        to ?? "null",
      ]),
    ),
  );
  if (rows.length === 0) return [];
  return ["", "updated, for example", table(["table", "row", "column", "was", "is"], rows.slice(0, SHOWN))];
}

/** Changes in reference data and statements; empty if there are none. */
export function referenceTable(changes: readonly ReferenceChange[]): string[] {
  if (changes.length === 0) return [];
  const rows = changes.map(({ dataset, change, subjects, examples }) => [
    dataset,
    change,
    count(subjects),
    `${examples.join(", ")}${subjects > examples.length ? " ..." : ""}`,
  ]);
  return [
    "",
    "changed since the snapshots before",
    table(["table", "change", "subjects", "for example"], rows),
  ];
}

/** What was set aside, and where it is stored. @param lake undefined: it was not stored. */
export function rejectedTable(rejected: readonly RejectCount[], lake?: string): string {
  const total = rejected.reduce((sum, r) => sum + r.rows, 0);
  const rows = rejected
    .slice(0, SHOWN)
    .map((r) => [count(r.rows), r.rule, r.source, r.line ?? "", inOptionWords(r.reason)]);
  // A response without a readable row has no number of rows: its error is printed below.
  const what = total > 0 ? `${plural(total, "row")} set aside` : "responses were not as they should be";
  return [
    `${paint("yellow", what)}${lake === undefined ? "" : ` (all of them: barlake sql "from rejects" --lake ${lake})`}`,
    table(["rows", "rule", "source", "first line", "for example"], rows),
    ...(rejected.length > SHOWN ? [`and ${plural(rejected.length - SHOWN, "more kind")}`] : []),
  ].join("\n");
}

function aheadText(aheadMs: number | undefined): string {
  if (aheadMs === undefined) return "";
  return `${paint("yellow", "warning:")} this machine's clock is ${duration(aheadMs)} ahead of the service's: what is newer than the service's time is left to later runs; set the clock that is wrong\n`;
}

function compactedLines(compaction: RunReport["compaction"]): string[] {
  return (compaction?.tables ?? []).map(
    ({ table: name, filesBefore, filesAfter }) =>
      `compacted ${name}: ${plural(filesBefore, "file")} before, ${count(filesAfter)} now`,
  );
}

function landedText(landed: readonly LandReport[]): string {
  const parts = landed.flatMap(({ table: name, inserted, updated }) => {
    const changed = updated > 0 ? `${count(updated)} changed` : "";
    if (inserted + updated === 0) return [];
    return [`${name} ${[inserted > 0 ? `${count(inserted)} new` : "", changed].filter(Boolean).join(", ")}`];
  });
  return parts.length === 0 ? "no new row" : `landed ${parts.join("; ")}`;
}

/** The first line about a run: how it ended, what it requested and what landed. */
function headText(report: RunReport): string {
  const { requests } = report;
  const colour = report.status === "complete" ? "green" : "red";
  const bad = (["refused", "failed"] as const).flatMap((what) =>
    requests[what] > 0 ? [`${count(requests[what])} ${what}`] : [],
  );
  return (
    `${paint("bold", report.pipeline)} ${paint(colour, report.status)} in ${duration(report.durationMs)}: ` +
    `${plural(requests.sent, "request")}${bad.length > 0 ? ` (${bad.join(", ")})` : ""}; ${landedText(report.landed)}`
  );
}

/** Failures with the same reason in one row: how many they are, and the first of them. */
function failuresTable(failures: RunReport["failures"]): string {
  const groups = [...groupBy(failures, ({ reason }) => reason)];
  const rows = groups.slice(0, SHOWN).map(([reason, own]) => {
    const more = own.length > 1 ? ` and ${count(own.length - 1)} more` : "";
    return [`${own[0]?.request}${more}`, own.reduce((sum, one) => sum + one.symbols, 0), reason];
  });
  const left = groups.length > SHOWN ? `\nand ${plural(groups.length - SHOWN, "more reason")}` : "";
  return table(["subject", "symbols", "reason"], rows) + left;
}

/** What of a run is open, and where all of it is said. */
function openText({ runId, status, files }: RunReport, lake: string): string {
  const open =
    status === "complete"
      ? "nothing is open"
      : files === undefined
        ? "the next run asks only for what is missing"
        : "the next run reads what is open again";
  return `${open}; everything about this run: barlake runs show ${runId} --lake ${lake}`;
}

/**
 * The end of a run: what landed, what needs an action, what is open, and where to read more.
 *
 * @param isVerbose whether it also says what was requested and received, which rows landed and changed, and since when new lists
 *   are known.
 */
export function runSummary(report: RunReport, lake: string, isVerbose = false): string {
  const { requests, landed, completeness, compaction } = report;
  const lines = [
    clockText(report.clockShiftMs) +
      aheadText(report.clockAheadMs) +
      (report.files === undefined ? headText(report) : `${filesHead(report)}; ${landedText(landed)}`),
  ];
  if (report.files === undefined && requests.sent === 0 && report.status === "complete")
    lines.push("nothing to ask for: the lake has it all");
  if (isVerbose) lines.push(...detailLines(report));
  if (report.rejected.length > 0) lines.push("", rejectedTable(report.rejected, lake));
  lines.push(...completeness.flatMap(openLines));
  for (const { dataset, requested, returned, missing } of report.symbols) {
    if (returned === requested) continue;
    const more = requested - returned > missing.length ? " ..." : "";
    lines.push(
      `${dataset}: nothing came of ${plural(requested - returned, "symbol")} of ${count(requested)}: ${missing.join(" ")}${more}`,
    );
  }
  for (const fault of compaction?.faults ?? [])
    lines.push(`${paint("yellow", "not compacted, rows as before:")} ${fault}`);
  for (const { dataset, reason } of report.notOffered)
    lines.push(`${paint("yellow", "note:")} the service does not offer ${dataset} to this key: ${reason}`);
  const failures = report.failures.filter(({ reason }) => reason !== report.stopped);
  if (report.files !== undefined) lines.push(...filesLines(report.files));
  // Not all of them are requests that failed: a list may lack rows, and some symbols cannot be requested at all.
  else if (failures.length > 0)
    lines.push("", paint("red", plural(failures.length, "problem")), failuresTable(failures));
  if (report.stopped !== undefined)
    lines.push(`${paint("red", "stopped:")} ${inOptionWords(report.stopped)}`);
  lines.push(openText(report, lake));
  return lines.join("\n");
}

function detailLines(report: RunReport): string[] {
  const { answered, empty, refused, failed } = report.requests;
  // A table that nothing was ever written to has no version, and nothing to say.
  const landed = report.landed.filter(({ version }) => version >= 0);
  return [
    ...(report.files === undefined
      ? [
          `${count(answered)} answered, ${count(empty)} empty, ${count(refused)} refused, ${count(failed)} failed; ${plural(report.rows, "row")}, ${size(report.bytes)} received`,
        ]
      : []),
    ...(landed.length > 0 ? [landedTable(landed), ...changesTable(landed)] : []),
    ...referenceTable(report.changes),
    ...newListLines(report.lists.filter(({ isNew }) => isNew)),
    ...report.completeness.flatMap((one) => [
      ...askedLines(one),
      ...earlierBarsLines(one.dataset, one.asked.start, report.lists),
    ]),
    ...compactedLines(report.compaction),
  ];
}

/** Reports that the clock was changed during the run: times in its records may jump. */
function clockText(shiftMs: number | undefined): string {
  if (shiftMs === undefined) return "";
  const by = `${duration(Math.abs(shiftMs))} ${shiftMs < 0 ? "back" : "ahead"}`;
  return `${paint("yellow", "note:")} the machine's clock was set ${by} during the run\n`;
}
