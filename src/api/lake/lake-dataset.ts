import type { RecordBatch } from "apache-arrow";
import { type BuildOptions, type BuildReport, buildDataset } from "../../dataset/build-dataset.js";
import { type Dataset, type DatasetColumns, dataset } from "../../dataset/dataset.js";
import type { DatasetSpec } from "../../dataset/spec.js";
import type { Lake, PointInTime } from "../../lake/lake.js";

/** A dataset of a lake. Nothing is read before it is iterated, or one of its methods is called. */
export interface LakeDataset extends AsyncIterable<RecordBatch> {
  /** The definition, with every default. */
  readonly spec: DatasetSpec;
  /** Opens it: its symbols, dates and warnings, its rows and cells. The caller disposes it. */
  open(): Promise<Dataset>;
  /** All cells at once, aligned, for vectorised work: 8 bytes of memory per cell and field. */
  columns(): Promise<DatasetColumns>;
  /** Writes its files. */
  build(options?: Omit<BuildOptions, "pointInTime">): Promise<BuildReport>;
}

/** The dataset of a definition. Iterated, it gives all rows in order of time as record batches, in bounded memory. */
export function lakeDataset(
  lake: Lake,
  spec: DatasetSpec,
  options: { readonly pointInTime: PointInTime; readonly verify: boolean },
): LakeDataset {
  const open = (): Promise<Dataset> => dataset(lake, spec, options);
  return {
    spec,
    open,
    async *[Symbol.asyncIterator]() {
      using opened = await open();
      yield* opened.batches();
    },
    async columns() {
      using opened = await open();
      return await opened.columns();
    },
    build: (build = {}) => buildDataset(lake, spec, { ...build, pointInTime: options.pointInTime }),
  };
}
