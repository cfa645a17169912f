import { isUtf8 } from "node:buffer";
import { fieldNames, plainName } from "../plan/field-names.js";

/** Encodings that a user may name, as `TextDecoder` knows them. */
export const ENCODINGS = [
  "utf-8",
  "utf-16le",
  "utf-16be",
  "gb18030",
  "gbk",
  "big5",
  "shift_jis",
  "euc-kr",
  "windows-1252",
  "latin1",
] as const;

/** The encoding that the first bytes of a text show; undefined where they show none. */
export function encodingOfStart(start: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" | undefined {
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return "utf-8";
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  // ASCII in UTF-16 has a zero byte in each pair.
  const pairs = Math.min(start.length >> 1, 64);
  let [even, odd] = [0, 0];
  for (let i = 0; i < pairs; i++) {
    if (start[2 * i] === 0) even += 1;
    if (start[2 * i + 1] === 0) odd += 1;
  }
  if (pairs >= 4 && odd > pairs / 2 && even === 0) return "utf-16le";
  if (pairs >= 4 && even > pairs / 2 && odd === 0) return "utf-16be";
  return undefined;
}

/** Whether pieces of a text are UTF-8. A piece may end within a character. */
export async function arePiecesUtf8(pieces: AsyncIterable<Uint8Array>): Promise<boolean> {
  let rest = new Uint8Array();
  for await (const piece of pieces) {
    // No byte of a character of several bytes is a newline.
    const end = piece.lastIndexOf(0x0a) + 1;
    const whole = rest.length === 0 ? piece.subarray(0, end) : Buffer.concat([rest, piece.subarray(0, end)]);
    if (end > 0 && !isUtf8(whole)) return false;
    rest = end > 0 ? Uint8Array.from(piece.subarray(end)) : Buffer.concat([rest, piece]);
  }
  return isUtf8(rest);
}

const CHINESE = new Set(
  ["bars_1d", "instruments", "universes", "income"]
    .flatMap((table) => Object.values(fieldNames(table)).flat())
    .filter((name) => /\p{Script=Han}/u.test(name)),
);

/**
 * Whether bytes that are not UTF-8 are Chinese text in GB18030: they decode without an error, and a cell is the name of
 * a column.
 */
export function isGb18030(head: Uint8Array): boolean {
  try {
    const text = new TextDecoder("gb18030", { fatal: true }).decode(head, { stream: true });
    return text.split(/[\t,;|\r\n]/).some((cell) => CHINESE.has(plainName(cell)));
  } catch {
    return false;
  }
}

interface CsvDialect {
  readonly delimiter: string;
  /** Physical line of the first row after the header, from 1. */
  readonly firstLine: number;
  /** Lines before it, of which one may have line ends within quotes. */
  readonly skip: number;
}

/** One column of a table that has the values of several instruments side by side. */
interface WideColumn {
  readonly index: number;
  readonly field: string;
  readonly ticker: string;
}

export interface CsvHeader {
  readonly dialect: CsvDialect;
  readonly names: readonly string[];
  /** The lines before the header that are not empty. */
  readonly preamble: readonly string[];
  /** Set where the header has two levels, of fields and of tickers; `names` are then those of one instrument. */
  readonly wide?: readonly WideColumn[];
  /** First rows, as texts. */
  readonly rows: readonly (readonly string[])[];
}

const DELIMITERS = [",", "\t", ";", "|"] as const;
/** A header is among these many lines. */
const HEADER_LINES = 100;
const LEVEL_NAMES = new Set(["price", "ticker", "tickers", "attributes", "symbols", "date", "datetime", ""]);
const YAHOO_FIELDS = new Set(
  "open,high,low,close,adj_close,volume,dividends,stock_splits,capital_gains,repaired".split(","),
);

/**
 * Finds the delimiter and the header of a CSV text.
 *
 * @param head the beginning of the file; its last line may be cut off.
 * @param known names, in plain notation, of which a header has at least one.
 * @param skip physical lines before the header, from the user. @default the header is searched
 * @returns undefined where no line looks like a header.
 */
export function findHeader(head: string, known: ReadonlySet<string>, skip?: number): CsvHeader | undefined {
  let best: { readonly score: number; readonly make: () => CsvHeader } | undefined;
  for (const delimiter of DELIMITERS) {
    const lines = parseCsv(head, delimiter);
    const from = skip === undefined ? 0 : lines.findIndex(({ line }) => line > skip);
    const until = skip === undefined ? Math.min(lines.length, HEADER_LINES) : from + 1;
    for (let at = Math.max(from, 0); at < until; at++) {
      const cells = lines[at]?.cells ?? [];
      const score = cells.filter((cell) => known.has(plainName(cell))).length;
      const enough = skip === undefined ? score >= 2 || (score === 1 && cells.length <= 2) : cells.length > 1;
      if (!enough || score <= (best?.score ?? -1)) continue;
      best = { score, make: () => headerAt(lines, at, delimiter) };
    }
  }
  return best?.make() ?? (skip === undefined ? bareForm(head, known) : undefined);
}

/** Forms without a header that no other rows have, by the names of their columns: files of LEAN. */
const BARE_FORMS: readonly { readonly names: readonly string[]; readonly cells: readonly RegExp[] }[] = [
  {
    names: ["date", "price_factor", "split_factor", "reference_price"],
    cells: [/^\d{8}$/, /^\d*\.?\d+$/, /^\d*\.?\d+$/, /^\d*\.?\d+$/],
  },
  { names: ["date", "map_ticker"], cells: [/^\d{8}$/, /^[A-Za-z][\w.]*$/] },
  { names: ["date", "map_ticker", "exchange"], cells: [/^\d{8}$/, /^[A-Za-z][\w.]*$/, /^[A-Za-z]?$/] },
];

/** The header that rows without one have by their form, if the table knows its second name. */
function bareForm(head: string, known: ReadonlySet<string>): CsvHeader | undefined {
  const rows = parseCsv(head, ",").map(({ cells }) => cells);
  // The last one may be cut off.
  const whole = rows.length > 1 ? rows.slice(0, -1) : rows;
  const form = BARE_FORMS.find(
    ({ names, cells }) =>
      known.has(names[1] as string) &&
      whole.length > 0 &&
      whole.every((row) => row.length === cells.length && cells.every((cell, i) => cell.test(row[i] ?? ""))),
  );
  return (
    form && { dialect: { delimiter: ",", firstLine: 1, skip: 0 }, names: form.names, preamble: [], rows }
  );
}

interface CsvLine {
  readonly cells: readonly string[];
  /** Physical line of the first cell, from 1. */
  readonly line: number;
  /** The number of lines before it. Those within quotes are of the same line, and blank ones count. */
  readonly before: number;
}

function headerAt(lines: readonly CsvLine[], at: number, delimiter: string): CsvHeader {
  const names = (lines[at] as CsvLine).cells;
  const wide = twoLevels(lines, at);
  const last = at + (wide?.levels ?? 1);
  const { line: firstLine, before: skip } = lines[last] ?? {
    line: (lines[last - 1] as CsvLine).line + 1,
    before: (lines[last - 1] as CsvLine).before + 1,
  };
  const rows = lines.slice(last).map(({ cells }) => cells);
  const preamble = lines.slice(0, wide?.start ?? at).map(({ cells }) => cells.join(delimiter));
  const common = { dialect: { delimiter, firstLine, skip }, preamble, rows };
  if (wide === undefined) return { ...common, names: withoutEmptyLast(names, rows) };
  const fields = [...new Set(wide.columns.map(({ field }) => field))];
  return { ...common, names: [wide.index, ...fields], wide: wide.columns };
}

/** A header that ends with a delimiter has one column more than its rows, or as many. */
function withoutEmptyLast(names: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const isExtra = names.at(-1)?.trim() === "" && rows.every((row) => row.length === names.length - 1);
  return isExtra && rows.length > 0 ? names.slice(0, -1) : names;
}

/**
 * A header of two levels, as pandas writes the columns of several instruments: a line of fields, a line of tickers (in
 * either order), and mostly a third line with the name of the index.
 */
function twoLevels(
  lines: readonly CsvLine[],
  at: number,
): { start: number; levels: number; index: string; columns: WideColumn[] } | undefined {
  for (const start of [at, at - 1]) {
    const [first, second, third] = [lines[start]?.cells, lines[start + 1]?.cells, lines[start + 2]?.cells];
    if (first === undefined || second === undefined || first.length < 2) continue;
    if (!LEVEL_NAMES.has(plainName(first[0] ?? "")) || second.length !== first.length) continue;
    const isFields = (cells: readonly string[]): boolean =>
      cells.slice(1).every((cell) => YAHOO_FIELDS.has(plainName(cell)));
    const fieldsFirst = isFields(first);
    if (fieldsFirst === isFields(second)) continue;
    const [fields, tickers] = fieldsFirst ? [first, second] : [second, first];
    if (!LEVEL_NAMES.has(plainName(second[0] ?? "")) || tickers.slice(1).some((cell) => cell.trim() === ""))
      continue;
    const hasIndexName = third !== undefined && third.slice(1).every((cell) => cell.trim() === "");
    const columns = fields
      .slice(1)
      .map((field, i) => ({ index: i + 1, field, ticker: (tickers[i + 1] as string).trim() }));
    const used = hasIndexName ? 3 : 2;
    return { start, levels: used - (at - start), index: (hasIndexName && third[0]) || "Date", columns };
  }
  return undefined;
}

/** The lines of a CSV text that are not empty. Quotes enclose cells, and are doubled within them. */
export function parseCsv(text: string, delimiter: string): CsvLine[] {
  const lines: CsvLine[] = [];
  let cells: string[] = [];
  let cell = "";
  let [line, startLine, before] = [1, 1, 0];
  let isQuoted = false;
  const end = (): void => {
    cells.push(cell);
    if (cells.length > 1 || (cells[0] ?? "").trim() !== "") lines.push({ cells, line: startLine, before });
    [cells, cell] = [[], ""];
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i] as string;
    if (isQuoted) {
      if (c === "\n") line += 1;
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') {
        cell += c;
        i += 1;
      } else isQuoted = false;
    } else if (c === '"' && cell.trim() === "") {
      isQuoted = true;
      cell = "";
    } else if (c === delimiter) {
      cells.push(cell);
      cell = "";
    } else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[i + 1] === "\n") i += 1;
      end();
      line += 1;
      before += 1;
      startLine = line;
    } else cell += c;
  }
  if (cell !== "" || cells.length > 0) end();
  return lines;
}
