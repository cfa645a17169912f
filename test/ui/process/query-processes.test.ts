import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BarlakeError } from "../../../src/core/errors.js";
import type { Lake } from "../../../src/lake/lake.js";
import { isRunning } from "../../../src/lease/owner.js";
import type { NotebookLine } from "../../../src/ui/page-data.js";
import { LakeStates } from "../../../src/ui/session/lake-states.js";
import type { SessionLimits } from "../../../src/ui/session/session-limits.js";
import { apiLake } from "../../api/api-lake.js";
import { PATIENT } from "../patient-session.js";
import { cellsOf, openProcesses, perform } from "./open-processes.js";
import { queryProcessesOf } from "./started-processes.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-processes-"));
let lake: Lake;

beforeAll(async () => {
  lake = await apiLake(join(folder, "lake"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** One call of this function of DuckDB compares 90 billion pairs of characters. It cannot be interrupted. */
const ENDLESS = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))";
/** It takes no processor time. */
const LONG = "SELECT sleep_ms(600000)";
/** Less than the workspace permits: the memory of the machine is for all tests. */
const SMALL: SessionLimits = { ...PATIENT, processBytes: 300 * 2 ** 20 };

/** The results in the folder of a workspace, also those of its processes. */
function resultsIn(place: string): string[] {
  const all = readdirSync(place, { recursive: true, encoding: "utf8" });
  return all.filter((name) => name.endsWith(".duckdb") && !name.endsWith("empty.duckdb"));
}

const spills = (): string[] =>
  existsSync(lake.work.staging)
    ? readdirSync(lake.work.staging).filter((name) => name.startsWith("spill-"))
    : [];

test("a statement that needs too much memory is ended, and says so at its cell; the next run works", async () => {
  const { processes, run } = openProcesses(lake, SMALL);
  const lines = await run([
    "SELECT 1 AS one",
    "SELECT repeat(repeat('x', 1000), 2000000)",
    "SELECT 2 AS two",
  ]);
  const fault = {
    message: "it needed more than 300 MiB of memory, and was stopped",
    hint: expect.stringContaining("barlake sql has no such limit") as string,
  };
  expect(cellsOf(lines).map((cell) => [cell.line, cell.fault])).toEqual([
    [1, null],
    [3, { ...fault, line: 4, column: null }],
  ]);
  expect(cellsOf(lines)[1]?.html).toContain(fault.message);
  // The line of the cell is the last one: a run without an end has stopped.
  expect(lines.at(-1)).toMatchObject({ kind: "cell", line: 3, fault });
  expect(spills()).toEqual([]);
  expect(resultsIn(processes.folder)).toEqual([`${cellsOf(lines)[0]?.results[0]?.id}.duckdb`]);
  expect(cellsOf(await run(["SELECT 41 + 1 AS answer"]))[0]?.html).toContain("42");
});

test("a statement that exceeds DuckDB's own limit says what to do, and the cells after it run", async () => {
  const { run } = openProcesses(lake, PATIENT);
  const lines = await run([
    "SELECT list(repeat('x', 1000) || i) FROM range(10000000) t(i)",
    "SELECT 1 AS one",
  ]);
  const [failed, next] = cellsOf(lines);
  expect(failed?.fault?.message).toMatch(/^Out of Memory Error: [^\n]*$/);
  expect(failed?.fault?.hint).toContain("narrow it down");
  expect(next?.fault).toBeNull();
});

test("a function that cannot be interrupted is ended when the time is up, and gives its permit back", async () => {
  let wake = (): void => {};
  const sleep = (_: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      wake = resolve;
      signal?.addEventListener("abort", () => reject(new Error("ended")));
    });
  const { run } = openProcesses(lake, { timeLimitMs: 30_000 }, { ...lake.clock, sleep });
  for (let use = 0; use < 2; use++) {
    const lines = await run(["SELECT 1 AS one", ENDLESS], undefined, ({ kind }) => {
      if (kind === "cell") wake();
    });
    expect(lines.at(-1)).toMatchObject({
      kind: "fault",
      fault: { message: "it took longer than 30 s, and was stopped" },
    });
  }
  expect(cellsOf(await run(["SELECT 41 + 1 AS answer"]))[0]?.html).toContain("42");
});

test("the process ends with its page, and before the run does", async () => {
  const { run } = openProcesses(lake, PATIENT);
  const page = new AbortController();
  let own: number[] = [];
  const lines = await run(["SELECT 1 AS one", LONG], page.signal, ({ kind }) => {
    if (kind !== "cell") return;
    own = queryProcessesOf(process.pid);
    page.abort(new Error("the page has gone"));
  });
  expect(cellsOf(lines)[0]?.fault).toBeNull();
  expect(own).toHaveLength(1);
  expect(own.filter(isRunning)).toEqual([]);
  expect(spills()).toEqual([]);
});

test("a process that is ended while it stores a result leaves no file that the workspace does not know", async () => {
  const { processes, run } = openProcesses(lake, PATIENT);
  const page = new AbortController();
  const large = "SELECT i, repeat('x', 100) AS text FROM range(10000000000) t(i)";
  let shown = 0;
  const running = run(["SELECT 1 AS one", large], page.signal, ({ kind }) => {
    if (kind === "cell") shown += 1;
  });
  await expect.poll(() => [shown, resultsIn(processes.folder).length], { timeout: 60_000 }).toEqual([1, 2]);
  page.abort(new Error("the page has gone"));
  const [first] = cellsOf(await running);
  expect(resultsIn(processes.folder)).toEqual([`${first?.results[0]?.id}.duckdb`]);
});

test("no process and no folder is left after the workspace has closed, also where statements run", async () => {
  const { processes, run } = openProcesses(lake, PATIENT);
  let own: number[] = [];
  let closing: PromiseLike<void> | undefined;
  const lines = await run(["SELECT 1 AS one", LONG], undefined, ({ kind }) => {
    if (kind !== "cell" || closing !== undefined) return;
    own = queryProcessesOf(process.pid);
    closing = processes[Symbol.asyncDispose]();
  });
  await closing;
  expect(lines.at(-1)).toMatchObject({ fault: { message: "the workspace is closing" } });
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter(isRunning)).toEqual([]);
  expect([existsSync(processes.folder), spills()]).toEqual([false, []]);
});

test("a process that ends by an error of its own says so at the cell, and the next run works", async () => {
  const { run } = openProcesses(lake, PATIENT);
  const lines = await run(["SELECT 1 AS one", LONG], undefined, ({ kind }) => {
    if (kind === "cell") for (const pid of queryProcessesOf(process.pid)) process.kill(pid, "SIGSEGV");
  });
  expect(lines.at(-1)).toMatchObject({
    fault: { message: expect.stringContaining("the process of the query ended with SIGSEGV") as string },
  });
  expect(cellsOf(await run(["SELECT 41 + 1 AS answer"]))[0]?.html).toContain("42");
});

test("a job gets another process where the machine ends the idle one before that has begun it", async () => {
  const { processes, run } = openProcesses(lake, PATIENT);
  await run(["SELECT 1 AS one"]);
  const idle = queryProcessesOf(process.pid);
  expect(idle).toHaveLength(1);
  // It is paused, so that it cannot begin the job.
  for (const pid of idle) process.kill(pid, "SIGSTOP");
  const output = perform(processes, lake, "SELECT 41 + 1 AS answer", () => {
    setImmediate(() => {
      for (const pid of idle) process.kill(pid, "SIGKILL");
    });
    return 0;
  });
  expect(await output).toContain("42");
});

test("a process that opens a lake which was just moved away does not make its folder again", async () => {
  const { processes, run } = openProcesses(lake, PATIENT);
  const { pointInTime } = await new LakeStates(lake).newest();
  processes.warm({ location: lake.location, views: undefined, pointInTime });
  const idle = queryProcessesOf(process.pid);
  expect(idle).toHaveLength(1);
  // It is paused, so that it opens the lake after the move.
  for (const pid of idle) process.kill(pid, "SIGSTOP");
  renameSync(lake.work.path, join(folder, "elsewhere"));
  try {
    for (const pid of idle) process.kill(pid, "SIGCONT");
    await expect(perform(processes, lake, "SELECT count(*) FROM bars('1d')")).rejects.toThrow(BarlakeError);
    expect(existsSync(lake.work.path)).toBe(false);
  } finally {
    renameSync(join(folder, "elsewhere"), lake.work.path);
  }
  expect(cellsOf(await run(["SELECT 41 + 1 AS answer"]))[0]?.html).toContain("42");
});

test("how much a run may store is decided when it begins, and not while it waits for another", async () => {
  const { processes, run } = openProcesses(lake, PATIENT);
  const pages = [new AbortController(), new AbortController()];
  const runs: Promise<NotebookLine[]>[] = [];
  for (const page of pages)
    await new Promise<void>((resolve) => {
      const onLine = ({ kind }: NotebookLine): void => (kind === "cell" ? resolve() : undefined);
      runs.push(run(["SELECT 1 AS one", LONG], page.signal, onLine));
    });
  let asked = 0;
  const waiting = perform(processes, lake, "SELECT 1 AS one", () => ++asked);
  await nextTurn();
  expect(asked).toBe(0);
  pages[0]?.abort(new Error("the page has gone"));
  await waiting;
  expect(asked).toBe(1);
  pages[1]?.abort(new Error("the page has gone"));
  await Promise.all(runs);
});

test("a result that is too large for a page says so, and can still be saved", async () => {
  const { run } = openProcesses(lake, PATIENT);
  const [cell] = cellsOf(await run(["SELECT repeat('x', 1000000) AS x FROM range(20)"]));
  expect(cell?.fault).toMatchObject({ line: 2, message: "the result is too large to be shown" });
  expect(cell?.results).toEqual([{ id: expect.any(String) as string, rows: 20 }]);
});
