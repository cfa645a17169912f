import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { literal } from "../../../../src/db/quote.js";
import type { Session } from "../../../../src/db/session/session.js";
import { declareDoubles } from "../../../../src/lake/files/parquet/add-run-columns.js";
import { openSession, temporaryFolder } from "../../temporary-lake.js";

/** Two files of the same rows, in three row groups: one of doubles, and one of the integers that have their bits. */
async function twoFiles(session: Session, values: readonly (number | null)[]) {
  const folder = temporaryFolder();
  const words = new BigInt64Array(new Float64Array(values.map((value) => value ?? 0)).buffer);
  const doubles = values.map((value) =>
    value === null ? "NULL" : `'${Object.is(value, -0) ? "-0" : value}'`,
  );
  const integers = values.map((value, i) => (value === null ? "NULL" : String(words[i])));
  const write = async (name: string, prices: readonly string[], type: string): Promise<string> => {
    const path = join(folder, `${name}.parquet`);
    await session.run(
      `COPY (SELECT i, 's' || i % 7 AS symbol, ([${prices.join(", ")}]::${type}[])[1 + i % ${prices.length}] AS price, -i AS other
         FROM range(5000) r(i) ORDER BY i) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)`,
    );
    return path;
  };
  return {
    expected: await write("doubles", doubles, "DOUBLE"),
    file: await write("bits", integers, "BIGINT"),
  };
}

test.each([
  ["prices", [10.5, 0.1, 1453.61, 1e-3, 7e15]],
  ["zeros and nulls", [0, null, 2.5]],
  ["only nulls", [null]],
  ["more than a dictionary has", Array.from({ length: 5000 }, (_, i) => i / 7)],
])("a file of bits, declared as doubles (%s), is to the byte the file of the doubles", async (_, values) => {
  const session = await openSession({ threads: 1 });
  const { expected, file } = await twoFiles(session, values);
  await declareDoubles(file, new Set(["price"]));
  expect(readFileSync(file).equals(readFileSync(expected))).toBe(true);
});

test.each([[-2], [-0], [Number.POSITIVE_INFINITY], [Number.NaN]])(
  "%d is no double whose bits are ordered: RangeError, and the file is as it was",
  async (value) => {
    const session = await openSession({ threads: 1 });
    const { file } = await twoFiles(session, [1, value]);
    const before = readFileSync(file);
    await expect(declareDoubles(file, new Set(["price"]))).rejects.toThrow("column price: has a number");
    expect(readFileSync(file).equals(before)).toBe(true);
  },
);
