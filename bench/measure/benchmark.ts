/** The size of a benchmark: large enough for figures, or just enough to check that every case is correct. */
export type Size = "full" | "smoke";

/** The result of one run of a case. */
export interface Outcome {
  /** Counts and sums of the result, by name; they must equal the baseline's for every case. */
  readonly checks: Readonly<Record<string, number>>;
  /** Figures other than speed, by unit. */
  readonly figures?: Readonly<Record<string, number>>;
  /** Processor time of the processes that the measured part started and waited for, in milliseconds. @default none */
  readonly processesMs?: number;
}

/** Runs the measured part of a case; everything before and after is not timed. Called once per run. */
type Timed = <T>(work: () => T | Promise<T>) => Promise<T>;

/** One implementation of the work. */
export interface Case {
  readonly name: string;
  /** Name of the case that this one is compared with; a baseline names itself. @default the first case's */
  readonly baseline?: string;
  run(timed: Timed): Promise<Outcome>;
}

/** The work and its implementations. */
export interface Workload {
  /** The input, in a few words. */
  readonly summary: string;
  /** Amount of work per run, by the unit of its rate, such as "bars/s". Tables compare the first. */
  readonly work: Readonly<Record<string, number>>;
  /** The baseline comes first; if there are several, each comes before its cases. */
  readonly cases: readonly [Case, ...Case[]];
  /** Releases the resources of the workload. */
  close?(): Promise<void>;
}

/** A question about speed. Its workload is the same each time it is prepared. */
export interface Benchmark {
  readonly name: string;
  /** What is measured. */
  readonly doc: string;
  /** Whether the cases share a process and one input, if creating it takes minutes and a database does the work. */
  readonly shared?: boolean;
  /** Whether a run takes so long that it needs no warm-up, and one run is enough by default. */
  readonly lengthy?: boolean;
  prepare(size: Size): Promise<Workload>;
}
