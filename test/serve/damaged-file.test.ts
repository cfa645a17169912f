import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BARS_1D } from "../../src/schema/bars.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { landRows, serveForTest } from "./served-lake.js";

const bar = (symbol: string, day: string) => ({
  symbol,
  timestamp: Date.parse(`${day}T16:00:00Z`),
  open: 10,
  high: 11,
  low: 9,
  close: 10,
  volume: 100,
  amount: 1000,
});
const year = (symbol: string, start: number): string =>
  `/v1/klines/batch?symbols=${symbol}&adjust=none&start_time=${Date.UTC(start, 0)}&end_time=${Date.UTC(start, 11, 20)}`;

/** A service over a file of 2023 and one of 2024, of which the latter is not what was written, though it can be read. */
async function damagedYear({ verify = true } = {}) {
  let report: (error: unknown) => void = () => undefined;
  const reported = new Promise<unknown>((resolve) => {
    report = resolve;
  });
  const logger = { info: () => undefined, error: ({ err }: { err?: unknown }) => report(err) };
  const { ask, lake } = await serveForTest(
    async (empty) => {
      await landRows(empty, BARS_1D, [bar("600000.SH", "2023-03-06")]);
      await landRows(empty, BARS_1D, [bar("600000.SH", "2024-03-06")]);
    },
    { logger, verify },
  );
  const folder = join(lake.location, "bars_1d", "region=CN", "year=2024");
  const path = join(folder, readdirSync(folder)[0] as string);
  const copy = join(temporaryFolder(), "copy.parquet");
  copyFileSync(path, copy);
  const bytes = readFileSync(path);
  // A letter of the writer's name: the rows are read as before.
  bytes[bytes.indexOf("DuckDB")] = "X".charCodeAt(0);
  writeFileSync(path, bytes);
  return { ask, reported, heal: () => copyFileSync(copy, path) };
}

test("a damaged file is found before it is first read; requests that need it fail until it is put back", async () => {
  const { ask, reported, heal } = await damagedYear();
  const requests = [ask(year("600000.SH", 2024)), ask(year("600000.SH", 2024))];
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual([500, 500]);
  expect(await reported).toMatchObject({
    message: expect.stringMatching(
      /^table bars_1d: region=CN\/year=2024\/p-\S+\.parquet is not what was written/,
    ) as string,
    hint: expect.stringContaining("barlake repair") as string,
  });
  expect((await ask(year("600000.SH", 2024))).status).toBe(500);
  expect((await ask(year("600000.SH", 2023))).status).toBe(200);
  heal();
  expect((await ask(year("600000.SH", 2024))).status).toBe(200);
});

test("without verification a service reads what is there", async () => {
  const { ask } = await damagedYear({ verify: false });
  for (let attempt = 0; attempt < 3; attempt++) expect((await ask(year("600000.SH", 2024))).status).toBe(200);
});
