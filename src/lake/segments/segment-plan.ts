import { compareText } from "../../core/text-order.js";
import { epochDay } from "../../core/time.js";
import { isRegion, type Region } from "../../market/regions.js";
import { isSymbol, regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { hashInName } from "../files/data-file.js";
import { isInItsFolder } from "../files/partition-folder.js";
import { partitionDates, statedBounds } from "../files/prune.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";

/** A data file, and the days that its partition permits for its bars. */
export interface PlannedFile {
  readonly file: DataFile;
  /** Days since 1970-01-01; `nextDay` is exclusive. */
  readonly firstDay: number;
  readonly nextDay: number;
  /** The first day as the partition states it: a year, or the first day of a month. */
  readonly partition: number;
  /** The least and the greatest symbol of the file; undefined where the log does not state them. */
  readonly symbols: { readonly min: string; readonly max: string } | undefined;
}

/** The files of a table of bars by region, each list in the order of the partitions. */
export type SegmentPlan = ReadonlyMap<Region, readonly PlannedFile[]>;

const PLANS = new WeakMap<Snapshot, { readonly plan: SegmentPlan | undefined }>();

/**
 * Plans how bars of a version of a table are read from segments.
 *
 * @returns undefined where only the view can return the rows: for tables without bars, for columns that another program
 *   or another version of this one has added, and for files of other programs.
 */
export function segmentPlan(snapshot: Snapshot): SegmentPlan | undefined {
  const known = PLANS.get(snapshot);
  if (known !== undefined) return known.plan;
  const plan = planOf(snapshot);
  PLANS.set(snapshot, { plan });
  return plan;
}

function planOf({ table, columns, files }: Snapshot): SegmentPlan | undefined {
  const { span } = table;
  if ((table !== BARS_1D && table !== BARS_1M) || span === undefined) return undefined;
  const isDeclared =
    columns.length === table.columns.length &&
    columns.every(
      ({ name, type }, at) => name === table.columns[at]?.name && type === table.columns[at]?.type,
    );
  if (!isDeclared) return undefined;
  const plan = new Map<Region, PlannedFile[]>();
  for (const file of files.values()) {
    const region = file.partitionValues.region ?? "";
    const dates = partitionDates(span, file);
    if (dates === undefined || !isRegion(region)) return undefined;
    if (hashInName(file.path) === undefined || !isInItsFolder(table, file)) return undefined;
    const symbols = statedBounds(file, "symbol");
    // Bars of a symbol are searched for only in the files of the symbol's region, while the view finds them in any
    // file.
    if (symbols && !(isOfRegion(symbols.min, region) && isOfRegion(symbols.max, region))) return undefined;
    const [firstDay, nextDay] = [epochDay(dates.first), epochDay(dates.next)];
    const partition = span.unit === "year" ? Number(dates.first.slice(0, 4)) : firstDay;
    const own = plan.get(region) ?? [];
    own.push({ file, firstDay, nextDay, partition, symbols });
    plan.set(region, own);
  }
  for (const own of plan.values())
    own.sort((a, b) => a.firstDay - b.firstDay || compareText(a.file.path, b.file.path));
  return plan;
}

function isOfRegion(symbol: string, region: Region): boolean {
  return isSymbol(symbol) && regionOf(symbol) === region;
}
