import type { RunReport } from "../../jobs/run/run-pipeline.js";
import type { ReferenceChange } from "../../lake/land/reference-changes.js";
import type { RejectCount } from "../../lake/land/rejects.js";
import type { LandReport } from "../../lake/land/upsert.js";
import { inOptionWords } from "../errors/option-words.js";
import { count, duration, paint, plural, size, table } from "../text/text.js";
import { completenessLines } from "./completeness-text.js";
import { filesHead, filesLines } from "./files-text.js";
import { earlierBarsLines, newListLines } from "./known-lists-text.js";

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

function compactionLines(compaction: RunReport["compaction"]): string[] {
  if (compaction === undefined) return [];
  const done = compaction.tables.map(
    ({ table: name, filesBefore, filesAfter }) =>
      `compacted ${name}: ${plural(filesBefore, "file")} before, ${count(filesAfter)} now`,
  );
  const faults = compaction.faults.map(
    (fault) => `${paint("yellow", "not compacted, rows as before:")} ${fault}`,
  );
  return [...done, ...faults];
}

/** The end of a run: what was requested, received, landed, set aside and left open. */
export function runSummary(report: RunReport, lake: string): string {
  const { requests } = report;
  const colour = report.status === "complete" ? "green" : "red";
  const lines = [
    clockText(report.clockShiftMs) +
      aheadText(report.clockAheadMs) +
      `${paint("bold", report.pipeline)} ${paint(colour, report.status)} in ${duration(report.durationMs)}: ` +
      `${plural(requests.sent, "request")} (${requests.answered} answered, ${requests.empty} empty, ${requests.refused} refused, ${requests.failed} failed), ` +
      `${plural(report.rows, "row")}, ${size(report.bytes)}`,
  ];
  if (report.files !== undefined) lines[0] = clockText(report.clockShiftMs) + filesHead(report);
  else if (requests.sent === 0 && report.status === "complete")
    lines.push("nothing to ask for: the lake has it all");
  // A table that nothing was ever written to has no version, and nothing to say.
  const landed = report.landed.filter(({ version }) => version >= 0);
  if (landed.length > 0) lines.push(landedTable(landed), ...changesTable(landed));
  lines.push(...referenceTable(report.changes));
  lines.push(...newListLines(report.lists.filter(({ isNew }) => isNew)));
  if (report.rejected.length > 0) lines.push("", rejectedTable(report.rejected, lake));
  for (const one of report.completeness)
    lines.push(...completenessLines(one), ...earlierBarsLines(one.dataset, one.asked.start, report.lists));
  for (const { dataset, requested, returned, missing } of report.symbols) {
    if (returned === requested) continue;
    const more = requested - returned > missing.length ? " ..." : "";
    lines.push(
      `${dataset}: nothing came of ${plural(requested - returned, "symbol")} of ${count(requested)}: ${missing.join(" ")}${more}`,
    );
  }
  lines.push(...compactionLines(report.compaction));
  for (const { dataset, reason } of report.notOffered)
    lines.push(`${paint("yellow", "note:")} the service does not offer ${dataset} to this key: ${reason}`);
  if (report.files !== undefined) lines.push(...filesLines(report.files));
  else if (report.failures.length > 0) {
    const rows = report.failures.slice(0, SHOWN).map((f) => [f.request, f.symbols, f.reason]);
    // Not all of them are requests that failed: a list may lack rows, and some symbols cannot be requested at all.
    lines.push(
      "",
      paint("red", plural(report.failures.length, "problem")),
      table(["subject", "symbols", "reason"], rows),
    );
  }
  if (report.stopped !== undefined)
    lines.push(`${paint("red", "stopped:")} ${inOptionWords(report.stopped)}`);
  if (report.status !== "complete" && report.files === undefined)
    lines.push("the next run asks only for what is missing");
  return lines.join("\n");
}

/** Reports that the clock was changed during the run: times in its records may jump. */
function clockText(shiftMs: number | undefined): string {
  if (shiftMs === undefined) return "";
  const by = `${duration(Math.abs(shiftMs))} ${shiftMs < 0 ? "back" : "ahead"}`;
  return `${paint("yellow", "note:")} the machine's clock was set ${by} during the run\n`;
}
