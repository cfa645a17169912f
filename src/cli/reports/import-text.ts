import type { FormPlan } from "../../jobs/import/plan/import-plan.js";
import { textOf } from "../../jobs/import/plan/plan-of.js";
import type { ImportReport } from "../../jobs/import/run-import.js";
import { inOptionWords } from "../error-text.js";
import { count, paint, plural, table } from "../text.js";
import { changesTable, landedTable, rejectedTable } from "./report-text.js";
import { undoCommand } from "./restore-text.js";

/** Most forms of files, and remarks, that are printed; the others are only counted. */
const SHOWN = 5;
/** Tables that follow from others: the landing of these restores them, too. */
const DERIVED = new Set(["trading_days", "exchanges"]);

/** The report of an import: how files were read, the first rows, what landed, what was set aside, and how to undo it. */
export function importText(
  report: ImportReport,
  { isDryRun, lake }: { readonly isDryRun: boolean; readonly lake: string },
): string {
  const { plan, preview, landed, remarks, rejected } = report;
  const lines: string[] = [];
  for (const form of plan.slice(0, SHOWN)) lines.push(...formLines(form), "");
  if (plan.length > SHOWN) lines.push(`and ${plural(plan.length - SHOWN, "more form")} of files`, "");
  if (preview.length > 0) lines.push("first rows", previewTable(preview), "");
  if (isDryRun) {
    const rows = landed.map(({ table: name, inserted }) => [name, count(inserted)]);
    lines.push("dry run: nothing was written", table(["table", "rows that are good"], rows));
  } else lines.push(landedTable(landed), ...changesTable(landed));
  for (const remark of remarks.slice(0, SHOWN))
    lines.push(`${paint("yellow", "note:")} ${inOptionWords(remark)}`);
  const more = remarks.length - SHOWN;
  if (more > 0) lines.push(`${paint("yellow", "note:")} and ${plural(more, "more remark")} of this kind`);
  if (rejected.length > 0) lines.push("", rejectedTable(rejected, isDryRun ? undefined : lake));
  if (!isDryRun)
    for (const one of landed)
      if (one.filesAdded > 0 && !DERIVED.has(one.table)) lines.push(`undo: ${undoCommand(one)}`);
  return `${lines.join("\n")}\n`;
}

function formLines({ files, source, fields, found, unused }: FormPlan): string[] {
  const [first = ""] = files;
  const which = files.length === 1 ? first : `${first} and ${plural(files.length - 1, "file")} like it`;
  const rows = fields.map(({ field, column, readAs, before, after }) => [
    field,
    column ?? "",
    readAs,
    short(before),
    short(after),
  ]);
  return [
    `${paint("bold", which)}${source === undefined ? "" : `, as ${source} writes it`}`,
    table(["field", "column", "read as", "for example", "lands as"], rows),
    ...found.map((one) => `found: ${inOptionWords(one)}`),
    ...unusedLines(unused),
  ];
}

function unusedLines(unused: FormPlan["unused"]): string[] {
  const plain = unused.filter(({ advice }) => advice === undefined).map(({ column }) => column);
  const advised = new Map<string, string[]>();
  for (const { column, advice } of unused)
    if (advice !== undefined) advised.set(advice, [...(advised.get(advice) ?? []), column]);
  return [
    ...[...advised].map(([advice, columns]) => `unused: ${columns.join(", ")} (${advice})`),
    ...(plain.length > 0
      ? [`unused: ${plain.slice(0, 12).join(", ")}${plain.length > 12 ? ", ..." : ""}`]
      : []),
  ];
}

function previewTable(rows: ImportReport["preview"]): string {
  const [first = {}] = rows;
  const names = Object.keys(first).filter((name) => rows.some((row) => row[name] !== null));
  return table(
    names,
    rows.map((row) => names.map((name) => short(row[name] === null ? undefined : textOf(row[name])))),
  );
}

function short(text: string | undefined): string {
  if (text === undefined) return "";
  const plain = text.replaceAll(/\s+/g, " ").trim();
  return plain.length > 30 ? `${plain.slice(0, 27)}...` : plain;
}
