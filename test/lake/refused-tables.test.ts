import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { QueryError } from "../../src/core/errors.js";
import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { openReader, queryArrow } from "../../src/lake/open-reader.js";
import { publish } from "../../src/lake/publish.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { land, openSession, T0, temporaryLake } from "./temporary-lake.js";

/** A lake with daily bars of two years, one file each, and minute bars. */
async function twoTables(): Promise<Lake> {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1M, [{ at: "2026-11-02T02:00:00Z", close: 10.25 }]);
  for (const year of [2025, 2026]) await land(session, lake, BARS_1D, [{ at: `${year}-11-02T16:00:00Z` }]);
  return lake;
}

const logEntry = (lake: Lake, version: number): string =>
  join(lake.location, "bars_1d", "_delta_log", `${String(version).padStart(20, "0")}.json`);

/** The data file of a year of daily bars. */
function fileOf(lake: Lake, year: number): string {
  const folder = join(lake.location, "bars_1d", "region=CN", `year=${year}`);
  return join(folder, readdirSync(folder)[0] as string);
}

const FAULTS: readonly [string, (lake: Lake) => void, RegExp][] = [
  [
    "asks for a protocol that is not known",
    (lake) =>
      writeFileSync(
        logEntry(lake, 2),
        `${JSON.stringify({ protocol: { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ["deletionVectors"] } })}\n`,
      ),
    /^table bars_1d: its log asks for reader version 3/,
  ],
  ["has a hole in its log", (lake) => rmSync(logEntry(lake, 0)), /^table bars_1d: its log begins neither/],
  [
    "lost its first file",
    (lake) => rmSync(fileOf(lake, 2025)),
    /^table bars_1d: region=CN\/year=2025\/p-\S+\.parquet is missing$/,
  ],
  [
    "lost its last file",
    (lake) => rmSync(fileOf(lake, 2026)),
    /^table bars_1d: region=CN\/year=2026\/p-\S+\.parquet is missing$/,
  ],
  [
    "has a first file that is no Parquet",
    (lake) => writeFileSync(fileOf(lake, 2025), "no Parquet"),
    /^table bars_1d: region=CN\/year=2025\/p-\S+\.parquet is not readable/,
  ],
];

describe.each(FAULTS)("a table that %s", (_, harm, message) => {
  test("makes only the statements fail that read it, by its name", async () => {
    const lake = await twoTables();
    harm(lake);
    const { session } = await openReader(new Lake(lake.location));
    using reader = session;
    expect(await reader.json("SELECT close FROM bars_1m")).toEqual([{ close: 10.25 }]);
    for (const sql of [
      "FROM bars_1d",
      "SELECT count(close) AS n FROM raw.bars_1d",
      "FROM bars_1m LEFT JOIN bars_1d USING (symbol)",
      "SELECT max(close) FROM daily_fundamentals",
    ]) {
      const error: unknown = await reader.json(sql).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(QueryError);
      expect(error).toMatchObject({ sql, message: expect.stringMatching(message) as string });
      expect((error as QueryError).hint).toMatch(/backup|restore/);
    }
    await expect(queryArrow(new Lake(lake.location), "FROM bars_1d").next()).rejects.toThrow(message);
    expect(await reader.json("DESCRIBE bars_1d")).toHaveLength(18);
  });

  test("is published with the others, and any client sees the reason", async () => {
    const lake = await twoTables();
    harm(lake);
    await publish(new Lake(lake.location));
    using client = await Session.open({ path: lake.databaseFile, readOnly: true });
    expect(await client.json("SELECT close FROM bars_1m")).toEqual([{ close: 10.25 }]);
    await expect(client.json("FROM bars_1d WHERE symbol = 'none' OR close > 0")).rejects.toThrow(message);
  });
});

test("a refused table does not pass for an empty one, in any query", async () => {
  const lake = await twoTables();
  FAULTS[0]?.[1](lake);
  const { session, refused, snapshots } = await openReader(lake);
  using reader = session;
  expect(refused.map(({ table }) => table.name)).toEqual(["bars_1d"]);
  expect(snapshots.map(({ table }) => table.name)).not.toContain("bars_1d");
  for (const sql of [
    "SELECT count(*) FROM raw.bars_1d",
    "FROM raw.bars_1d WHERE symbol = 'x'",
    "FROM raw.bars_1d WHERE symbol IS NULL",
    "FROM raw.bars_1d WHERE trade_date > DATE '2026-01-01' AND close > 3",
    "SELECT exists(FROM raw.bars_1d)",
    "FROM raw.bars_1m ANTI JOIN raw.bars_1d USING (symbol)",
    "SELECT close FROM raw.bars_1m UNION ALL SELECT close FROM raw.bars_1d",
    "FROM raw.bars_1d LIMIT 1",
  ])
    await expect(reader.json(sql)).rejects.toThrow(/^table bars_1d: its log asks/);
});

test("prices are not those of a lake without actions where these cannot be read", async () => {
  const lake = await twoTables();
  const folder = join(lake.location, "corporate_actions", "_delta_log");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${"0".repeat(20)}.json`), "{");
  const { session } = await openReader(lake);
  using reader = session;
  expect(await reader.json("SELECT count(*)::INTEGER AS n FROM adjusted('1d', 'none')")).toEqual([{ n: 2 }]);
  for (const sql of [
    "FROM ex_events",
    "FROM returns",
    "FROM adjusted('1d', 'forward')",
    "FROM total_return('1d')",
  ])
    await expect(reader.json(sql)).rejects.toThrow(/^table corporate_actions: /);
});

test("a version that is asked for by its number and cannot be read is still refused at once", async () => {
  const lake = await twoTables();
  const pointInTime = { versions: new Map([["bars_1d", 7]]) };
  await expect(openReader(lake, {}, pointInTime)).rejects.toThrow("table bars_1d: version 7 does not exist");
  const { refused } = await openReader(lake, {}, { asOf: T0 }).then(({ session, ...rest }) => {
    session.close();
    return rest;
  });
  expect(refused).toEqual([]);
});
