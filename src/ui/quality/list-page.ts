import type { ListPage } from "./quality-data.js";

/** Number of rows on a page of a list. */
export const PAGE_ROWS = 100;
/** Most pages that can be opened. Rows after them are found with a narrower filter. */
export const MOST_PAGES = 50;

/** The number of rows before a page, which is counted from 1. Page numbers that are too large mean the last page. */
export function offsetOf(page: number): number {
  return (Math.min(Math.max(1, Math.trunc(page) || 1), MOST_PAGES) - 1) * PAGE_ROWS;
}

/** A page of a list, or the last page where the list has fewer. @param read reads a page */
export async function pageWithin<L extends ListPage<unknown>>(
  page: number,
  read: (page: number) => L | Promise<L>,
): Promise<L> {
  const found = await read(page);
  if (found.rows.length > 0 || found.page === 1) return found;
  const first = await read(1);
  return first.pages === 1 ? first : read(first.pages);
}

/** A page with its position in the list. @param total number of rows of the whole list */
export function listPage<T>(rows: readonly T[], total: number, page: number): ListPage<T> {
  const pages = Math.min(MOST_PAGES, Math.max(1, Math.ceil(total / PAGE_ROWS)));
  return { rows, total, page: offsetOf(page) / PAGE_ROWS + 1, pages };
}
