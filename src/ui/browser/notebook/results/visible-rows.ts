/** Height of the scrolled content at most, in pixels: browsers draw nothing beyond some ten million. */
const MOST_HEIGHT = 8_000_000;

/** What a scrolled table shows. */
export interface VisibleRows {
  /** The first row that is drawn, and how many. */
  readonly first: number;
  readonly count: number;
  /** Height of the whole content, and of what is above the first row. */
  readonly height: number;
  readonly above: number;
}

/**
 * The rows that are visible in a table of many rows. Where the table is higher than browsers can scroll, a pixel of the
 * position is several pixels of the table.
 *
 * @param scrolled pixels above the view. @param view height of the view. @param row height of a row. @param rows number
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
