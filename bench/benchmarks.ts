import { columns } from "./cases/columns.js";
import { command } from "./cases/command.js";
import { dataset } from "./cases/dataset.js";
import { datasetMemory } from "./cases/dataset-memory.js";
import { history } from "./cases/history.js";
import { ingest } from "./cases/ingest.js";
import { ingestMemory } from "./cases/ingest-memory.js";
import { growthInBars, growthInFiles } from "./cases/lake/growth.js";
import { importFiles } from "./cases/lake/import.js";
import { land } from "./cases/lake/land.js";
import { landMemory } from "./cases/lake/land-memory.js";
import { open } from "./cases/lake/open.js";
import { query } from "./cases/lake/query.js";
import { scan } from "./cases/lake/scan.js";
import { store } from "./cases/lake/store.js";
import { views } from "./cases/lake/views.js";
import { library } from "./cases/library.js";
import { night } from "./cases/night.js";
import { segments } from "./cases/segments.js";
import { serve } from "./cases/serve.js";
import { stream } from "./cases/stream.js";
import { decode } from "./cases/wire/decode.js";
import { decodeShort } from "./cases/wire/decode-short.js";
import { encode } from "./cases/wire/encode.js";
import { encodeLong } from "./cases/wire/encode-long.js";
import { memory } from "./cases/wire/memory.js";
import { thread } from "./cases/wire/thread.js";
import type { Benchmark } from "./measure/benchmark.js";

/** Every benchmark, in the order of the data flow. */
export const BENCHMARKS: readonly Benchmark[] = [
  decode,
  decodeShort,
  memory,
  thread,
  encode,
  encodeLong,
  scan,
  land,
  importFiles,
  landMemory,
  open,
  ingest,
  ingestMemory,
  history,
  night,
  query,
  command,
  library,
  segments,
  views,
  serve,
  store,
  growthInFiles,
  growthInBars,
  stream,
  columns,
  dataset,
  datasetMemory,
];

export function benchmarkNamed(name: string): Benchmark | undefined {
  return BENCHMARKS.find((benchmark) => benchmark.name === name);
}
