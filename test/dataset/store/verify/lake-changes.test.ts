import { expect, test } from "vitest";
import { changesText, type TableChange } from "../../../../src/dataset/store/lake-changes.js";

const UNKNOWN = { was: undefined, isNow: undefined, examples: [], fault: "there are other rows" };
const tables = (...changes: Partial<TableChange>[]): TableChange[] =>
  changes.map((change) => ({ ...UNKNOWN, table: "bars_1d", from: 3, to: 3, ...change }));

test("tables of which nothing is known for the same reason share a sentence", () => {
  const known = { was: 1, isNow: 2, examples: ["600519.SH 2026-03-02"], to: 4 };
  expect(changesText(tables({}, { table: "trading_days", to: 5 }, { ...known, table: "income" }))).toBe(
    "income went from version 3 to 4: 1 rows of the dataset's days are no longer as they were, 2 are new or otherwise (600519.SH 2026-03-02); " +
      "bars_1d is at version 3, trading_days went from version 3 to 5; what changed in them cannot be determined: there are other rows",
  );
  expect(changesText(tables({}, { fault: "the log is gone" }))).toBe(
    "bars_1d is at version 3; what changed in it cannot be determined: there are other rows; " +
      "bars_1d is at version 3; what changed in it cannot be determined: the log is gone",
  );
});
