import stringWidth from "string-width";
import type { PlainValue, ResultColumn } from "../../db/result/row-reader.js";
import { paint } from "../text.js";

/** A value as text on one line; undefined for a missing value. Control characters for terminals are escaped. */
export function cellText(value: PlainValue | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  return String(value).replace(CONTROL, escaped);
}

/** Decimals of a double in a table. Prices have at most four. */
const DECIMALS = 6;

/**
 * A value as text in a table. Of a double it has six decimals at most, below one six digits: the rest are mostly those of the
 * arithmetic.
 */
function tableText(value: PlainValue | undefined): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return cellText(value);
  const rounded = Math.abs(value) < 1 ? value.toPrecision(DECIMALS) : value.toFixed(DECIMALS);
  return String(Number(rounded));
}

const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return NAMED[character] ?? `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Whether values of an SQL type are numbers, which are aligned right. */
export function isNumeric(type: string): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|BIGNUM)$/.test(type);
}

export function isTemporal(type: string): boolean {
  return /^(DATE|TIMESTAMP.*)$/.test(type);
}

/** `table`: columns that do not fit are left out. `wide`: all columns. `lines`: one line for each value, with all its digits. */
export const TABLE_MODES = ["table", "wide", "lines"] as const;
export type TableMode = (typeof TABLE_MODES)[number];

interface TableLayout {
  readonly mode: TableMode;
  /** Columns of the terminal. @default unlimited */
  readonly width?: number | undefined;
  /** How the user can see what does not fit. */
  readonly advice: string;
}

const GAP = 2;
/** Longest text that is shown in full in one of several columns, if the width is limited. */
const LONGEST = 40;
/** On a narrower terminal, lines have this width. */
const NARROWEST = 20;
const MISSING = "·";

/** Rows as text for a terminal: no line is longer than its width, and the last line names what was left out. */
export function resultTable(
  columns: readonly ResultColumn[],
  rows: readonly (readonly PlainValue[])[],
  { mode, width: given = Number.POSITIVE_INFINITY, advice }: TableLayout,
): string {
  const width = Math.max(given, NARROWEST);
  if (columns.length === 0) return "";
  const textOf = mode === "lines" ? cellText : tableText;
  const texts = rows.map((row) => row.map((value) => textOf(value) ?? MISSING));
  const names = columns.map(({ name }) => cellText(name) ?? "");
  if (mode === "lines") return recordLines(names, texts, width);
  const limit = mode === "wide" ? Number.POSITIVE_INFINITY : width;
  const most = Number.isFinite(limit) && columns.length > 1 ? Math.min(LONGEST, limit) : limit;
  const widths = columns.map((_, index) =>
    Math.min(most, Math.max(...[names, ...texts].map((row) => stringWidth(row[index] ?? "")))),
  );
  const shown = columnsThatFit(widths, limit);
  const lines = [names, ...texts].map((row, line) => {
    const cells = shown.map((index) => {
      const text = aligned(row[index] ?? "", widths[index] ?? 0, isNumeric(columns[index]?.type ?? ""));
      return line === 0 ? paint("bold", text) : row[index] === MISSING ? paint("dim", text) : text;
    });
    return cells.join(" ".repeat(GAP)).trimEnd();
  });
  const left = names.slice(shown.length);
  if (left.length > 0) lines.push(paint("dim", leftOut(left, limit, advice)));
  return lines.join("\n");
}

/** The first columns that fit the width together; at least one. */
function columnsThatFit(widths: readonly number[], limit: number): number[] {
  const shown: number[] = [];
  let used = -GAP;
  for (const [index, width] of widths.entries()) {
    used += GAP + width;
    if (index > 0 && used > limit) break;
    shown.push(index);
  }
  return shown;
}

function leftOut(names: readonly string[], width: number, advice: string): string {
  const count = `${names.length} more column${names.length === 1 ? "" : "s"}`;
  const hint = ` (${advice})`;
  const available = width - stringWidth(`${count}: ${hint}`);
  return cut(
    available < 8 ? `${count}${hint}` : `${count}: ${cut(names.join(", "), available)}${hint}`,
    width,
  );
}

function recordLines(names: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const margin = Math.max(...names.map((name) => stringWidth(name)));
  const records = rows.map((row) =>
    names.map((name, index) => {
      const label = " ".repeat(margin - stringWidth(name)) + name;
      return `${paint("bold", label)}  ${cut(row[index] ?? "", Math.max(1, width - margin - 2))}`;
    }),
  );
  return records.map((lines) => lines.join("\n")).join("\n\n");
}

function aligned(text: string, width: number, toTheRight: boolean): string {
  const shown = cut(text, width);
  const blanks = " ".repeat(width - stringWidth(shown));
  return toTheRight ? blanks + shown : shown + blanks;
}

/** A text in a given number of terminal columns; a longer one ends with an ellipsis. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  // Made for a text that is cut: most results have none, and the first one takes 10 ms.
  const graphemes = new Intl.Segmenter();
  let [shown, used] = ["", 0];
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment);
    if (used > width - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}
