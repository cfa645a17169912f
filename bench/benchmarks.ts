import { columns } from "./cases/columns.js";
import { dataset } from "./cases/dataset.js";
import { datasetMemory } from "./cases/dataset-memory.js";
import { decode } from "./cases/decode.js";
import { encode } from "./cases/encode.js";
import { ingest } from "./cases/ingest.js";
import { ingestMemory } from "./cases/ingest-memory.js";
import { land } from "./cases/land.js";
import { landMemory } from "./cases/land-memory.js";
import { library } from "./cases/library.js";
import { memory } from "./cases/memory.js";
import { open } from "./cases/open.js";
import { query } from "./cases/query.js";
import { scan } from "./cases/scan.js";
import { serve } from "./cases/serve.js";
import { thread } from "./cases/thread.js";
import { views } from "./cases/views.js";
import type { Benchmark } from "./measure/benchmark.js";

/** Every benchmark, in the order of the data flow. */
export const BENCHMARKS: readonly Benchmark[] = [
  decode,
  memory,
  thread,
  encode,
  scan,
  land,
  landMemory,
  open,
  ingest,
  ingestMemory,
  query,
  library,
  views,
  serve,
  columns,
  dataset,
  datasetMemory,
];

export function benchmarkNamed(name: string): Benchmark | undefined {
  return BENCHMARKS.find((benchmark) => benchmark.name === name);
}
