import { availableParallelism, cpus } from "node:os";
import { version as duckdbVersion } from "@duckdb/node-api";
import { median } from "./median.js";

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
export type Timed = <T>(work: () => T | Promise<T>) => Promise<T>;

/** One way to do the work. */
export interface Case {
  readonly name: string;
  run(timed: Timed): Promise<Outcome>;
}

/** The work, made once, and the ways to do it. */
export interface Workload {
  /** What is worked on, in a few words. */
  readonly summary: string;
  /** Amount of work of a run, by the unit of its rate: bars by "bars/s", say. The first is the one tables compare. */
  readonly work: Readonly<Record<string, number>>;
  /** The baseline stands first. */
  readonly cases: readonly [Case, ...Case[]];
  /** Gives back what the workload holds. */
  close?(): Promise<void>;
}

/** A question about speed. */
export interface Benchmark {
  readonly name: string;
  /** What is measured, in one sentence. */
  readonly doc: string;
  prepare(size: Size): Promise<Workload>;
}

/** A figure of a case: the median of its runs, and its quotient by the baseline's. */
interface Figure {
  readonly unit: string;
  readonly value: number;
  readonly ratio: number;
}

export interface CaseReport {
  readonly name: string;
  /** Milliseconds of each run, ascending. */
  readonly times: readonly number[];
  /** Rates first, in the order of the workload. */
  readonly figures: readonly Figure[];
}

export interface BenchmarkReport {
  readonly name: string;
  readonly summary: string;
  readonly cases: readonly CaseReport[];
}

export interface HarnessOptions {
  readonly size: Size;
  /** Measured runs of each case. */
  readonly runs: number;
  /** Runs of each case before the measured ones, so that the code is compiled. */
  readonly warmUps: number;
}

/** A case's result is not the baseline's. */
export class WrongResult extends Error {
  override readonly name = "WrongResult";
}

/** Largest relative difference of two sums: double addition depends on the order of the summands. */
const TOLERANCE = 1e-9;

/**
 * Runs the cases of a benchmark in turns, so that a machine that slows down slows all of them.
 *
 * Garbage is not collected between runs: a full collection while no decoder is alive makes V8 drop the shapes of its
 * objects, and with them the code that was compiled for them (measured: a third of the decoder's speed).
 *
 * @throws {WrongResult} when a case's result differs from the baseline's.
 */
export async function measure(benchmark: Benchmark, options: HarnessOptions): Promise<BenchmarkReport> {
  const workload = await benchmark.prepare(options.size);
  try {
    const turns: Run[][] = [];
    for (let turn = 0; turn < options.warmUps + options.runs; turn++) {
      const runs: Run[] = [];
      for (const index of turned(workload.cases.length, turn))
        runs[index] = await runOnce(workload.cases[index] as Case);
      checkTurn(benchmark.name, workload, runs);
      if (turn >= options.warmUps) turns.push(runs);
    }
    const runs = workload.cases.map((_, index) => turns.map((turn) => turn[index] as Run));
    return { name: benchmark.name, summary: workload.summary, cases: reports(workload, runs) };
  } finally {
    await workload.close?.();
  }
}

/** The machine and the versions that figures belong to. */
export function machine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  return `${availableParallelism()} cores of ${model}, ${process.platform} ${process.arch}, Node ${process.versions.node}, DuckDB ${duckdbVersion()}`;
}

interface Run {
  readonly ms: number;
  readonly outcome: Outcome;
}

async function runOnce(one: Case): Promise<Run> {
  let ms: number | undefined;
  const outcome = await one.run(async (work) => {
    const start = performance.now();
    const result = await work();
    ms = performance.now() - start;
    return result;
  });
  if (ms === undefined) throw new TypeError(`case ${one.name} timed nothing`);
  return { ms, outcome };
}

/** Indices from 0 to `length`; another first in each turn, and every other turn backwards, so that neighbours change. */
function turned(length: number, turn: number): number[] {
  const order = Array.from({ length }, (_, k) => (k + turn) % length);
  return turn % 2 === 0 ? order : order.reverse();
}

/** Compares the results of a turn with the baseline's. */
function checkTurn(name: string, { cases }: Workload, runs: readonly Run[]): void {
  const expected = runs[0]?.outcome.checks ?? {};
  for (const [index, one] of cases.entries()) {
    const found = runs[index]?.outcome.checks ?? {};
    for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      if (isSame(expected[key], found[key])) continue;
      throw new WrongResult(
        `benchmark ${name}: case "${one.name}" has ${key} ${found[key]}; case "${cases[0].name}" has ${expected[key]}`,
      );
    }
  }
}

function isSame(a: number | undefined, b: number | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));
}

function reports({ cases, work }: Workload, runs: readonly Run[][]): CaseReport[] {
  const values = runs.map((own) => {
    const seconds = median(own.map((run) => run.ms)) / 1000;
    const rates = Object.entries(work).map(([unit, amount]) => [unit, amount / seconds] as const);
    const units = Object.keys(own[0]?.outcome.figures ?? {});
    const others = units.map(
      (unit) => [unit, median(own.map((run) => run.outcome.figures?.[unit] ?? Number.NaN))] as const,
    );
    return new Map([...rates, ...others]);
  });
  return cases.map(({ name }, index) => ({
    name,
    times: (runs[index] ?? []).map((run) => run.ms).sort((a, b) => a - b),
    figures: [...(values[index] ?? [])].map(([unit, value]) => ({
      unit,
      value,
      ratio: value / (values[0]?.get(unit) ?? Number.NaN),
    })),
  }));
}
