import type { StatementResult } from "../../db/result/statement-result.js";
import type { View } from "../../notebook/notebook.js";
import { formatValues } from "../../notebook/page/format-values.js";
import type { CellRun } from "../../notebook/run-notebook.js";
import { count, paint, plural, table } from "../text/text.js";
import { chartText } from "./chart-text.js";

/** A cell for a terminal: its prose, tables and charts. @param width columns of the terminal. */
export function notebookCellText({ cell, results, chart }: CellRun, width: number): string {
  const { view } = cell;
  const parts: string[] = cell.prose === "" ? [] : [proseText(cell.prose)];
  if (view.title !== undefined) parts.push(paint("bold", view.title));
  for (const result of results) {
    const isLast = result === results.at(-1);
    if (result.rows === 0 && view.empty !== undefined) parts.push(paint("dim", view.empty));
    else if (isLast && view.kind === "figures" && result.rows > 0) parts.push(figuresText(result, view));
    else if (isLast && chart !== undefined) parts.push(chartText(chart, width));
    else parts.push(tableText(result, view));
  }
  return parts.length === 0 ? "" : `${parts.join("\n")}\n\n`;
}

/** Markdown is printed as it is; only headings and bold text are styled. */
function proseText(prose: string): string {
  return prose
    .replaceAll(/^#+\s+(.*)$/gm, (_, heading: string) => paint("bold", heading))
    .replaceAll(/\*\*([^*]+)\*\*/g, (_, bold: string) => paint("bold", bold));
}

function tableText({ columns, rows }: StatementResult, view: View): string {
  const texts = columns.map((column) => formatValues(column, view.percent.includes(column.name)));
  const shown = columns[0]?.values.length ?? 0;
  const lines = Array.from({ length: shown }, (_, row) => texts.map((column) => column[row]));
  const names = columns.map(({ name }) => name);
  const summary = shown < rows ? `the first ${count(shown)} of ${count(rows)} rows` : plural(rows, "row");
  return `${table(names, lines)}\n${paint("dim", summary)}`;
}

function figuresText({ columns }: StatementResult, view: View): string {
  const width = Math.max(...columns.map(({ name }) => name.length));
  const lines = columns.map((column) => {
    const [value] = formatValues(
      { ...column, values: column.values.slice(0, 1) },
      view.percent.includes(column.name),
    );
    return `${paint("dim", column.name.replaceAll("_", " ").padEnd(width))}  ${value ?? "·"}`;
  });
  return lines.join("\n");
}
