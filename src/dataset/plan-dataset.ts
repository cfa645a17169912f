import { dateOfEpochDay } from "../core/time.js";
import type { Session } from "../db/session/session.js";
import type { Lake, PointInTime } from "../lake/lake.js";
import { openReader } from "../lake/open-reader.js";
import { basePeriod } from "../market/period.js";
import type { Block } from "./panel/block.js";
import { type Coverage, coverageOf } from "./panel/coverage.js";
import { type LakePanel, openPanel } from "./panel/lake-panel.js";
import { warningsOf } from "./panel/panel-warnings.js";
import type { DatasetFormat, DatasetSpec } from "./spec.js";
import { folderOf } from "./store/dataset-folder.js";

export interface DatasetPlan {
  readonly name: string;
  readonly format: DatasetFormat;
  readonly period: DatasetSpec["period"];
  readonly folder: string;
  readonly symbols: number;
  /** Symbols of the universe without trades in the window. */
  readonly absent: readonly string[];
  readonly labels: number;
  readonly first: string;
  readonly last: string;
  /** Rows between each symbol's first and last bar. */
  readonly rows: number;
  readonly fields: readonly {
    readonly name: string;
    /** Share of the sampled cells with trades that have no value. */
    readonly nulls: number;
  }[];
  readonly masks: readonly string[];
  readonly bytes: number;
  /** How many of the members the lake has bars of, on each date; undefined for a universe without dates of membership. */
  readonly coverage: Coverage | undefined;
  readonly warnings: readonly string[];
}

/** Estimated bytes of a value and of a mark in files of a format, measured with the simulated market. */
const BYTES: Readonly<Record<DatasetFormat, readonly [value: number, mark: number]>> = {
  qlib: [4, 4],
  "wide-parquet": [5.5, 0.1],
  "wide-arrow": [8, 0.125],
  "long-parquet": [5.5, 0.1],
  "long-arrow": [8, 0.125],
  "symbol-csv": [15, 2],
  "symbol-parquet": [6, 0.1],
  backtrader: [15, 0],
  "zipline-csvdir": [15, 0],
  lean: [11, 0],
};
/** Number of symbols in which missing values are counted. */
const SAMPLED = 50;
/** Share of a field's cells without a value from which on it is reported. */
const REPORTED_NULLS = 0.001;

/** Describes a dataset, with warnings, without writing anything. @throws as {@link openPanel} does. */
export async function planDataset(
  lake: Lake,
  spec: DatasetSpec,
  pointInTime: PointInTime = {},
): Promise<DatasetPlan> {
  const { session } = await openReader(lake, { memoryLimit: "1GB" }, pointInTime);
  using reader = session;
  return await planDatasetIn(reader, lake, spec);
}

/** {@link planDataset} in a session with the views of the lake. */
export async function planDatasetIn(reader: Session, lake: Lake, spec: DatasetSpec): Promise<DatasetPlan> {
  const panel = await openPanel(reader, spec);
  const { labels, symbols, fields, masks, axes } = panel;
  const rows = await countRows(reader, panel);
  const nulls = nullsOf(await panel.sample(SAMPLED));
  const coverage = await coverageOf(reader, panel);
  const isWide = spec.format.startsWith("wide");
  const cells = isWide ? labels.count * symbols.length : rows;
  const [value, mark] = BYTES[spec.format];
  const nullWarnings = fields.flatMap(({ name }, f) => {
    const part = nulls[f] ?? 0;
    return part >= REPORTED_NULLS
      ? [`field ${name} has no value in ${(part * 100).toFixed(1)} % of the sampled cells with trades`]
      : [];
  });
  return {
    name: spec.name,
    format: spec.format,
    period: spec.period,
    folder: folderOf(lake, spec),
    symbols: symbols.length,
    absent: axes.absent,
    labels: labels.count,
    first: dateOfEpochDay(labels.days[0] as number),
    last: dateOfEpochDay(labels.days[labels.count - 1] as number),
    rows,
    fields: fields.map(({ name }, f) => ({ name, nulls: nulls[f] ?? 0 })),
    masks,
    bytes: Math.round(cells * (fields.length * value + masks.length * mark)),
    coverage,
    warnings: [...(await warningsOf(reader, panel, { coverage })).texts, ...nullWarnings],
  };
}

/** Rows between each symbol's first and last day with trades; for minutes, times the average number per day. */
async function countRows(session: Session, { spec, labels, axes }: LakePanel): Promise<number> {
  const { days, symbols } = axes.tables;
  const [row] = await session.json<{ rows: number; sessions: number }>(
    `WITH sessions AS (SELECT day, row_number() OVER (ORDER BY day) AS n FROM ${spec.period.endsWith("m") ? `(SELECT DISTINCT day FROM ${days.name})` : `(SELECT DISTINCT label AS day FROM ${days.name})`}),
     spans AS (SELECT min(trade_date) AS first, max(trade_date) AS last FROM raw.bars_${basePeriod(spec.period)}
       SEMI JOIN ${symbols.name} USING (symbol) SEMI JOIN ${days.name} ON trade_date = day WHERE volume > 0 GROUP BY symbol)
     SELECT CAST((SELECT count(*) FROM spans JOIN sessions ON day BETWEEN first AND last) AS DOUBLE) AS rows,
       CAST((SELECT count(*) FROM sessions) AS DOUBLE) AS sessions`,
  );
  const perSession = labels.times === undefined ? 1 : labels.count / Math.max(1, row?.sessions ?? 1);
  return Math.round((row?.rows ?? 0) * perSession);
}

/** The share of a block's cells with trades that have no value, by field. */
function nullsOf({ fields, traded }: Block): number[] {
  const cells = traded.reduce((sum, one) => sum + one, 0);
  return fields.map((values) => {
    let missing = 0;
    for (let cell = 0; cell < values.length; cell++)
      if (traded[cell] === 1 && Number.isNaN(values[cell])) missing++;
    return cells === 0 ? 0 : missing / cells;
  });
}
