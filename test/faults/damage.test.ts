import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type BarlakeError, LakeError, QueryError } from "../../src/core/errors.js";
import type { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { readHistory } from "../../src/lake/log/history.js";
import { checkTable } from "../../src/lake/maintenance/check/check-table.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { vacuum } from "../../src/lake/maintenance/vacuum.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { runCli } from "../cli/run-cli.js";
import { land, openSession, T0, temporaryFolder, temporaryLake } from "../lake/temporary-lake.js";
import { once } from "../once.js";
import { pickFrom } from "../sweep.js";

const DAY_2 = "2026-11-02T16:00:00Z";
const DAY_3 = "2026-11-03T16:00:00Z";

interface Place {
  readonly lake: Lake;
  readonly session: Session;
  /** A live file, relative to the table, and on disk. */
  readonly file: string;
  readonly path: string;
}

/** A lake with two live files: one of two symbols, one with a later bar. */
async function twoFiles(): Promise<Place> {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: DAY_2 }, { at: DAY_2, symbol: "000001.SZ" }], { now: T0 });
  const [file = ""] = (await lake.snapshot(BARS_1D)).files.keys();
  await land(session, lake, BARS_1D, [{ at: DAY_3 }], { now: T0 + 1000 });
  return { lake, session, file, path: join(lake.location, "bars_1d", file) };
}

/** The content that a fresh reader sees. */
async function rowsOf(lake: Lake): Promise<unknown> {
  const { session, snapshots } = await openReader(new Lake(lake.location), { statement: "bars_1d" });
  using reader = session;
  const rows = await reader.json("SELECT symbol, timestamp, close FROM bars_1d ORDER BY ALL");
  return { rows, version: snapshots.find(({ table }) => table === BARS_1D)?.version };
}

const flip = (path: string, at: (length: number) => number, count = 1): void => {
  const bytes = readFileSync(path);
  const start = at(bytes.length);
  for (let n = start; n < start + count; n++) bytes[n] = (bytes[n] as number) ^ 0x55;
  writeFileSync(path, bytes);
};

const isRoot = process.getuid?.() === 0;

/** Damage that makes a data file unreadable, and the expected message. */
const UNREADABLE: [string, (path: string) => unknown, RegExp][] = [
  ["missing", (path) => rmSync(path), /is missing/],
  [
    "a folder",
    (path) => {
      rmSync(path);
      mkdirSync(path);
    },
    /is missing|is not readable/,
  ],
  [
    "a link to nowhere",
    (path) => {
      rmSync(path);
      symlinkSync("/nowhere/at/all.parquet", path);
    },
    /is missing/,
  ],
  ["empty", (path) => truncateSync(path, 0), /is not (readable|what was written)/],
  ["cut", (path) => truncateSync(path, 900), /is not (readable|what was written)/],
  ["without its end", (path) => flip(path, (length) => length - 4, 4), /is not (readable|what was written)/],
];

if (!isRoot) UNREADABLE.push(["forbidden", (path) => chmodSync(path, 0), /is not readable/]);

test.each(pickFrom(UNREADABLE, { few: 2, more: 8, all: 8 }))(
  "a live file that is %s: each use names table and file, nothing changes, and the copy heals it",
  async (_, damage, what) => {
    const { lake, session, file, path } = await twoFiles();
    const before = await rowsOf(lake);
    const copy = join(temporaryFolder(), "copy");
    copyFileSync(path, copy);
    damage(path);
    const uses: Record<string, () => Promise<unknown>> = {
      read: () => rowsOf(lake),
      merge: () =>
        land(session, new Lake(lake.location), BARS_1D, [{ at: DAY_2, close: 9.5 }], { now: T0 + 2000 }),
      optimize: () => optimize(session, new Lake(lake.location), BARS_1D, { runId: "test" }),
    };
    for (const [name, use] of Object.entries(uses)) {
      const error: unknown = await use().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error, name).toSatisfy((one) => one instanceof QueryError || one instanceof LakeError);
      const { message, hint } = error as QueryError;
      expect(message.startsWith(`table bars_1d: ${file} `), `${name}: ${message}`).toBe(true);
      expect(message, name).toMatch(what);
      expect(message, name).not.toContain("\n");
      expect(hint, name).toMatch(/restore .* from a backup(, or run barlake repair)?; barlake check/);
    }
    const { findings } = await checkTable(new Lake(lake.location), BARS_1D, { deep: true });
    expect(findings.map((one) => [one.severity, one.file])).toEqual([["error", `bars_1d/${file}`]]);
    rmSync(path, { recursive: true, force: true });
    copyFileSync(copy, path);
    expect(await rowsOf(lake)).toEqual(before);
    // DuckDB caches what it has read of a file, including the damaged bytes.
    const later = await openSession();
    await land(later, lake, BARS_1D, [{ at: DAY_2, close: 9.5 }], { now: T0 + 2000 });
    await optimize(later, lake, BARS_1D, { runId: "test" });
    expect(await checkTable(new Lake(lake.location), BARS_1D, { deep: true })).toMatchObject({
      rows: 3,
      findings: [],
    });
  },
);

test.each(pickFrom([0.2, 0.4, 0.6, 0.8], { few: 1, more: 4, all: 4 }))(
  "a bit that flipped at %d of a live file is found, and no copy is made of its rows",
  async (where) => {
    const { lake, session, file, path } = await twoFiles();
    flip(path, (length) => Math.floor(length * where));
    const message = new RegExp(
      `^table bars_1d: ${file} is not (what was written: its hash is|readable)|^a Parquet file is damaged`,
    );
    const merged = land(session, lake, BARS_1D, [{ at: DAY_2, close: 9.5 }], { now: T0 + 2000 });
    await expect(merged).rejects.toThrow(message);
    await expect(optimize(session, lake, BARS_1D, { runId: "test" })).rejects.toThrow(message);
    expect((await new Lake(lake.location).snapshot(BARS_1D)).version).toBe(1);
    const { findings } = await checkTable(lake, BARS_1D, { deep: true });
    expect(findings.map((one) => [one.rule, one.file])).toEqual([["file_content", `bars_1d/${file}`]]);
  },
);

once(
  "serve: a request for a damaged file fails without a word of the lake, others do not, and the copy heals it",
  async () => {
    const { lake, path } = await twoFiles();
    const logged: unknown[] = [];
    const logger = { info: () => {}, warn: () => {}, error: (facts: unknown) => logged.push(facts) };
    /** Sends a request to a newly started service: a running one has the newest bars cached. */
    const serving = async () => {
      const service = await startService(lake, {
        port: 0,
        keys: plainKeys(["key"]),
        clock: { now: () => T0 },
        logger,
      });
      onTestFinished(() => service.close());
      return async (symbol: string): Promise<[number, string]> => {
        const url = `${service.url}/v1/klines/batch?symbols=${symbol}&period=1d&count=5&adjust=none`;
        const response = await fetch(url, { headers: { "x-api-key": "key" } });
        return [response.status, await response.text()];
      };
    };
    const whole = await (await serving())("000001.SZ");
    expect(whole[0]).toBe(200);
    const bytes = readFileSync(path);
    for (const damage of [() => rmSync(path), () => writeFileSync(path, bytes.subarray(0, 700))]) {
      const ask = await serving();
      damage();
      const [status, body] = await ask("000001.SZ");
      expect([status, body]).toEqual([500, expect.stringMatching(/"code":"INTERNAL"/)]);
      expect(body).not.toMatch(/parquet|bars_1d/);
      // The request or the verification at the same time may be the first to find the damage.
      expect(logged.at(-1)).toMatchObject({
        err: {
          message: expect.stringMatching(/^table bars_1d: .* is (missing|not readable|not what was written)/),
          hint: expect.any(String),
        },
      });
      expect((await ask("AAPL.US"))[0]).toBe(200);
      writeFileSync(path, bytes);
      expect(await ask("000001.SZ")).toEqual(whole);
    }
  },
);

const ENTRY = "00000000000000000001.json";

/** Damage to the newest log entry, and the expected message. */
const ENTRIES: [string, (path: string) => unknown, RegExp][] = [
  ["empty", (path) => truncateSync(path, 0), /is not readable: it is empty/],
  ["cut in the middle", (path) => truncateSync(path, 250), /is not readable: the last line is not JSON/],
  [
    "all zeros",
    (path) => writeFileSync(path, Buffer.alloc(4096)),
    /is not readable: the last line is not JSON/,
  ],
  [
    "another document",
    (path) => writeFileSync(path, "[1]\n{}\n"),
    /is not readable: line 1 is not a JSON object/,
  ],
  [
    "without an action",
    (path) => writeFileSync(path, "{}\n"),
    /is not readable: the last line has no action/,
  ],
  [
    "a folder",
    (path) => {
      rmSync(path);
      mkdirSync(path);
    },
    /is not readable: EISDIR/,
  ],
  [
    "a link to nowhere",
    (path) => {
      rmSync(path);
      symlinkSync("/nowhere/at/all.json", path);
    },
    /is missing/,
  ],
];

if (!isRoot) ENTRIES.push(["forbidden", (path) => chmodSync(path, 0), /is not readable: EACCES/]);

test.each(pickFrom(ENTRIES, { few: 2, more: 8, all: 8 }))(
  "a newest log entry that is %s is no older version: each use names it, and the copy heals it",
  async (_, damage, what) => {
    const { lake, session } = await twoFiles();
    const before = await rowsOf(lake);
    const path = join(lake.location, "bars_1d", "_delta_log", ENTRY);
    const copy = join(temporaryFolder(), "copy");
    copyFileSync(path, copy);
    damage(path);
    const fresh = (): Lake => new Lake(lake.location);
    const uses: Record<string, () => Promise<unknown>> = {
      read: () => rowsOf(lake),
      history: () => readHistory(fresh().storage, BARS_1D),
      land: () => land(session, fresh(), BARS_1D, [{ at: "2026-11-04T16:00:00Z" }], { now: T0 + 2000 }),
      optimize: () => optimize(session, fresh(), BARS_1D, { runId: "test" }),
      vacuum: () => vacuum(fresh(), BARS_1D, { now: T0 * 2, retentionMs: 0 }),
    };
    for (const [name, use] of Object.entries(uses)) {
      const error: unknown = await use().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      // The reader still opens, for the other tables: only the statement fails.
      expect(error, name).toBeInstanceOf(name === "read" ? QueryError : LakeError);
      const { message, hint } = error as BarlakeError;
      expect(message.startsWith(`table bars_1d: bars_1d/_delta_log/${ENTRY} `), `${name}: ${message}`).toBe(
        true,
      );
      expect(message, name).toMatch(what);
      expect(hint, name).toMatch(/restore it from a backup/);
    }
    const { findings } = await checkTable(fresh(), BARS_1D, { deep: true });
    expect(findings.map(({ severity, version }) => [severity, version])).toEqual([["error", 1]]);
    rmSync(path, { recursive: true, force: true });
    copyFileSync(copy, path);
    expect(await rowsOf(lake)).toEqual(before);
    expect((await land(session, fresh(), BARS_1D, [{ at: "2026-11-04T16:00:00Z" }])).version).toBe(2);
  },
);

once("on the command line damage is an error with a hint, without a stack, and exit code 1", async () => {
  const { lake, path } = await twoFiles();
  const csv = join(temporaryFolder(), "600519.SH.csv");
  writeFileSync(csv, "date,open,high,low,close,volume\n2026-11-03,10,11,9,10.25,100\n");
  const commands = [
    ["status"],
    ["sql", "from bars_1d"],
    ["import", "bars_1d", csv],
    ["optimize", "bars_1d"],
    ["check", "--deep"],
  ];
  truncateSync(path, 900);
  for (const command of commands) {
    const { code, stdout, stderr } = await runCli([...command, "--lake", lake.location]);
    expect([command[0], code]).toEqual([command[0], 1]);
    if (command[0] === "check") expect(stdout).toMatch(/^error +bars_1d +1 +file_size/m);
    else
      expect(stderr, command[0]).toMatch(
        /^error: .*table bars_1d: region=CN\/year=2026\/p-.*\nhint: +restore/,
      );
    expect(stderr, command[0]).not.toMatch(/^ {4}at /m);
  }
});
