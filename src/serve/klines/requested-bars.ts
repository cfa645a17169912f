import type { TimeRange } from "../../core/time.js";
import { selectFiles } from "../../lake/files/prune.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";

/** A requested symbol, in the form in which it is bound to a query as JSON. */
interface RequestedSymbol {
  readonly symbol: string;
  /** Index in the requested list: the query returns it instead of the symbol. */
  readonly position: number;
  /** Shares in one unit of the volume in the response. */
  readonly unit: number;
  /** Range of the timestamps of landed bars, in epoch milliseconds, end exclusive. */
  readonly start: number;
  readonly end: number;
  /** Range of the labels of the bars in the response, in epoch milliseconds, end exclusive. */
  readonly label_start: number;
  readonly label_end: number;
}

/** Instants that DuckDB, the calendar and JSON can all represent: the years 1 to 9999. */
export const ALL_TIME: TimeRange = { start: -62_135_596_800_000, end: 253_402_300_800_000 };

const STRUCTURE =
  '[{"symbol":"VARCHAR","position":"INTEGER","unit":"INTEGER","start":"BIGINT","end":"BIGINT","label_start":"BIGINT","label_end":"BIGINT"}]';

/** The CTE `requested`: one row for each {@link RequestedSymbol} of a bound JSON text. */
export function requestedSql(parameter: string): string {
  return `requested AS (
    SELECT w.symbol, w.position, w.unit, w.label_start, w.label_end,
      make_timestamptz(w."start" * 1000) AS range_start, make_timestamptz(w."end" * 1000) AS range_end
    FROM (SELECT unnest(from_json(${parameter}, '${STRUCTURE}')) AS w))`;
}

/** The inputs of a query over some symbols of a table. */
export interface Demands {
  /** The files that could contain a requested bar. */
  readonly files: DataFile[];
  /** Symbols with a known exchange. Other symbols are in no table. */
  readonly requested: RequestedSymbol[];
}

const ALWAYS = (): TimeRange => ALL_TIME;

/** Shares in one unit of volume of a region. */
export const lotOf = (region: Region): number => REGIONS[region].lot;

/** What is requested of the symbols. */
interface RequestedParts {
  /** The range of a symbol's landed bars. @default all of time */
  readonly rangeOf?: (symbol: string) => TimeRange;
  /** The range of the labels of the response's bars. @default all of time */
  readonly labelsOf?: (region: Region) => TimeRange;
  /** Shares in one unit of the volume in the response. @default the region's unit */
  readonly unitOf?: (region: Region) => number;
}

/** Computes the inputs of a query over some symbols of a table. */
export function demandsOf(
  snapshot: Snapshot,
  symbols: readonly string[],
  { rangeOf = ALWAYS, labelsOf = ALWAYS, unitOf = lotOf }: RequestedParts = {},
): Demands {
  const demands = new Map<string, { region: Region; symbols: string[]; range: TimeRange }>();
  const requested: RequestedSymbol[] = [];
  for (const [position, symbol] of symbols.entries()) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    const range = rangeOf(symbol);
    const { start: label_start, end: label_end } = labelsOf(region);
    requested.push({ symbol, position, unit: unitOf(region), ...range, label_start, label_end });
    const key = `${region} ${range.start} ${range.end}`;
    const demand = demands.get(key);
    if (demand === undefined) demands.set(key, { region, symbols: [symbol], range });
    else demand.symbols.push(symbol);
  }
  for (const demand of demands.values()) demand.symbols.sort();
  return { files: selectFiles(snapshot.files.values(), [...demands.values()]), requested };
}
