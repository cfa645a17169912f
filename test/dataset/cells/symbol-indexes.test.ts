import { expect, test } from "vitest";
import { visitRows } from "../../../src/arrow/scan/result-columns.js";
import { symbolIndexes } from "../../../src/dataset/cells/cells.js";
import { literal } from "../../../src/db/quote.js";
import { openSession } from "../../lake/temporary-lake.js";

test("rows' symbols are found, of any length, in any order, and over several vectors", async () => {
  const session = await openSession({ threads: 1 });
  // Twelve bytes is the longest text that is within DuckDB's own form.
  const names = [
    "A.US",
    "ABCDEFGHI.US",
    "ABCDEFGHIJ.US",
    "ABCDEFGHIJKLMNOP.US",
    "ABCDEFGHIJKLMNOQ.US",
    "B.US",
    "Ü.US",
  ];
  const unknown = ["AA.US", "ABCDEFGHIJKLMNOR.US"];
  const rows = Array.from(
    { length: 10_000 },
    (_, n) => [...names, ...unknown][(n * 7919 + (n >> 5)) % 9] as string,
  );
  const sorted = [...rows].sort();
  for (const list of [rows, sorted]) {
    await session.run(
      `CREATE OR REPLACE TABLE symbols AS SELECT unnest([${list.map((name) => literal(name)).join()}]) AS symbol, 1 AS n`,
    );
    const range = {
      index: 0,
      start: 3,
      since: 0,
      symbols: names.map((symbol) => ({ symbol, region: "US" as const, memberRanges: [] })),
    };
    const find = symbolIndexes(range);
    const found: number[] = [];
    const indexes = new Int32Array(2048);
    await visitRows(await session.stream("FROM symbols"), { symbol: "text", n: "int32" }, (some) => {
      find(some.texts(0), indexes);
      found.push(...indexes.subarray(0, some.rows));
    });
    expect(found).toEqual(list.map((name) => names.indexOf(name)));
  }
});
