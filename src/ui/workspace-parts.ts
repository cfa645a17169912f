import type { Clock } from "../core/time.js";
import type { Lake } from "../lake/lake.js";
import type { SegmentBars } from "./instrument/segment-bars.js";
import type { QueryProcesses } from "./process/query-processes.js";
import type { StoredResults } from "./results/stored-results.js";
import type { RunPlace } from "./runs/started-runs.js";
import type { LakeStates } from "./session/lake-states.js";
import type { SessionReaders } from "./session/session-readers.js";

export interface WorkspaceParts {
  readonly lake: Lake;
  /** The location of the lake as the user named it, for commands that the page shows. */
  readonly location: string;
  readonly states: LakeStates;
  readonly readers: SessionReaders;
  readonly processes: QueryProcesses;
  readonly results: StoredResults;
  /** Reads bars of charts from segments; undefined: bars are read through sessions. */
  readonly segments: SegmentBars | undefined;
  readonly clock: Clock;
  /** Folder of the user's notebooks; undefined: there are only those that come with barlake. */
  readonly notebooks: string | undefined;
  /** Folder of the user's pipelines, as the parameter of `pipelineFiles`. */
  readonly pipelines: string | undefined;
  /** Where runs that are started from the page get their key. */
  readonly runPlace: RunPlace;
}
