import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { literal } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import { BLOCK_BYTES } from "../../../src/lake/sql-copy/build-sql-copy.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { addFile } from "../../lake/bar-files.js";
import { openSession, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
import { runCli } from "../run-cli.js";

/** Bars of a lake of which a copy for SQL pays. */
const ROWS = 200_000;

test("barlake sql reads the copy for SQL, and the data files where the copy is damaged", async () => {
  const [lake, session, folder] = [temporaryLake(), await openSession(), temporaryFolder()];
  const rows = `SELECT printf('%06d.SH', 600000 + s) AS symbol, timezone('UTC', trade_date - INTERVAL 8 HOUR) AS "timestamp",
      trade_date, 10.0 AS open, 10.0 AS high, 10.0 AS low, 10.0 + s AS close, d AS volume, 1000.0 AS amount,
      NULL::DOUBLE AS open_interest, 10.0 AS prev_close, NULL::DOUBLE AS settlement_price, 100 AS lot, true AS is_final
    FROM (SELECT s, d, DATE '2025-01-01' + d::INTEGER AS trade_date FROM range(${ROWS / 200}) a(s), range(200) b(d))`;
  await addFile(session, lake, BARS_1D, rows, { region: "CN", year: "2025" });
  const [path = ""] = (await lake.snapshot(BARS_1D)).files.keys();
  const file = join(lake.location, BARS_1D.name, path);
  const whole = readFileSync(file);
  const build = async (): Promise<void> => {
    await using open = openLake(lake.location, { segments: { folder } });
    await open.buildSegments();
  };
  await build();
  const copies = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".duckdb"),
  );
  expect(copies).toHaveLength(1);
  const copy = join(folder, copies[0] as string);
  const question = "SELECT count(*) AS n, sum(close)::INTEGER AS sum FROM bars_1d WHERE symbol = '600007.SH'";
  const ask = (sql = question, format = "csv") =>
    runCli(["sql", "--lake", lake.location, "--format", format, sql], { env: { BARLAKE_SEGMENTS: folder } });
  const answer = { code: 0, stdout: "n,sum\n200,3400\n" };
  expect(await ask()).toMatchObject(answer);
  writeFileSync(file, "damaged");
  expect(await ask()).toMatchObject(answer);
  writeFileSync(file, whole);
  const bytes = readFileSync(copy);
  // The blocks of the rows; the three headers and the first block have what is read when a database is attached.
  bytes.fill(0, 3 * 4096 + BLOCK_BYTES);
  writeFileSync(copy, bytes);
  expect(await ask()).toMatchObject(answer);
  expect(existsSync(copy)).toBe(false);

  // Rows that were printed before the damage was found are not printed again, as if there were more.
  await build();
  const block = await blockOfLastRows(session, copy);
  const later = readFileSync(copy);
  later.fill(0, 3 * 4096 + block * BLOCK_BYTES, 3 * 4096 + (block + 1) * BLOCK_BYTES);
  writeFileSync(copy, later);
  const printed = await ask("SELECT * FROM bars_1d", "markdown");
  expect(printed.code).toBe(1);
  expect(printed.stdout.split("\n").filter((line) => line.includes("trade_date")).length).toBeLessThan(2);
  expect(existsSync(copy)).toBe(false);
});

/** The number of a block of a copy that has values of the last rows of daily bars. */
async function blockOfLastRows(session: Session, copy: string): Promise<number> {
  await session.run(`ATTACH ${literal(copy)} AS looked_at (READ_ONLY)`);
  const [row] = await session.json<{ block: number }>(
    `SELECT block_id::INTEGER AS block FROM pragma_storage_info('looked_at.bars_1d')
     WHERE column_name = 'close' AND block_id >= 0 ORDER BY row_group_id DESC LIMIT 1`,
  );
  await session.run("DETACH looked_at");
  return (row as { block: number }).block;
}
