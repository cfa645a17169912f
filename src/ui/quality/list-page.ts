import type { ListPage } from "./quality-data.js";

/** Rows of a page of a list. */
export const PAGE_ROWS = 100;
/** Most pages that can be opened: what lies behind them is found by a narrower filter. */
export const MOST_PAGES = 50;

/** The rows to skip before a page, counted from 1; page numbers that are too large count as the last page. */
export function offsetOf(page: number): number {
  return (Math.min(Math.max(1, Math.trunc(page) || 1), MOST_PAGES) - 1) * PAGE_ROWS;
}

/** The page of a list, or its last one where the list ends before it. @param read reads a page */
export async function pageWithin<L extends ListPage<unknown>>(
  page: number,
  read: (page: number) => L | Promise<L>,
): Promise<L> {
  const found = await read(page);
  if (found.rows.length > 0 || found.page === 1) return found;
  const first = await read(1);
  return first.pages === 1 ? first : read(first.pages);
}

/** A page with its place in the list. @param total rows of the whole list */
export function listPage<T>(rows: readonly T[], total: number, page: number): ListPage<T> {
  const pages = Math.min(MOST_PAGES, Math.max(1, Math.ceil(total / PAGE_ROWS)));
  return { rows, total, page: offsetOf(page) / PAGE_ROWS + 1, pages };
}
