import type { Block, FieldCells, PanelField } from "../panel/block.js";

/**
 * Fills the days without trades between a symbol's first and last day with trades, at most `limit` in a row: prices
 * with the last close, volumes with 0, other values with the last value. Works in place; the masks do not change.
 *
 * @param closes cells of the adjusted close, NaN where nothing traded.
 */
export function fillGaps(
  { symbols, width, fields, traded, first, last }: Block,
  columns: readonly PanelField[],
  closes: FieldCells | undefined,
  limit: number,
): void {
  for (let s = 0; s < symbols.length; s++) {
    const base = s * width;
    let from = base + (first[s] as number);
    const end = base + (last[s] as number);
    if ((first[s] as number) < 0) continue;
    for (let cell = from + 1; cell <= end; cell++) {
      if (traded[cell] === 1) from = cell;
      else if (cell - from <= limit) fillCell(fields, columns, cell, from, closes);
    }
  }
}

function fillCell(
  fields: readonly FieldCells[],
  columns: readonly PanelField[],
  cell: number,
  from: number,
  closes: FieldCells | undefined,
): void {
  for (let f = 0; f < fields.length; f++) {
    const values = fields[f] as FieldCells;
    const kind = (columns[f] as PanelField).fill;
    if (kind === "none") continue;
    if (kind === "zero") values[cell] = 0;
    else if (kind === "close" && closes !== undefined) values[cell] = closes[from] as number;
    else values[cell] = values[from] as number;
  }
}
