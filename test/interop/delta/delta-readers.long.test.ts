import { join } from "node:path";
import { expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { openSession, T0, temporaryFolder } from "../../lake/temporary-lake.js";
import { pythonHas } from "../python.js";
import { ALL_ENGINES, pythonReadings } from "../python-readings.js";
import { type Question, questionsOf } from "../readings.js";
import { fillEventfulLake, ODD_SYMBOL } from "./eventful-lake.js";
import { checkpointsAlone, commitsAlone, newestCheckpoint } from "./log-copies.js";

const ready = pythonHas("deltalake", "pyarrow", "polars", "datafusion", "daft", "chdb");

const FILTERS = [
  { symbol: ODD_SYMBOL },
  { since: "2026-10-02T05:00:00+00:00" },
  { symbol: "000168.SZ", since: "2026-11-02T21:45:00+05:45" },
];

test.skipIf(!ready)(
  "the engines of Python read every table as we do: old and new versions, from commits and from checkpoints",
  async () => {
    const [folder, session] = [temporaryFolder(), await openSession()];
    const lake = new Lake(join(folder, "lake"));
    await fillEventfulLake(lake, T0);
    const commits = commitsAlone(lake, join(folder, "commits"));
    const checkpoints = await checkpointsAlone(lake, join(folder, "checkpoints"), T0);
    const questions = [
      ...(await questionsOf(session, lake, { filters: FILTERS })),
      ...(await questionsOf(session, commits, { oldest: (table) => newestCheckpoint(checkpoints, table) })),
      ...(await questionsOf(session, checkpoints, {
        oldest: (table) => newestCheckpoint(checkpoints, table),
        filters: FILTERS,
      })),
    ];
    expectVariety(questions);
    const { found, expected } = pythonReadings(folder, questions, ALL_ENGINES);
    expect(found).toEqual(expected);
  },
);

/** The lake has all that this test is about; else it would say less than it seems to. */
function expectVariety(questions: readonly Question[]): void {
  const types = new Set(questions.flatMap(({ ours }) => Object.values(ours.columns)));
  expect(types.size).toBe(8);
  const values = new Set(questions.flatMap(({ ours }) => ours.rows.flat(1)));
  for (const value of [null, ODD_SYMBOL, "9007199254741047", 5e-324, 1e300, "1969-12-31"])
    expect(values).toContain(value);
  const lists = questions.flatMap(({ ours }) => ours.rows.flat(1)).filter(Array.isArray);
  expect(new Set(lists.map(({ length }) => length))).toEqual(new Set([0, 1, 2, 3]));
  expect(new Set(questions.map(({ ours }) => Object.keys(ours.columns).length)).size).toBeGreaterThan(8);
  expect(questions.every(({ ours }) => ours.rows.length > 0)).toBe(true);
}
