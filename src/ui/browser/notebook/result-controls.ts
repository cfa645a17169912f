import type { ResultReport, RowsReport, StoredReport } from "../../page-data.js";
import { apiAddress, askJson, faultOf } from "../fetch-data.js";
import { bytes, count } from "../formats.js";
import { notebookText } from "./notebook-texts.js";

/** Largest height of the scrolled content, in pixels. Browsers draw nothing beyond about ten million. */
const MOST_HEIGHT = 8_000_000;

interface VisibleRows {
  /** The first row that is drawn, and the number of drawn rows. */
  readonly first: number;
  readonly count: number;
  /** Height of the whole content, and of the part above the first row, in pixels. */
  readonly height: number;
  readonly above: number;
}

/**
 * The visible rows of a table of many rows, all in pixels but `rows`. If the table is higher than browsers can scroll,
 * one pixel of the scroll position is several pixels of the table.
 */
export function visibleRows(scrolled: number, view: number, row: number, rows: number): VisibleRows {
  const height = Math.min(rows * row, MOST_HEIGHT);
  const drawn = Math.min(rows, Math.ceil(view / row) + 2);
  const most = Math.max(0, height - view);
  const at = Math.min(Math.max(0, scrolled), most);
  const isScaled = height < rows * row;
  const part = most === 0 ? 0 : at / most;
  const exact = isScaled ? part * (rows - view / row) : at / row;
  const first = Math.max(0, Math.min(Math.floor(exact), rows - drawn));
  const above = isScaled ? at - (exact - first) * row : first * row;
  return { first, count: drawn, height, above: Math.max(0, above) };
}

/** Number of rows that are fetched together, and most such windows that are cached. */
const WINDOW_ROWS = 200;
const MOST_WINDOWS = 30;
const VIEW_HEIGHT = 420;

/**
 * Makes a table scroll over all rows of its result, of which only the visible ones are fetched and drawn.
 * @param box the table of the first rows, which defines the columns, their widths and the height of a row.
 */
function virtualTable(box: HTMLElement, { id, rows }: StoredReport): () => void {
  const table = box.querySelector("table");
  const body = table?.tBodies[0];
  const [first] = body?.rows ?? [];
  if (table == null || body === undefined || first === undefined) return () => {};
  const row = first.getBoundingClientRect().height || 28;
  const classes = [...first.cells].map((cell) => (cell.classList.contains("n") ? "n" : ""));
  fixWidths(table);
  const end = new AbortController();
  const windows = new Map<number, RowsReport["columns"]>();
  const asked = new Set<number>();
  box.classList.add("virtual");
  box.style.height = `${Math.min(VIEW_HEIGHT, rows * row + 60)}px`;
  table.setAttribute("aria-rowcount", String(rows + 1));
  const edge = (): HTMLTableCellElement => {
    const cell = document.createElement("td");
    cell.colSpan = classes.length;
    cell.className = "edge";
    return cell;
  };
  const [above, below] = [edge(), edge()];

  const draw = (): void => {
    const shown = visibleRows(box.scrollTop, box.clientHeight, row, rows);
    above.style.height = `${shown.above}px`;
    below.style.height = `${Math.max(0, shown.height - shown.above - shown.count * row)}px`;
    const drawn = Array.from({ length: shown.count }, (_, n) => rowAt(shown.first + n));
    body.replaceChildren(rowOf([above]), ...drawn, rowOf([below]));
  };
  const rowAt = (at: number): HTMLTableRowElement => {
    const start = at - (at % WINDOW_ROWS);
    const columns = windows.get(start);
    if (columns === undefined) void fetchWindow(start);
    const made = rowOf(
      classes.map((name, column) => {
        const cell = document.createElement("td");
        const text = columns === undefined ? "…" : columns[column]?.[at - start];
        cell.className = text === null ? `${name} null` : name;
        cell.textContent = text ?? "·";
        return cell;
      }),
    );
    made.setAttribute("aria-rowindex", String(at + 2));
    return made;
  };
  const fetchWindow = async (start: number): Promise<void> => {
    if (asked.has(start)) return;
    asked.add(start);
    try {
      const address = apiAddress("result", { id, from: String(start), count: String(WINDOW_ROWS) });
      const { columns } = await askJson<RowsReport>(address, end.signal);
      windows.set(start, columns);
      for (const old of [...windows.keys()].slice(0, -MOST_WINDOWS)) forget(old);
      draw();
    } catch (error) {
      if (!end.signal.aborted) showFault(box, faultOf(error));
    }
  };
  const forget = (start: number): void => {
    windows.delete(start);
    asked.delete(start);
  };
  let frame = 0;
  const scroll = (): void => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  };
  box.addEventListener("scroll", scroll, { passive: true });
  draw();
  return () => {
    end.abort();
    cancelAnimationFrame(frame);
    box.removeEventListener("scroll", scroll);
  };
}

/** Fixes the widths of the columns, which would otherwise change with the drawn rows. */
function fixWidths(table: HTMLTableElement): void {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const widths = heads.map((head) => head.getBoundingClientRect().width);
  for (const [at, head] of heads.entries()) head.style.minWidth = `${Math.ceil(widths[at] ?? 0)}px`;
}

function rowOf(cells: readonly HTMLElement[]): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.replaceChildren(...cells);
  return row;
}

function showFault(box: HTMLElement, { message, hint }: { message: string; hint: string | null }): void {
  const before = box.nextElementSibling;
  const note = before?.classList.contains("gone") === true ? before : document.createElement("p");
  note.className = "note gone";
  note.setAttribute("role", "status");
  note.textContent = hint === null ? message : `${message}: ${hint}`;
  if (note !== before) box.after(note);
}

/** File formats, with the names that the page shows. */
const FORMATS = [
  ["csv", "CSV"],
  ["parquet", "Parquet"],
  ["arrow", "Arrow"],
] as const;

/**
 * A table that shows only its first rows can scroll over all, and each result can be saved as a file.
 * @param label the text of the links, before the format. @returns a function that removes the controls.
 */
export function resultControls(
  cell: HTMLElement,
  results: readonly ResultReport[],
  label: string,
): () => void {
  const section = cell.querySelector("section");
  if (section === null || results.length === 0) return () => {};
  const tables = [...section.querySelectorAll<HTMLElement>(":scope > .table")];
  // The last result has no table if it is drawn as a chart or as figures. A result without rows has none either.
  const isLastDrawn = section.querySelector(":scope > .chart, :scope > .figures") !== null;
  const isPaired = results.length === tables.length + (isLastDrawn ? 1 : 0);
  const ends = (isPaired ? tables : []).map((table, at) => {
    const result = results[at] as ResultReport;
    const shown = table.querySelectorAll("tbody tr").length;
    return result.id !== null && result.rows > shown ? virtualTable(table, result) : () => {};
  });
  const links = document.createElement("p");
  links.className = "exports";
  for (const result of results.slice(-1)) {
    const { id, rows } = result;
    const number = links.appendChild(document.createElement("span"));
    number.textContent = `${count(rows)} ${notebookText(rows === 1 ? "row" : "rows")}`;
    if (id === null) {
      number.textContent += `: ${notebookText("resultNotStored").replace("{bytes}", bytes(result.mostBytes))}`;
      continue;
    }
    for (const [format, name] of FORMATS) {
      const link = links.appendChild(document.createElement("a"));
      link.href = apiAddress("result/file", { id, format });
      link.download = `result.${format}`;
      link.textContent = name;
      link.setAttribute("aria-label", `${label} ${name}`);
    }
  }
  section.append(links);
  return () => {
    for (const end of ends) end();
  };
}
