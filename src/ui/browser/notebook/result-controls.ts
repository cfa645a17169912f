import type { ResultReport, RowsReport, StoredReport } from "../../page-data.js";
import { faultText } from "../fault-texts.js";
import { apiAddress, askJson, faultOf } from "../fetch-data.js";
import { bytes, count } from "../formats.js";
import { chartPicture } from "./chart-picture.js";
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
function virtualTable(box: HTMLElement, { id, rows: all }: StoredReport): VirtualTable | undefined {
  const table = box.querySelector("table");
  const body = table?.tBodies[0];
  const [first] = body?.rows ?? [];
  if (table == null || body === undefined || first === undefined) return undefined;
  let rows = all;
  let choice: RowsChoice = {};
  const row = first.getBoundingClientRect().height || 28;
  const classes = [...first.cells].map((cell) => (cell.classList.contains("n") ? "n" : ""));
  fixWidths(table);
  const end = new AbortController();
  const windows = new Map<number, RowsReport["columns"]>();
  const asked = new Set<number>();
  box.classList.add("virtual");
  box.style.height = `${Math.min(VIEW_HEIGHT, rows * row + 60)}px`;
  const edge = (): HTMLTableCellElement => {
    const cell = document.createElement("td");
    cell.colSpan = classes.length;
    cell.className = "edge";
    return cell;
  };
  const [above, below] = [edge(), edge()];

  const draw = (): void => {
    const shown = visibleRows(box.scrollTop, box.clientHeight, row, rows);
    table.setAttribute("aria-rowcount", String(rows + 1));
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
    const chosen = choice;
    try {
      const range = { id, from: String(start), count: String(WINDOW_ROWS) };
      const report = await askJson<RowsReport>(apiAddress("result", { ...range, ...chosen }), end.signal);
      if (chosen !== choice) return;
      rows = report.rows;
      windows.set(start, report.columns);
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
  return {
    choose: async (next) => {
      choice = next;
      windows.clear();
      asked.clear();
      box.scrollTop = 0;
      await fetchWindow(0);
      return rows;
    },
    end: () => {
      end.abort();
      cancelAnimationFrame(frame);
      box.removeEventListener("scroll", scroll);
    },
  };
}

/** Which rows of a result are requested, and in which order, as parts of the address. */
interface RowsChoice {
  /** Index of the column by which they are ordered. */
  readonly column?: string;
  readonly descending?: string;
  readonly contains?: string;
}

interface VirtualTable {
  /** Shows other rows, or in another order. @returns the number of rows */
  readonly choose: (choice: RowsChoice) => Promise<number>;
  readonly end: () => void;
}

/**
 * Orders and filters the whole stored result of a table, not its shown rows alone. The heads of its columns become buttons:
 * up, down, and as the statement gave them.
 */
class ChosenRows {
  readonly #box: HTMLElement;
  readonly #result: StoredReport;
  readonly #onRows: (rows: number) => void;
  #table: VirtualTable | undefined;
  #choice: RowsChoice = {};

  constructor(box: HTMLElement, result: StoredReport, onRows: (rows: number) => void) {
    this.#box = box;
    this.#result = result;
    this.#onRows = onRows;
    const heads = [...(box.querySelector("thead")?.rows[0]?.cells ?? [])];
    const shown = box.querySelectorAll("tbody tr").length;
    for (const [at, head] of heads.entries()) this.#addButton(head, at, heads);
    if (result.rows > shown) this.#table = virtualTable(box, result);
  }

  #addButton(head: HTMLElement, at: number, heads: readonly HTMLElement[]): void {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.title = notebookText("sort");
    button.replaceChildren(...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const { column, descending, ...others } = this.#choice;
      const isSame = column === String(at);
      const isThird = isSame && descending !== undefined;
      const order = isThird ? {} : { column: String(at), ...(isSame ? { descending: "1" } : {}) };
      for (const other of heads) other.removeAttribute("aria-sort");
      if (!isThird) head.setAttribute("aria-sort", isSame ? "descending" : "ascending");
      this.#choose({ ...others, ...order });
    });
  }

  contain(text: string): void {
    const { contains: _, ...others } = this.#choice;
    this.#choose(text === "" ? others : { ...others, contains: text });
  }

  #choose(choice: RowsChoice): void {
    this.#choice = choice;
    this.#table ??= virtualTable(this.#box, this.#result);
    void this.#show(choice);
  }

  async #show(choice: RowsChoice): Promise<void> {
    const rows = await this.#table?.choose(choice);
    if (rows !== undefined && this.#choice === choice) this.#onRows(rows);
  }

  end(): void {
    this.#table?.end();
  }
}

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
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
  note.textContent = [message, ...(hint === null ? [] : [hint])].map(faultText).join(": ");
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
  let number: HTMLElement | undefined;
  const say = (rows: number): void => {
    if (number !== undefined)
      number.textContent = `${count(rows)} ${notebookText(rows === 1 ? "row" : "rows")}`;
  };
  const chosen = (isPaired ? tables : []).flatMap((table, at) => {
    const result = results[at] as ResultReport;
    const onRows = at === results.length - 1 ? say : () => {};
    return result.id === null ? [] : [new ChosenRows(table, result, onRows)];
  });
  const links = document.createElement("p");
  links.className = "exports";
  for (const result of results.slice(-1)) {
    const { id, rows } = result;
    number = links.appendChild(document.createElement("span"));
    number.setAttribute("role", "status");
    say(rows);
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
  const last = isLastDrawn ? undefined : chosen.at(-1);
  if (last !== undefined && (results.at(-1)?.rows ?? 0) > 1) {
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = notebookText("filter");
    filter.setAttribute("aria-label", notebookText("filterHelp"));
    filter.title = notebookText("filterHelp");
    let timer: ReturnType<typeof setTimeout> | undefined;
    filter.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => last.contain(filter.value), 200);
    });
    links.append(filter);
  }
  const figure = section.querySelector<HTMLElement>("figure[data-chart]");
  if (figure !== null) {
    const picture = links.appendChild(document.createElement("button"));
    picture.type = "button";
    picture.textContent = notebookText("picture");
    picture.addEventListener("click", () => {
      void chartPicture(figure).then((made) => made && saveBlob(made.blob, made.name));
    });
  }
  section.append(links);
  return () => {
    for (const one of chosen) one.end();
  };
}
