import type { RowsReport, StoredReport } from "../../../result-reports.js";
import { apiAddress, askJson, faultOf } from "../../fetch-data.js";
import { visibleRows } from "./visible-rows.js";

/** Number of rows that are fetched together, and most such windows that are cached. */
const WINDOW_ROWS = 200;
const MOST_WINDOWS = 30;
/** Height of the view, in pixels. */
const VIEW_HEIGHT = 420;

/**
 * Makes a table scroll over all rows of its result. Rows are fetched when they come into view, and only these are
 * drawn.
 *
 * @param box the table of the first rows, which defines the columns, their widths and the height of a row.
 * @returns a function that stops this.
 */
export function virtualTable(box: HTMLElement, { id, rows }: StoredReport): () => void {
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
