import { availableParallelism, cpus } from "node:os";
import { version as duckdbVersion } from "@duckdb/node-api";
import type { Benchmark, Size } from "./benchmark.js";
import { type CaseRunner, prepareApart, prepareHere, type Run, type WorkloadFacts } from "./case-runner.js";
import { median } from "./median.js";

/** A figure of a case: the median of its runs, and its ratio to the baseline's. */
interface Figure {
  readonly unit: string;
  readonly value: number;
  readonly ratio: number;
}

/** The result of a case. */
export interface CaseReport {
  readonly name: string;
  /** Milliseconds of each run, ascending. */
  readonly times: readonly number[];
  /** Milliseconds of processor time of each run, ascending; without those of other processes that a case starts. */
  readonly processorTimes: readonly number[];
  /** Rates first, in the order of the workload. */
  readonly figures: readonly Figure[];
}

/** The result of a benchmark. */
export interface BenchmarkReport {
  readonly name: string;
  readonly summary: string;
  /** The baseline comes first. */
  readonly cases: readonly CaseReport[];
}

/** How a benchmark is run. */
export interface HarnessOptions {
  readonly size: Size;
  /** Measured runs of each case. @default 7; for a lengthy benchmark 1 */
  readonly runs: number | undefined;
  /** Warm-up time of each case, at least one run, in which its code is compiled. 0: none. */
  readonly warmUpMs: number;
  /** Runs each case in a separate process, unless the benchmark shares one. */
  readonly apart: boolean;
}

/** A case's result differs from the baseline's. */
export class WrongResult extends Error {
  override readonly name = "WrongResult";
}

const DEFAULT_RUNS = 7;

/** Largest relative difference of two sums: double addition depends on the order of the summands. */
const TOLERANCE = 1e-9;

/**
 * Runs the cases of a benchmark in turns, so that a slowdown of the machine affects all of them.
 *
 * @throws {WrongResult} if a case's result differs from the baseline's.
 */
export async function measure(benchmark: Benchmark, options: HarnessOptions): Promise<BenchmarkReport> {
  const { size } = options;
  const runner = await (options.apart && !benchmark.shared
    ? prepareApart(benchmark, size)
    : prepareHere(benchmark, size));
  try {
    const { facts } = runner;
    if (!benchmark.lengthy)
      for (const index of facts.names.keys()) await warmUp(runner, index, options.warmUpMs);
    const turns: Run[][] = [];
    const count = options.runs ?? (benchmark.lengthy ? 1 : DEFAULT_RUNS);
    for (let turn = 0; turn < count; turn++) {
      const runs: Run[] = [];
      for (const index of orderOf(facts.names.length, turn)) runs[index] = await runner.run(index);
      compareResults(benchmark.name, facts, runs);
      turns.push(runs);
    }
    const runs = facts.names.map((_, index) => turns.map((turn) => turn[index] as Run));
    return { name: benchmark.name, summary: facts.summary, cases: reports(facts, runs) };
  } finally {
    await runner.close();
  }
}

/** The machine and the versions that figures belong to. */
export function machine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  return `${availableParallelism()} cores of ${model}, ${process.platform} ${process.arch}, Node ${process.versions.node}, DuckDB ${duckdbVersion()}`;
}

async function warmUp(runner: CaseRunner, index: number, leastMs: number): Promise<void> {
  for (let ms = 0; ms < leastMs; ) ms += (await runner.run(index)).ms;
}

/** Indices from 0 to `length`; each turn starts with another one, and every other turn goes backwards. */
function orderOf(length: number, turn: number): number[] {
  const order = Array.from({ length }, (_, k) => (k + turn) % length);
  return turn % 2 === 0 ? order : order.reverse();
}

function compareResults(benchmark: string, facts: WorkloadFacts, runs: readonly Run[]): void {
  const { names, baselines } = facts;
  for (const [index, name] of names.entries()) {
    const baseline = baselines[index] as number;
    const expected = runs[baseline]?.outcome.checks ?? {};
    const found = runs[index]?.outcome.checks ?? {};
    for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      if (isSame(expected[key], found[key])) continue;
      throw new WrongResult(
        `benchmark ${benchmark}: case "${name}" has ${key} ${found[key]}; case "${names[baseline]}" has ${expected[key]}`,
      );
    }
  }
}

function isSame(a: number | undefined, b: number | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));
}

function reports({ names, work, baselines }: WorkloadFacts, runs: readonly Run[][]): CaseReport[] {
  const values = runs.map((own) => {
    const seconds = median(own.map((run) => run.ms)) / 1000;
    const rates = Object.entries(work).map(([unit, amount]) => [unit, amount / seconds] as const);
    const units = Object.keys(own[0]?.outcome.figures ?? {});
    const others = units.map(
      (unit) => [unit, median(own.map((run) => run.outcome.figures?.[unit] ?? Number.NaN))] as const,
    );
    return new Map([...rates, ...others]);
  });
  return names.map((name, index) => ({
    name,
    times: ascending((runs[index] ?? []).map((run) => run.ms)),
    processorTimes: ascending((runs[index] ?? []).map((run) => run.processorMs)),
    figures: [...(values[index] ?? [])].map(([unit, value]) => ({
      unit,
      value,
      ratio: value / (values[baselines[index] as number]?.get(unit) ?? Number.NaN),
    })),
  }));
}

function ascending(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b);
}
