import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ServiceClient } from "../../../src/client/service-client.js";
import { systemClock } from "../../../src/client/system-clock.js";
import { Lake } from "../../../src/lake/lake.js";
import { takeRun } from "../../../src/lake/requests/run-lease.js";
import type { LakeReport } from "../../../src/ui/page-data.js";
import type {
  LiveReport,
  PipelinesReport,
  PlanReport,
  RunDetailsReport,
} from "../../../src/ui/runs/runs-data.js";
import type { RunPlace } from "../../../src/ui/runs/started-runs.js";
import { startWorkspace, type Workspace } from "../../../src/ui/start-workspace.js";
import { openScripted, type Script, type ScriptedService } from "../../faults/service/scripted-server.js";
import { json } from "../../faults/service/scripted-service.js";
import { dailyBars } from "../../jobs/scripted-market.js";
import { PATIENT } from "../patient-session.js";
import { admitted, visit } from "../workspace-visit.js";

const KEY = "key-that-no-page-may-see-0123456789";
const NO_LIMITS = { requestsPerMinute: { klines: 60 }, symbolsPerRequest: {}, rowCap: {} };
const folder = mkdtempSync(join(tmpdir(), "barlake-runs-"));
const pipelines = join(folder, "pipelines");
/** Nothing waits for it: the workspace has the machine's timers. */
const clock = { ...systemClock, now: () => Date.parse("2024-01-13T00:00:00Z") };
let lake: Lake;
let service: ScriptedService;
let workspace: Workspace;
let cookie: string;
let script: Script;
let bodies: string[] = [];

/** A place whose key is used as that of the command line is. */
const place = (): RunPlace => ({
  kind: "ready",
  host: new URL(service.url).host,
  requestsPerMinute: undefined,
  limits: async () => NO_LIMITS,
  open: async () => {
    const client = new ServiceClient({ baseUrl: service.url, apiKey: KEY, clock, retries: 0, timeoutMs: 0 });
    const limits = { limits: NO_LIMITS, note: undefined, learn: () => {}, saved: async () => {} };
    return { client, limits, lost: new AbortController().signal, close: () => client.close() };
  },
});

beforeAll(async () => {
  mkdirSync(pipelines);
  const mine = { name: "mine", doc: "<b>Mine</b>", kind: "bars", period: "1d", from: "2024-01-08" };
  writeFileSync(
    join(pipelines, "mine.mjs"),
    `export default ${JSON.stringify({ ...mine, symbols: ["600519.SH"], schedule: { at: "18:30", region: "CN" } })};\n`,
  );
  writeFileSync(join(pipelines, "broken.mjs"), `export default { name: "broken", kind: "nothing" };\n`);
  service = await openScripted((...call) => script(...call));
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  script = (seen, response) => json(response, 200, { data: dailyBars(seen) });
});

let made = 0;
async function open(runPlace?: RunPlace): Promise<AsyncDisposable> {
  lake = new Lake(join(folder, `lake-${++made}`), { hasDatabase: false });
  workspace = await startWorkspace(lake, {
    pipelines,
    runPlace,
    clock,
    location: "my data",
    limits: PATIENT,
  });
  cookie = await admitted(workspace.port, workspace.address());
  bodies = [];
  return workspace;
}

async function get<T>(path: string, query: Readonly<Record<string, string>> = {}): Promise<T> {
  const address = `/api/${path}?${String(new URLSearchParams(query))}`;
  const { status, body, headers } = await visit(workspace.port, address, { cookie });
  bodies.push(body, JSON.stringify(headers));
  if (status !== 200) throw new Error(`${status} ${body}`);
  return JSON.parse(body) as T;
}

/** Sends a body as the page does, unless the headers say otherwise; undefined leaves a header out. */
function post(
  path: string,
  body: string,
  headers: Readonly<Record<string, string | undefined>> = {},
): Promise<{ readonly status: number; readonly body: string }> {
  const { port, url } = workspace;
  const all = {
    cookie,
    origin: url,
    "sec-fetch-site": "same-origin",
    "content-type": "application/json",
    ...headers,
  };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: "127.0.0.1",
        port,
        path: `/api/${path}`,
        method: "POST",
        headers: { host: `127.0.0.1:${port}`, ...given },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => (text += piece));
        response.on("end", () => {
          bodies.push(text, JSON.stringify(response.headers));
          resolve({ status: response.statusCode ?? 0, body: text });
        });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}
const start = (pipeline = "mine") => post("runs/start", JSON.stringify({ pipeline }));
const newest = async (): Promise<string> => (await get<LakeReport>("state")).state;

/** The service does not respond any more. @returns what resolves with the next request */
function silent(): Promise<void> {
  return new Promise((resolve) => {
    script = () => resolve();
  });
}

/** Looks until the run of the pipeline has ended. */
async function ended(): Promise<NonNullable<LiveReport["started"][number]["ended"]>> {
  for (;;) {
    const { started } = await get<LiveReport>("runs/live");
    const end = started[0]?.ended;
    if (end != null) return end;
  }
}

describe("without a key", () => {
  test("nothing can be run, and the page says how to give one", async () => {
    await using _ = await open();
    const { right, pipelines: found } = await get<PipelinesReport>("pipelines", { state: await newest() });
    expect(right).toMatchObject({
      kind: "absent",
      hint: expect.stringContaining("BARLAKE_API_KEY") as string,
    });
    expect(found.find(({ name }) => name === "broken")?.fault?.message).toContain("pipeline broken");
    // The next evening of Shanghai that is a trading day: a Monday.
    expect(found.find(({ name }) => name === "mine")?.next).toBe(Date.parse("2024-01-15T10:30:00Z"));
    const { status, body } = await start();
    expect([status, body]).toEqual([400, expect.stringContaining("started without a key")]);
  });
});

describe("with a key", () => {
  test("a plan says what a run would request; the run lands it, and says what it changed", async () => {
    await using _ = await open(place());
    const plan = await get<PlanReport>("pipelines/plan", { pipeline: "mine" });
    expect(plan).toMatchObject({ requests: 1, requestsPerMinute: 60, minutes: 1 / 60 });
    expect((await get<PlanReport>("pipelines/plan", { pipeline: "reference" })).requests).toBeNull();
    expect((await start()).status).toBe(200);
    const end = await ended();
    expect(end.status).toMatch(/complete|partial/);
    const details = await get<RunDetailsReport>("runs/details", {
      state: await newest(),
      id: end.runId ?? "",
    });
    expect(details.run).toMatchObject({ pipeline: "mine", inserted: expect.any(Number) as number });
    const changed = details.changes.find(({ table }) => table === "bars_1d");
    expect(changed).toMatchObject({ before: -1, inserted: details.run.inserted, filesRemoved: 0 });
    expect(details.run.inserted).toBeGreaterThan(0);
    const list = await get<{ rows: { id: string }[] }>("runs/list", {
      state: await newest(),
      pipeline: "mine",
    });
    expect(list.rows.map(({ id }) => id)).toEqual([end.runId]);
    expect(bodies.join("\n")).not.toContain(KEY);
  });

  test("a pipeline runs once at a time, and stops with what arrived; a refused key is in no response", async () => {
    await using _ = await open(place());
    const asked = silent();
    await start();
    await asked;
    const again = await start();
    expect([again.status, again.body]).toEqual([400, expect.stringContaining("a run of it goes on")]);
    expect((await get<LiveReport>("runs/live")).started[0]).toMatchObject({ ended: null, isStopping: false });
    expect((await post("runs/stop", '{"pipeline":"mine"}')).status).toBe(200);
    expect((await ended()).status).toBe("interrupted");
    expect((await post("runs/stop", '{"pipeline":"mine"}')).status).toBe(400);
    script = (_seen, response) => json(response, 401, { error: { message: `no such key ${KEY}` } });
    await start();
    expect((await ended()).status).toMatch(/refused|failed/);
    script = (_seen, response) => json(response, 500, { error: { message: `broken by ${KEY}` } });
    await start();
    expect(await ended()).toMatchObject({ status: "failed", reasons: [expect.stringContaining("500")] });
    expect(bodies.join("\n")).not.toContain(KEY);
  });

  test("a workspace that closes ends the run first", async () => {
    await open(place());
    const asked = silent();
    await start();
    await asked;
    await workspace.close();
    await using _ = await startWorkspace(lake, { pipelines, clock, limits: PATIENT });
    cookie = await admitted(_.port, _.address());
    const { body } = await visit(_.port, "/api/state", { cookie });
    const query = String(new URLSearchParams({ state: (JSON.parse(body) as LakeReport).state }));
    const runs = await visit(_.port, `/api/runs/list?${query}`, { cookie });
    expect(runs.body).toContain('"status":"interrupted"');
  });

  test("only the page itself starts a run, and only of a pipeline by its name", async () => {
    await using _ = await open(place());
    const body = '{"pipeline":"mine"}';
    const statuses = [
      await post("runs/start", body, { origin: undefined }),
      await post("runs/start", body, { origin: "http://127.0.0.1:1" }),
      await post("runs/start", body, { "sec-fetch-site": "same-site" }),
      await post("runs/start", body, { cookie: undefined }),
      await post("runs/start", body, { host: "evil.example" }),
      await post("runs/start", body, { "content-type": "text/plain" }),
      await post("runs/start", JSON.stringify({ pipeline: join(pipelines, "mine.mjs") })),
      await post("runs/start", '{"pipeline":["mine"]}'),
      await post("runs/start", `{"pipeline":"${"x".repeat(9000)}"}`),
      await visit(workspace.port, "/api/runs/start", { cookie }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([403, 403, 403, 401, 403, 400, 400, 400, 413, 404]);
    expect((await get<LiveReport>("runs/live")).started).toEqual([]);
  });
});

test("a run of another process is seen by its lease, which does not change", async () => {
  await using _ = await open();
  const subject = { pipeline: "daily", asks: ["bars_1d"], tables: ["bars_1d"] };
  const lease = await takeRun(lake, { ...subject, runId: "20240112T235900Z-abcdef" }, { clock });
  const { others } = await get<LiveReport>("runs/live");
  expect(others).toMatchObject([
    {
      runId: "20240112T235900Z-abcdef",
      startedAt: Date.parse("2024-01-12T23:59:00Z"),
      owner: expect.stringContaining(`process ${process.pid}`) as string,
      pipeline: "daily",
      asks: ["bars_1d"],
    },
  ]);
  await lease.release();
});
