import { expect, test } from "vitest";
import { openReader } from "../../src/lake/open-reader.js";
import { temporaryLake } from "./temporary-lake.js";

test("a reader and its siblings read the footer of a data file once", async () => {
  using reader = await openReader(temporaryLake(), { threads: 1, statement: "FROM bars_1d" });
  using sibling = await reader.session.sibling();
  for (const session of [reader.session, sibling])
    expect(await session.json("SELECT current_setting('parquet_metadata_cache') AS is_cached")).toEqual([
      { is_cached: true },
    ]);
});
