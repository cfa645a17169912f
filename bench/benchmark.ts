/** How much a benchmark works on: enough for figures, or just enough to show that every case is right. */
export type Size = "full" | "smoke";

/** What one run of a case came to. */
export interface Outcome {
  /** Counts and sums of the result, by name; those of every case must equal the baseline's. */
  readonly checks: Readonly<Record<string, number>>;
  /** Figures other than speed, by unit. */
  readonly figures?: Readonly<Record<string, number>>;
}

/** Runs the part of a case that is measured: everything before and after is free. Called once a run. */
type Timed = <T>(work: () => T | Promise<T>) => Promise<T>;

/** One way to do the work. */
export interface Case {
  readonly name: string;
  /** Name of the case that this one is compared with: its own, where it is a baseline. @default the first case's */
  readonly baseline?: string;
  run(timed: Timed): Promise<Outcome>;
}

/** The work, and the ways to do it. */
export interface Workload {
  /** What is worked on, in a few words. */
  readonly summary: string;
  /** Amount of work of a run, by the unit of its rate: bars by "bars/s", say. Tables compare the first. */
  readonly work: Readonly<Record<string, number>>;
  /** The baseline stands first; where there are several, each stands before its cases. */
  readonly cases: readonly [Case, ...Case[]];
  /** Gives back what the workload holds. */
  close?(): Promise<void>;
}

/** A question about speed. Its workload is equal each time it is prepared. */
export interface Benchmark {
  readonly name: string;
  /** What is measured. */
  readonly doc: string;
  /** Whether the cases share a process and one input: where making it takes minutes, and the work is a database's. */
  readonly shared?: boolean;
  /** Whether a run takes so long that it needs no warm-up, and one is enough unless more are asked for. */
  readonly lengthy?: boolean;
  prepare(size: Size): Promise<Workload>;
}
