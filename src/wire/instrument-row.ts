import { INSTRUMENT_EXT } from "../schema/reference.js";
import type { Instrument } from "./resources.js";

/** An instrument as a row: known members of `ext` as separate columns, other members as JSON text. */
export function instrumentRow({
  symbol,
  code,
  exchange,
  region,
  name,
  type,
  ext,
}: Instrument): Record<string, unknown> {
  const { type: extType, ...members } = ext ?? {};
  const row: Record<string, unknown> = {
    symbol,
    code,
    exchange,
    region,
    name: name ?? null,
    type,
    ext_type: extType ?? null,
  };
  const other: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(members)) {
    const column = INSTRUMENT_EXT.find((c) => c.name === key);
    const fits = column && typeof value === (column.type === "double" ? "number" : "string");
    if (fits) row[key] = value;
    else if (value !== null) other[key] = value;
  }
  row.ext_other = Object.keys(other).length > 0 ? JSON.stringify(other) : null;
  return row;
}
