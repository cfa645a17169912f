import { expect, onTestFinished, test } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { QueryError } from "../../../src/core/errors.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { apiLake } from "../api-lake.js";

/** DuckDB 1.5.5 fails inside for a rank over a frame without rows, and its database takes no further statement. */
const FATAL = `SELECT percent_rank(ORDER BY close) OVER (PARTITION BY symbol, trade_date ORDER BY symbol
  ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) FROM bars_1d`;

test("a statement that ends the engine's database says so, and the next ones have another database", async () => {
  const folder = temporaryFolder();
  await apiLake(folder);
  const lake = openLake(folder, { hasDatabase: false, threads: 1, segments: false });
  onTestFinished(() => lake.close());
  const count = async (): Promise<unknown> =>
    (await lake.query("SELECT count(*)::INTEGER AS bars FROM bars_1d")).rows();
  const before = await count();
  const failure = await lake.query(FATAL).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(QueryError);
  expect(failure).toMatchObject({
    message: expect.stringMatching(/^INTERNAL Error: (?!.*Stack Trace)/s) as string,
    hint: expect.stringMatching(/start another one, without this statement/) as string,
  });
  expect(await count()).toEqual(before);
  await expect(
    (async () => {
      for await (const _ of lake.stream(FATAL));
    })(),
  ).rejects.toThrow(/INTERNAL Error/);
  expect(await count()).toEqual(before);
});
