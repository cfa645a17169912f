import type { PlainValue, RowReader } from "../../db/row-reader.js";
import { cellText, isNumeric } from "./cell-text.js";

/** Rows read at a time. */
const ROWS = 2048;

/** A result as a table in Markdown, some rows a piece. */
export async function* markdownOf(reader: RowReader): AsyncGenerator<string, void, undefined> {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  yield line(reader.columns.map(({ name }) => markdownCell(name)));
  yield line(reader.columns.map(({ type }) => (isNumeric(type) ? "---:" : "---")));
  for (;;) {
    const rows = await reader.take(ROWS);
    yield rows.map((row) => line(row.map(markdownCell))).join("");
    if (rows.length < ROWS) return;
  }
}

/** Characters that Markdown obeys; an underscore within a word it does not. */
const OBEYED = /[\\`*[\]<>|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

/** A line break in a cell is HTML's; what Markdown would obey is escaped. */
function markdownCell(value: PlainValue): string {
  const lines = typeof value === "string" ? value.split(/\r?\n/) : [value];
  return lines.map((line) => (cellText(line) ?? "").replace(OBEYED, "\\$&")).join("<br>");
}
