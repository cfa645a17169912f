import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isRunning } from "../../../src/lease/owner.js";
import type { CellLine, LakeReport, NotebookLine } from "../../../src/ui/page-data.js";
import { apiLake } from "../../api/api-lake.js";
import { MAIN } from "../../cli/run-cli.js";
import { admitted, pageHeaders, visit } from "../workspace-visit.js";
import { queryProcessesOf } from "./started-processes.js";

/** Most memory of the workspace's own process at any time, in MiB. */
const MOST_MIB = 300;

/** One call of this function of DuckDB compares 90 billion pairs of characters. It cannot be interrupted. */
const ENDLESS = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))";
const textOf = (cells: readonly string[]): string => cells.map((sql) => `-- %%\n${sql};\n`).join("");

describe.skipIf(process.platform !== "linux")("the command barlake ui, as a process", () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-real-ui-"));
  const temporary = join(folder, "temporary");
  let lake: string;
  let child: ChildProcess;
  let address = "";
  let port = 0;
  let cookie = "";
  let state = "";

  beforeAll(async () => {
    lake = (await apiLake(join(folder, "lake"))).location;
    mkdirSync(temporary);
    child = spawn(process.execPath, [MAIN, "ui", "--no-open", "--port", "0", "--lake", lake], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        TMPDIR: temporary,
        BARLAKE_API_KEY: "the key of the service",
        AWS_SECRET_ACCESS_KEY: "the key of a store",
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    address = await new Promise<string>((resolve) => {
      let printed = "";
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        const found = /open (\S+)\n/.exec(printed)?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    port = Number(new URL(address).port);
    cookie = await admitted(port, address);
    state = (JSON.parse((await visit(port, "/api/state", { cookie })).body) as LakeReport).state;
  });
  afterAll(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });

  const pid = (): number => child.pid ?? 0;
  const start = (...cells: readonly string[]): Promise<NotebookLine[]> =>
    visit(
      port,
      `/api/notebook/run?state=${state}`,
      pageHeaders(port, cookie),
      "POST",
      JSON.stringify({ name: "typed", text: textOf(cells) }),
    ).then(({ body }) =>
      body
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as NotebookLine),
    );
  const cellsOf = (lines: readonly NotebookLine[]): CellLine[] =>
    lines.filter((line) => line.kind === "cell");
  /** The largest memory that the workspace's own process has had, in MiB. */
  const peak = (): number =>
    Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid()}/status`, "utf8"))?.[1]) / 1024;

  test("stays small where a statement needs too much memory, and goes on", async () => {
    const wide = Array.from({ length: 2000 }, (_, n) => `repeat(chr(${65 + (n % 20)}), 100) AS c${n}`).join(
      ", ",
    );
    for (const sql of ["SELECT repeat('x', 2000000000)", `SELECT ${wide} FROM range(10000) t(i)`]) {
      const cells = cellsOf(await start(sql));
      // A slow machine may not fill the memory in a minute.
      const limit = /^it (needed more than 1 GiB of memory|took longer than 60 s), and was stopped$/;
      expect(cells.map(({ fault }) => fault?.message)).toEqual([expect.stringMatching(limit)]);
    }
    const [cell] = cellsOf(await start("SELECT i, repeat('y', 20) AS text FROM range(1000000) t(i)"));
    const { id } = cell?.results[0] ?? {};
    const rows = await visit(port, `/api/result?id=${id}&from=999999&count=1`, { cookie });
    expect(JSON.parse(rows.body)).toMatchObject({ columns: [["999,999"], ["y".repeat(20)]] });
    expect(peak()).toBeLessThan(MOST_MIB);
  });

  test("passes no key to the processes that run statements", () => {
    const own = queryProcessesOf(pid());
    expect(own.length).toBeGreaterThan(0);
    for (const one of own) {
      const variables = readFileSync(`/proc/${one}/environ`, "utf8");
      expect(variables).toContain("HOME=");
      expect(variables).not.toContain("the key");
    }
  });

  test("leaves no process and no file, also where it is killed while statements run", async () => {
    const run = await fetch(`http://127.0.0.1:${port}/api/notebook/run?state=${state}`, {
      method: "POST",
      headers: pageHeaders(port, cookie),
      body: JSON.stringify({ name: "typed", text: textOf(["SELECT 1 AS one", ENDLESS]) }),
    });
    let [output, own]: [string, number[]] = ["", []];
    const read = async (): Promise<void> => {
      for await (const piece of run.body ?? []) {
        output += Buffer.from(piece).toString();
        if (own.length > 0 || !output.includes('"kind":"cell"')) continue;
        own = queryProcessesOf(pid());
        child.kill("SIGKILL");
      }
    };
    await expect(read()).rejects.toThrow("terminated");
    expect(own.length).toBeGreaterThan(0);
    await expect.poll(() => own.filter(isRunning), { timeout: 60_000 }).toEqual([]);
    expect(readdirSync(temporary).filter((name) => /^(barlake|spill)-/.test(name))).toEqual([]);
    const staged = join(lake, ".staging");
    expect(readdirSync(staged).filter((name) => name.startsWith("spill-"))).toEqual([]);
  });
});
