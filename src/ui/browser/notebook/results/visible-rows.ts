/** Largest height of the scrolled content, in pixels. Browsers draw nothing beyond about ten million. */
const MOST_HEIGHT = 8_000_000;

/** The part of a scrolled table that is shown. */
export interface VisibleRows {
  /** The first row that is drawn, and the number of drawn rows. */
  readonly first: number;
  readonly count: number;
  /** Height of the whole content, and of the part above the first row, in pixels. */
  readonly height: number;
  readonly above: number;
}

/**
 * The rows that are visible in a table of many rows. If the table is higher than browsers can scroll, one pixel of the
 * scroll position is several pixels of the table.
 *
 * @param scrolled pixels above the view.
 * @param view height of the view in pixels.
 * @param row height of a row in pixels.
 * @param rows number of rows.
 */
export function visibleRows(scrolled: number, view: number, row: number, rows: number): VisibleRows {
  const height = Math.min(rows * row, MOST_HEIGHT);
  const count = Math.min(rows, Math.ceil(view / row) + 2);
  const most = Math.max(0, height - view);
  const at = Math.min(Math.max(0, scrolled), most);
  const isScaled = height < rows * row;
  const part = most === 0 ? 0 : at / most;
  const exact = isScaled ? part * (rows - view / row) : at / row;
  const first = Math.max(0, Math.min(Math.floor(exact), rows - count));
  const above = isScaled ? at - (exact - first) * row : first * row;
  return { first, count, height, above: Math.max(0, above) };
}
