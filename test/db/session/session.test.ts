import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { QueryError } from "../../../src/core/errors.js";
import { Session } from "../../../src/db/session/session.js";
import { thisProcess } from "../../../src/lease/owner.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "barlake-session-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("queries", () => {
  test("bind values by position and by name", async () => {
    using session = await Session.open();
    expect(await session.rows("SELECT $1::INTEGER + $2::INTEGER AS sum", [2, 3])).toEqual([{ sum: 5 }]);
    expect(await session.json("SELECT $text || '!' AS text", { text: "it's" })).toEqual([{ text: "it's!" }]);
  });

  test("speak UTC, in any zone of the machine", async () => {
    using session = await Session.open();
    using sibling = await session.sibling();
    for (const one of [session, sibling]) {
      expect(await one.json("SELECT TIMESTAMPTZ '2024-03-07 16:00:00+00'::VARCHAR AS t")).toEqual([
        { t: "2024-03-07 16:00:00+00" },
      ]);
    }
  });

  test("give their result chunk by chunk, and all of it", async () => {
    using session = await Session.open();
    const result = await session.stream("SELECT i FROM range(5000) t(i)");
    let rows = 0;
    let chunks = 0;
    for (
      let chunk = await result.fetchChunk();
      chunk && chunk.rowCount > 0;
      chunk = await result.fetchChunk()
    ) {
      rows += chunk.rowCount;
      chunks += 1;
    }
    expect(rows).toBe(5000);
    expect(chunks).toBeGreaterThan(1);
  });

  test("that fail have their statement and their cause", async () => {
    using session = await Session.open();
    for (const how of ["run", "rows", "json", "stream"] as const) {
      const error: unknown = await session[how]("FROM nowhere").catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(QueryError);
      expect(error).toMatchObject({
        sql: "FROM nowhere",
        message: expect.stringContaining("nowhere") as string,
      });
      expect((error as QueryError).cause).toBeInstanceOf(Error);
    }
    expect(await session.rows("SELECT 1 AS still")).toEqual([{ still: 1 }]);
  });
});

describe("connections", () => {
  test("of siblings share tables, and each has separate temporary ones", async () => {
    using session = await Session.open();
    using sibling = await session.sibling();
    await session.run("CREATE TABLE shared AS SELECT 1 AS x");
    await session.run("CREATE TEMP TABLE own AS SELECT 2 AS x");
    expect(await sibling.rows("FROM shared")).toEqual([{ x: 1 }]);
    await expect(sibling.rows("FROM own")).rejects.toThrow(QueryError);
  });

  test("outlive a sibling that was closed", async () => {
    using session = await Session.open();
    const sibling = await session.sibling();
    sibling.close();
    expect(await session.rows("SELECT 1 AS x")).toEqual([{ x: 1 }]);
  });

  test("to a file: what was written is there after closing, and a reader cannot change it", async () => {
    const path = join(folder, "test.duckdb");
    const writer = await Session.open({ path });
    await writer.run("CREATE TABLE t AS SELECT 7 AS x");
    writer.close();
    using reader = await Session.open({ path, readOnly: true });
    expect(await reader.rows("FROM t")).toEqual([{ x: 7 }]);
    await expect(reader.run("INSERT INTO t VALUES (8)")).rejects.toThrow(/read-only/);
  });

  test("respect their settings", async () => {
    using session = await Session.open({ threads: 1, memoryLimit: "256MB" });
    const rows = await session.json(
      "SELECT current_setting('threads')::INTEGER AS threads, current_setting('memory_limit') AS memory",
    );
    expect(rows).toEqual([{ threads: 1, memory: "244.1 MiB" }]);
  });

  test("each spill to a separate folder, which is deleted with the session", async () => {
    const under = join(folder, "staging");
    const session = await Session.open({ threads: 1, memoryLimit: "60MB", spillUnder: under });
    await session.run("CREATE TEMP TABLE t AS SELECT i, hash(i) AS h FROM range(8_000_000) r(i)");
    expect(readdirSync(under)).toHaveLength(1);
    session.close();
    expect(readdirSync(under)).toEqual([]);
  });

  test("spill to the system's temp folder where the folder above theirs is missing, and do not make it", async () => {
    using session = await Session.open({ threads: 1, spillUnder: join(folder, "moved", "staging") });
    const [row] = await session.rows<{ place: string }>("SELECT current_setting('temp_directory') AS place");
    expect(dirname(row?.place ?? "")).toBe(tmpdir());
    expect(existsSync(join(folder, "moved"))).toBe(false);
  });

  test("delete what killed processes have spilled to the system's temp folder", async () => {
    const place = join(folder, "temp");
    const { machine, pid } = thisProcess();
    const ended = spawnSync(process.execPath, ["--version"]).pid;
    const container = "0123456789ab-0123456789ab-000000000000";
    const others = [
      `barlake-spill-${container}-${ended}-0a`,
      `barlake-spill-${machine}-${pid}-0a`,
      "barlake-spill-notes",
    ];
    for (const name of [`barlake-spill-${machine}-${ended}-0a`, ...others])
      mkdirSync(join(place, name, "data"), { recursive: true });
    vi.stubEnv("TMPDIR", place);
    onTestFinished(() => void vi.unstubAllEnvs());
    using session = await Session.open({ threads: 1, memoryLimit: "60MB" });
    expect(readdirSync(place).sort()).toEqual([...others].sort());
    await session.run("CREATE TEMP TABLE t AS SELECT i, hash(i) AS h FROM range(8_000_000) r(i)");
    const [own, ...more] = readdirSync(place).filter((name) => !others.includes(name));
    expect(own).toMatch(new RegExp(`^barlake-spill-${machine}-${pid}-[0-9a-f]{32}$`));
    expect(more).toEqual([]);
    session.close();
    expect(readdirSync(place).sort()).toEqual([...others].sort());
  });
});
