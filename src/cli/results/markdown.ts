import type { Rows } from "../../db/query-engine.js";
import type { PlainValue } from "../../db/result/row-reader.js";
import { cellText, isNumeric } from "./cell-text.js";

/** Rows read at a time. */
const ROWS = 2048;

/** A result as a Markdown table, in pieces of some rows. */
export async function* markdownOf(reader: Rows): AsyncGenerator<string, void, undefined> {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  yield line(reader.columns.map(({ name }) => markdownCell(name)));
  yield line(reader.columns.map(({ type }) => (isNumeric(type) ? "---:" : "---")));
  for (;;) {
    const rows = await reader.take(ROWS);
    yield rows.map((row) => line(row.map(markdownCell))).join("");
    if (rows.length < ROWS) return;
  }
}

/** Characters with a meaning in Markdown; an underscore within a word has no meaning. */
const OBEYED = /[\\`*[\]<>|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

/** A line break in a cell becomes HTML; Markdown's special characters are escaped. */
function markdownCell(value: PlainValue): string {
  const lines = typeof value === "string" ? value.split(/\r?\n/) : [value];
  return lines.map((line) => (cellText(line) ?? "").replace(OBEYED, "\\$&")).join("<br>");
}
