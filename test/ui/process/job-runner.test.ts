import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { verifiedOf } from "../../../src/lake/files/verify-content.js";
import { Lake } from "../../../src/lake/lake.js";
import { StartedProcess } from "../../../src/ui/process/started-process.js";
import { apiLake } from "../../api/api-lake.js";
import { PATIENT } from "../patient-session.js";
import { cellsOf, openProcesses, perform } from "./open-processes.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-jobs-"));
let lake: Lake;

beforeAll(async () => {
  lake = await apiLake(join(folder, "lake"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a process that was started for other versions of the lake reads those that are requested", async () => {
  const { processes, run } = openProcesses(lake, PATIENT);
  processes.warm({ location: lake.location, views: undefined, pointInTime: { asOf: 1 } });
  const counted = await run(["SELECT count(*) > 0 AS has_bars FROM bars_1d"]);
  expect(cellsOf(counted)[0]?.html).toContain("<td>true</td>");
});

test("what a run has verified, no other process reads for that; what nobody has verified is", async () => {
  const own = await apiLake(join(folder, "damaged"));
  const sql = "SELECT sum(close) > 0 AS has_bars FROM bars_1d";
  const { run } = openProcesses(own, PATIENT);
  expect(cellsOf(await run([sql]))[0]?.html).toContain("<td>true</td>");
  const { content } = verifiedOf(own);
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
  const other = openProcesses(new Lake(own.location), PATIENT);
  expect(cellsOf(await other.run([sql]))[0]?.fault?.message).toContain("is not what was written");
});

test("a process gets the paths of verified files once, when it is started", async () => {
  const own = await apiLake(join(folder, "verified"));
  const { run } = openProcesses(own, PATIENT);
  const begun = vi.spyOn(StartedProcess.prototype, "perform");
  onTestFinished(() => begun.mockRestore());
  const sql = "SELECT sum(close) > 0 AS has_bars FROM bars_1d";
  await run([sql]);
  const first = verifiedOf(own);
  expect(first.content.length).toBeGreaterThan(0);
  await run([sql]);
  const none = { content: [], footers: [] };
  expect(begun.mock.calls.map(([, { verified }]) => verified)).toEqual([none, none]);
  const started = begun.mock.contexts as StartedProcess[];
  expect(started.map(({ setting }) => setting.verified)).toEqual([none, first]);
  expect(verifiedOf(own)).toEqual(first);
  expect(verifiedOf(own, { content: first.content.length - 1, footers: 0 })).toEqual({
    content: first.content.slice(-1),
    footers: first.footers,
  });
});

test("a notebook reads the user's own views", async () => {
  const views = join(folder, "views");
  mkdirSync(views);
  writeFileSync(join(views, "own.sql"), "CREATE VIEW own AS SELECT 41 + 1 AS answer;\n");
  const userViews = { folder: views, onFault: (error: Error) => expect.unreachable(error.message) };
  const { run } = openProcesses(new Lake(lake.location, { userViews }), PATIENT);
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
  const { processes } = openProcesses(refused, PATIENT);
  await expect(perform(processes, refused, "SELECT 1 AS one")).rejects.toThrow("status 503");
  expect(requests.length).toBeGreaterThan(0);
  // It opens the lake when it is started, and once more for its job.
  const most = Math.max(...requests.map((one) => requests.filter((other) => other === one).length));
  expect(most).toBeLessThanOrEqual(2);
});

test("what one run leaves behind, the next does not see", async () => {
  const { run } = openProcesses(lake, PATIENT);
  await run(["CREATE TABLE left_behind AS SELECT 1"]);
  expect(cellsOf(await run(["FROM left_behind"]))[0]?.fault?.message).toContain("left_behind");
});
