import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Clock } from "../../../src/core/time.js";
import { verifiedFiles } from "../../../src/lake/files/verify/verify-content.js";
import { Lake } from "../../../src/lake/lake.js";
import { isRunning } from "../../../src/lease/owner.js";
import { parseNotebook } from "../../../src/notebook/parse/parse-notebook.js";
import { runInProcess } from "../../../src/ui/notebooks/run-in-process.js";
import type { CellLine, NotebookLine } from "../../../src/ui/page-data.js";
import { QueryProcesses } from "../../../src/ui/process/query-processes.js";
import { StartedProcess } from "../../../src/ui/process/started-process.js";
import { StoredResults } from "../../../src/ui/results/stored-results.js";
import { LakeStates } from "../../../src/ui/session/lake-states.js";
import type { SessionLimits } from "../../../src/ui/session/session-limits.js";
import { apiLake } from "../../api/api-lake.js";
import { PATIENT } from "../patient-session.js";
import { queryProcessesOf } from "./started-processes.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-processes-"));
let lake: Lake;

beforeAll(async () => {
  lake = await apiLake(join(folder, "lake"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** One call of this function of DuckDB compares 90 billion pairs of characters. It cannot be interrupted. */
const ENDLESS = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))";
/** Less than the workspace permits: the memory of the machine is for all tests. */
const SMALL: SessionLimits = { ...PATIENT, processBytes: 300 * 2 ** 20 };

/** The results in the folder of a workspace, also those of its processes. */
function resultsIn(place: string): string[] {
  const all = readdirSync(place, { recursive: true, encoding: "utf8" });
  return all.filter((name) => name.endsWith(".duckdb") && !name.endsWith("empty.duckdb"));
}

/** The processes of a workspace, closed at the end of the test, and how its notebooks run. */
function opened(limits: SessionLimits, clock: Clock = lake.clock, read = lake) {
  const processes = new QueryProcesses(read, clock, limits);
  onTestFinished(() => processes[Symbol.asyncDispose]());
  const results = new StoredResults(processes);
  const run = async (
    cells: readonly string[],
    gone = new AbortController().signal,
    onLine: (line: NotebookLine) => void = () => {},
  ): Promise<NotebookLine[]> => {
    const { pointInTime } = await new LakeStates(read).newest();
    const job = {
      lake: { location: read.location, views: read.userViews?.folder, pointInTime },
      notebook: parseNotebook(cells.map((sql) => `-- %%\n${sql};\n`).join(""), "test"),
      given: new Map<string, string>(),
      requested: undefined,
    };
    const lines: NotebookLine[] = [];
    await runInProcess(job, { processes, results, clock }, gone, async (text) => {
      const line = JSON.parse(text) as NotebookLine;
      lines.push(line);
      onLine(line);
    });
    return lines;
  };
  return { processes, results, run };
}

const cellsOf = (lines: readonly NotebookLine[]): CellLine[] => lines.filter((line) => line.kind === "cell");
const spills = (): string[] =>
  existsSync(lake.work.staging)
    ? readdirSync(lake.work.staging).filter((name) => name.startsWith("spill-"))
    : [];

describe("a statement that needs too much memory is ended, and says so at its cell; the next run works", () => {
  const wide = Array.from({ length: 2000 }, (_, n) => `repeat(chr(${65 + (n % 20)}), 100) AS c${n}`).join(
    ", ",
  );
  test.each([
    ["one text", "SELECT repeat(repeat('x', 1000), 2000000)"],
    ["many wide columns", `SELECT ${wide} FROM range(10000) t(i)`],
    ["a list", "SELECT len(range(400000000))"],
  ])("%s", async (_, sql) => {
    const { processes, run } = opened(SMALL);
    const lines = await run(["SELECT 1 AS one", sql, "SELECT 2 AS two"]);
    const fault = {
      message: "it needed more than 300 MiB of memory, and was stopped",
      hint: expect.stringContaining("barlake sql has no such limit") as string,
    };
    expect(cellsOf(lines).map((cell) => [cell.line, cell.fault])).toEqual([
      [1, null],
      [3, { ...fault, line: 4, column: null }],
    ]);
    expect(cellsOf(lines)[1]?.html).toContain(fault.message);
    expect(lines.at(-1)).toEqual({ kind: "fault", fault });
    expect(spills()).toEqual([]);
    expect(resultsIn(processes.folder)).toEqual([`${cellsOf(lines)[0]?.results[0]?.id}.duckdb`]);
    const next = await run(["SELECT 41 + 1 AS answer"]);
    expect(cellsOf(next)[0]?.html).toContain("42");
  });
});

test("a statement that exceeds DuckDB's own limit says what to do, and the cells after it run", async () => {
  const { run } = opened(PATIENT);
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
  const { run } = opened({ timeLimitMs: 30_000 }, { ...lake.clock, sleep });
  for (let use = 0; use < 3; use++) {
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
  const { run } = opened(PATIENT);
  const page = new AbortController();
  let own: number[] = [];
  const lines = await run(["SELECT 1 AS one", ENDLESS], page.signal, ({ kind }) => {
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
  const { processes, run } = opened(PATIENT);
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
  const { processes, run } = opened(PATIENT);
  let own: number[] = [];
  let closing: PromiseLike<void> | undefined;
  const lines = await run(["SELECT 1 AS one", ENDLESS], undefined, ({ kind }) => {
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
  const { run } = opened(PATIENT);
  const lines = await run(["SELECT 1 AS one", ENDLESS], undefined, ({ kind }) => {
    if (kind === "cell") for (const pid of queryProcessesOf(process.pid)) process.kill(pid, "SIGSEGV");
  });
  expect(lines.at(-1)).toMatchObject({
    fault: { message: expect.stringContaining("the process of the query ended with SIGSEGV") as string },
  });
  expect(cellsOf(await run(["SELECT 41 + 1 AS answer"]))[0]?.html).toContain("42");
});

/** Runs one statement without `runInProcess`. @returns its output. */
async function perform(
  processes: QueryProcesses,
  sql: string,
  resultBytes: () => number,
  { location } = lake,
): Promise<string> {
  const job = {
    kind: "run",
    lake: { location, views: undefined, pointInTime: {} },
    notebook: parseNotebook(`-- %%\n${sql};\n`, "test"),
    given: new Map<string, string>(),
    requested: undefined,
  } as const;
  let output = "";
  const piece = async (text: string): Promise<void> => void (output += text);
  await processes.perform(job, { signal: new AbortController().signal, resultBytes }, { piece });
  return output;
}

test("a job gets another process where the machine ends the idle one before that has begun it", async () => {
  const { processes, run } = opened(PATIENT);
  await run(["SELECT 1 AS one"]);
  const idle = queryProcessesOf(process.pid);
  expect(idle).toHaveLength(1);
  // It is paused, so that it cannot begin the job.
  for (const pid of idle) process.kill(pid, "SIGSTOP");
  const output = perform(processes, "SELECT 41 + 1 AS answer", () => {
    setImmediate(() => {
      for (const pid of idle) process.kill(pid, "SIGKILL");
    });
    return 0;
  });
  expect(await output).toContain("42");
});

test("how much a run may store is decided when it begins, and not while it waits for another", async () => {
  const { processes, run } = opened(PATIENT);
  const pages = [new AbortController(), new AbortController()];
  const runs: Promise<NotebookLine[]>[] = [];
  for (const page of pages)
    await new Promise<void>((resolve) => {
      const onLine = ({ kind }: NotebookLine): void => (kind === "cell" ? resolve() : undefined);
      runs.push(run(["SELECT 1 AS one", ENDLESS], page.signal, onLine));
    });
  let asked = 0;
  const waiting = perform(processes, "SELECT 1 AS one", () => ++asked);
  await nextTurn();
  expect(asked).toBe(0);
  pages[0]?.abort(new Error("the page has gone"));
  await waiting;
  expect(asked).toBe(1);
  pages[1]?.abort(new Error("the page has gone"));
  await Promise.all(runs);
});

test("a process that was started for other versions of the lake reads those that are requested", async () => {
  const { processes, run } = opened(PATIENT);
  processes.warm({ location: lake.location, views: undefined, pointInTime: { asOf: 1 } });
  const counted = await run(["SELECT count(*) > 0 AS has_bars FROM bars_1d"]);
  expect(cellsOf(counted)[0]?.html).toContain("<td>true</td>");
});

test("what a run has verified, no other process reads for that; what nobody has verified is", async () => {
  const own = await apiLake(join(folder, "damaged"));
  const sql = "SELECT sum(close) > 0 AS has_bars FROM bars_1d";
  const { run } = opened(PATIENT, own.clock, own);
  expect(cellsOf(await run([sql]))[0]?.html).toContain("<td>true</td>");
  const { content } = verifiedFiles(own);
  expect(content.length).toBeGreaterThan(0);
  for (const path of content) {
    // The first column, which the statement does not read. Another lake may have the same file by a link.
    const file = join(own.location, path);
    const bytes = readFileSync(file);
    bytes[10] = (bytes[10] as number) ^ 1;
    rmSync(file);
    writeFileSync(file, bytes);
  }
  expect(cellsOf(await run([sql]))[0]?.html).toContain("<td>true</td>");
  const other = opened(PATIENT, own.clock, new Lake(own.location));
  expect(cellsOf(await other.run([sql]))[0]?.fault?.message).toContain("is not what was written");
});

test("a process gets the paths of verified files once, when it is started", async () => {
  const own = await apiLake(join(folder, "verified"));
  const { run } = opened(PATIENT, own.clock, own);
  const begun = vi.spyOn(StartedProcess.prototype, "perform");
  onTestFinished(() => begun.mockRestore());
  const sql = "SELECT sum(close) > 0 AS has_bars FROM bars_1d";
  await run([sql]);
  const first = verifiedFiles(own);
  expect(first.content.length).toBeGreaterThan(0);
  await run([sql]);
  const none = { content: [], footers: [] };
  expect(begun.mock.calls.map(([, { verified }]) => verified)).toEqual([none, none]);
  const started = begun.mock.contexts as StartedProcess[];
  expect(started.map(({ setting }) => setting.verified)).toEqual([none, first]);
  expect(verifiedFiles(own)).toEqual(first);
  expect(verifiedFiles(own, { content: first.content.length - 1, footers: 0 })).toEqual({
    content: first.content.slice(-1),
    footers: first.footers,
  });
});

test("a notebook reads the user's own views", async () => {
  const views = join(folder, "views");
  mkdirSync(views);
  writeFileSync(join(views, "own.sql"), "CREATE VIEW own AS SELECT 41 + 1 AS answer;\n");
  const userViews = { folder: views, onFault: (error: Error) => expect.unreachable(error.message) };
  const { run } = opened(PATIENT, lake.clock, new Lake(lake.location, { userViews }));
  expect(cellsOf(await run(["FROM own"]))[0]?.html).toContain("42");
});

test("a process waits as long for the lake's store as the workspace does", async () => {
  const requests: string[] = [];
  const store = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(503).end();
  });
  await new Promise<void>((resolve) => store.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void store.close());
  const { port } = store.address() as AddressInfo;
  const environment = {
    AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "secret",
    BARLAKE_WORK: join(folder, "work"),
  };
  const refused = new Lake("s3://lakes/refused", { environment, patience: { retries: 0 } });
  const { processes } = opened(PATIENT, lake.clock, refused);
  await expect(perform(processes, "SELECT 1 AS one", () => 0, refused)).rejects.toThrow("status 503");
  expect(requests.length).toBeGreaterThan(0);
  // It opens the lake when it is started, and once more for its job.
  const most = Math.max(...requests.map((one) => requests.filter((other) => other === one).length));
  expect(most).toBeLessThanOrEqual(2);
});

test("what one run leaves behind, the next does not see", async () => {
  const { run } = opened(PATIENT);
  await run(["CREATE TABLE left_behind AS SELECT 1"]);
  expect(cellsOf(await run(["FROM left_behind"]))[0]?.fault?.message).toContain("left_behind");
});

test("a result that is too large for a page says so, and can still be saved", async () => {
  const { run } = opened(PATIENT);
  const [cell] = cellsOf(await run(["SELECT repeat('x', 1000000) AS x FROM range(20)"]));
  expect(cell?.fault).toMatchObject({ line: 2, message: "the result is too large to be shown" });
  expect(cell?.results).toEqual([{ id: expect.any(String) as string, rows: 20 }]);
});
