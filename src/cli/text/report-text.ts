import type { RunReport } from "../../jobs/run/run-pipeline.js";
import type { ReferenceChange } from "../../lake/land/reference-changes.js";
import type { RejectCount } from "../../lake/land/rejects.js";
import type { LandReport } from "../../lake/land/upsert.js";
import { completenessLines } from "./completeness-text.js";
import { count, duration, paint, plural, size, table } from "./text.js";

/** Rejects and failures that are printed one by one. */
const SHOWN = 10;

/** What landed, a line a table. */
export function landedTable(landed: readonly LandReport[]): string {
  return table(
    ["table", "inserted", "updated", "unchanged", "files", "version"],
    landed.map((r) => [
      r.table,
      count(r.inserted),
      count(r.updated),
      count(r.unchanged),
      count(r.filesAdded),
      r.version,
    ]),
  );
}

/** Some of the rows that were updated, with what they were and what they are; nothing where there are none. */
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

/** What changed in reference data and statements; nothing where nothing did. */
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

/** What was set aside, and where it is kept. */
export function rejectedTable(rejected: readonly RejectCount[], lake: string): string {
  const total = rejected.reduce((sum, r) => sum + r.rows, 0);
  const rows = rejected.slice(0, SHOWN).map((r) => [count(r.rows), r.rule, r.source, r.line ?? "", r.reason]);
  // A response without one readable row has no number of rows: what was wrong with it is said below.
  const what = total > 0 ? `${plural(total, "row")} set aside` : "responses were not as they should be";
  return [
    `${paint("yellow", what)} (all of them: barlake sql "from rejects" --lake ${lake})`,
    table(["rows", "rule", "source", "first line", "for example"], rows),
    ...(rejected.length > SHOWN ? [`and ${plural(rejected.length - SHOWN, "more kind")}`] : []),
  ].join("\n");
}

/** The end of a run: what it asked, got, landed, set aside and left. */
export function runSummary(report: RunReport, lake: string): string {
  const { requests } = report;
  const colour = report.status === "complete" ? "green" : "red";
  const lines = [
    clockText(report.clockShiftMs) +
      `${paint("bold", report.pipeline)} ${paint(colour, report.status)} in ${duration(report.durationMs)}: ` +
      `${plural(requests.sent, "request")} (${requests.answered} answered, ${requests.empty} empty, ${requests.refused} refused, ${requests.failed} failed), ` +
      `${plural(report.rows, "row")}, ${size(report.bytes)}`,
  ];
  if (requests.sent === 0 && report.status === "complete")
    lines.push("nothing to ask for: the lake has it all");
  if (report.landed.length > 0) lines.push(landedTable(report.landed), ...changesTable(report.landed));
  lines.push(...referenceTable(report.changes));
  if (report.rejected.length > 0) lines.push("", rejectedTable(report.rejected, lake));
  lines.push(...report.completeness.flatMap(completenessLines));
  for (const { dataset, requested, returned, missing } of report.symbols) {
    if (returned === requested) continue;
    const more = requested - returned > missing.length ? " ..." : "";
    lines.push(
      `${dataset}: nothing came of ${plural(requested - returned, "symbol")} of ${count(requested)}: ${missing.join(" ")}${more}`,
    );
  }
  if (report.failures.length > 0) {
    const rows = report.failures.slice(0, SHOWN).map((f) => [f.request, f.symbols, f.reason]);
    lines.push(
      "",
      paint("red", plural(report.failures.length, "failed request")),
      table(["request", "symbols", "reason"], rows),
    );
  }
  if (report.stopped !== undefined) lines.push(`${paint("red", "stopped:")} ${report.stopped}`);
  if (report.status !== "complete") lines.push("the next run asks only for what is missing");
  return lines.join("\n");
}

/** Says that the clock was set while the run went on: times in its records may jump. */
function clockText(shiftMs: number | undefined): string {
  if (shiftMs === undefined) return "";
  const by = `${duration(Math.abs(shiftMs))} ${shiftMs < 0 ? "back" : "ahead"}`;
  return `${paint("yellow", "note:")} the machine's clock was set ${by} during the run\n`;
}
