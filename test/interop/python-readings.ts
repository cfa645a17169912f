import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runPython } from "./python.js";
import { comparable, type Question, type Reading } from "./readings.js";

const ENGINES = ["delta-rs", "pyarrow", "polars"];
/** The engines that read what barlake writes; Daft 0.7.26 does not read the texts (Utf8View) that delta-rs writes. */
export const ALL_ENGINES = [...ENGINES, "DataFusion", "Daft", "ClickHouse"];

/** What each engine found, and what is expected of each: equal where all agree with us. */
export interface PythonReadings {
  readonly found: Readonly<Record<string, readonly object[]>>;
  readonly expected: Readonly<Record<string, readonly object[]>>;
}

/** Puts questions to the engines of Python. @param folder for a file between us and them. */
export function pythonReadings(
  folder: string,
  questions: readonly Question[],
  engines: readonly string[] = ENGINES,
): PythonReadings {
  const file = join(folder, "wanted.json");
  const wanted = questions.map((question) => question.wanted);
  writeFileSync(file, JSON.stringify(wanted));
  const theirs = Object.entries(
    runPython("delta/read_tables.py", file, ...engines) as Record<string, Reading[]>,
  );
  const responses = (readings: readonly Reading[]): object[] =>
    readings.map((reading, index) => ({ ...wanted[index], ...comparable(reading) }));
  const ours = responses(questions.map((question) => question.ours));
  return {
    found: Object.fromEntries(theirs.map(([engine, readings]) => [engine, responses(readings)])),
    expected: Object.fromEntries(engines.map((engine) => [engine, ours])),
  };
}
