import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC } from "@uwdata/flechette";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { landRequests, type RequestRecord } from "../../src/jobs/ledger/ledger.js";
import type { Lake } from "../../src/lake/lake.js";
import { openReader } from "../../src/lake/open-reader.js";
import type {
  CoverageReport,
  FaultReport,
  FoundInstrument,
  InstrumentReport,
  LakeReport,
  MarketReport,
  MissingReport,
  NotebookLine,
  NotebookSource,
  StatementsReport,
} from "../../src/ui/page-data.js";
import { startWorkspace, type Workspace } from "../../src/ui/start-workspace.js";
import { apiLake, NOW } from "../api/api-lake.js";
import { PATIENT } from "./patient-session.js";
import { admitted, pageHeaders, visit } from "./workspace-visit.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-workspace-"));
const notebooks = join(folder, "notebooks");
let lake: Lake;
let workspace: Workspace;
let cookie: string;
let state: string;

beforeAll(async () => {
  lake = await apiLake(join(folder, "lake"));
  mkdirSync(notebooks);
  writeFileSync(
    join(notebooks, "own.sql"),
    `-- # Own <script>alert(1)</script>
-- %% param days = 3 min=1 max=5
-- %% param side = 'a' options=(SELECT unnest(['a', 'b']))
-- %%
SELECT $days AS days, '<img src=x onerror=alert(1)>' AS symbol;
-- %% chart line x=i y=i
SELECT i FROM range($days) t(i);
-- %%
SELECT 1;
SELECT 2 +
  nothing_here;
-- %%
COPY (SELECT 1) TO '/tmp/barlake-ui-notebook.csv';
`,
  );
  writeFileSync(
    join(notebooks, "endless.sql"),
    "SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) = 1;\n-- %%\nSELECT 1;\n",
  );
  workspace = await startWorkspace(lake, {
    notebooks,
    location: "my data/it's",
    limits: PATIENT,
    clock: { ...lake.clock, now: () => NOW },
  });
  cookie = await admitted(workspace.port, workspace.address());
  state = (await get<LakeReport>("state")).state;
});
afterAll(async () => {
  await workspace.close();
  rmSync(folder, { recursive: true });
});

async function get<T>(path: string, query: Readonly<Record<string, string>> = {}): Promise<T> {
  const { status, body } = await visit(workspace.port, `/api/${path}?${String(new URLSearchParams(query))}`, {
    cookie,
  });
  if (status !== 200) throw new Error(`${status} ${body}`);
  return JSON.parse(body) as T;
}

async function expected<T>(sql: string): Promise<T[]> {
  using reader = await openReader(lake, { verify: false });
  return await reader.session.json<T>(sql);
}

test("the market: each region's newest session, as SQL counts it", async () => {
  const { markets } = await get<{ markets: MarketReport[] }>("market", { state });
  const rows = await expected(
    `SELECT region, max(trade_date)::VARCHAR AS day, count(*) FILTER (close > prev_close)::INT AS up FROM bars_1d
     WHERE (region, trade_date) IN (SELECT (region, max(trade_date)) FROM bars_1d GROUP BY region) GROUP BY region ORDER BY region`,
  );
  expect(markets.map(({ region, day, up }) => ({ region, day, up }))).toEqual(rows);
  expect(markets[0]?.traded.length).toBeGreaterThan(0);
});

test("bars of every period arrive as Arrow, the newest window first and then the one before", async () => {
  const [{ symbol } = { symbol: "" }] = await expected<{ symbol: string }>(
    "SELECT symbol FROM bars_1m GROUP BY symbol ORDER BY symbol LIMIT 1",
  );
  for (const period of ["1m", "30m", "1d", "1M"]) {
    const query = new URLSearchParams({ state, symbol, period, adjust: "backward" });
    const reply = await fetch(`${workspace.url}/api/bars?${String(query)}`, { headers: { cookie } });
    const table = tableFromIPC(await reply.arrayBuffer());
    const [{ n } = { n: -1 }] = await expected<{ n: number }>(
      `SELECT count(*)::INT AS n FROM adjusted('${period}', 'backward') WHERE symbol = '${symbol}'`,
    );
    expect(table.numRows, period).toBe(n);
    const first = reply.headers.get("x-bars-from");
    if (first !== null && first !== "") {
      const before = new URLSearchParams({ state, symbol, period, adjust: "backward", to: first });
      const earlier = await fetch(`${workspace.url}/api/bars?${String(before)}`, { headers: { cookie } });
      expect(tableFromIPC(await earlier.arrayBuffer()).numRows).toBe(0);
      expect(earlier.headers.get("x-bars-earlier")).toBe("false");
    }
  }
});

test("an instrument is found, with its neighbours, its ex-events and its statements as they were known", async () => {
  const { found, total } = await get<{ found: FoundInstrument[]; total: number }>("search", { state, q: "" });
  expect(total).toBeGreaterThan(20);
  const symbol = found[1]?.symbol ?? "";
  const report = await get<InstrumentReport>("instrument", { state, symbol });
  expect([report.previous, report.next]).toEqual([found[0]?.symbol, found[2]?.symbol]);
  const events = await expected(
    `SELECT ex_date::VARCHAR AS day FROM ex_events WHERE symbol = '${symbol}' ORDER BY day`,
  );
  expect(report.exEvents.map(({ day }) => ({ day }))).toEqual(events);
  const all = await get<StatementsReport>("statements", { state, symbol });
  const early = await get<StatementsReport>("statements", { state, symbol, known: "1990-01-01" });
  expect(all.rows.length).toBeGreaterThan(0);
  expect(early.rows).toEqual([]);
});

test("coverage without requests says so, and counts bars", async () => {
  const { months, note } = await get<CoverageReport>("coverage", { state });
  expect(note).toBe("imported");
  const [{ bars } = { bars: -1 }] = await expected<{ bars: number }>(
    "SELECT count(*)::INT AS bars FROM bars_1d",
  );
  const daily = months.filter(({ dataset }) => dataset === "bars_1d");
  expect(daily.reduce((sum, month) => sum + month.bars, 0)).toBe(bars);
});

test("the command that requests what is missing can be pasted into a shell", async () => {
  const { command } = await get<MissingReport>("missing", {
    state,
    dataset: "bars_1d",
    region: "CN",
    month: "2024-01",
  });
  const words = execFileSync("sh", ["-c", `npx() { printf '%s\\n' "$@"; }; ${command}`], {
    encoding: "utf8",
  });
  expect(words.trimEnd().split("\n")).toEqual([
    "barlake",
    "run",
    "daily",
    "--repair",
    "--lake",
    "my data/it's",
  ]);
});

test("two instants with the same versions are one state, and each report says its instant", async () => {
  const instants = [NOW + 1000, NOW + 2000, NOW + 1000];
  const reports: LakeReport[] = [];
  for (const asof of instants) reports.push(await get<LakeReport>("state", { asof: String(asof) }));
  expect(reports.map(({ asOf }) => asOf)).toEqual(instants);
  expect(new Set(reports.map((report) => report.state)).size).toBe(1);
});

describe("a notebook", () => {
  async function linesOf(
    query: Readonly<Record<string, string>>,
    from = { port: workspace.port, cookie, state },
  ): Promise<NotebookLine[]> {
    const { name = "own", ...parameters } = query;
    const source = await visit(from.port, `/api/notebook?name=${name}`, { cookie: from.cookie });
    const { text } = JSON.parse(source.body) as NotebookSource;
    const { body } = await visit(
      from.port,
      `/api/notebook/run?${String(new URLSearchParams({ state: from.state, ...parameters }))}`,
      pageHeaders(from.port, from.cookie),
      "POST",
      JSON.stringify({ name, text }),
    );
    return body
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as NotebookLine);
  }

  test("stops when its time is up, and says what to do", async () => {
    const clock = { ...lake.clock, sleep: () => Promise.resolve() };
    await using limited = await startWorkspace(lake, { notebooks, clock });
    const { port } = limited;
    const visitor = await admitted(port, limited.address());
    const { body } = await visit(port, "/api/state", { cookie: visitor });
    const from = { port, cookie: visitor, state: (JSON.parse(body) as LakeReport).state };
    const lines = await linesOf({ name: "endless" }, from);
    expect(lines.filter(({ kind }) => kind === "cell" || kind === "end")).toEqual([]);
    expect(lines.at(-1)).toMatchObject({
      kind: "fault",
      fault: {
        message: "it took longer than 60 s, and was stopped",
        hint: expect.stringContaining("narrow it down") as string,
      },
    });
  });

  test("runs with the parameters of the address; faults are at their places; nothing is written", async () => {
    const lines = await linesOf({ "p.days": "4", "p.side": "b" });
    expect(lines[0]).toMatchObject({
      kind: "begin",
      parameters: [
        { name: "days", kind: "number", value: "4", min: 1, max: 5, options: null },
        { name: "side", kind: "text", value: "b", options: ["a", "b"] },
      ],
    });
    const cells = lines.filter((line) => line.kind === "cell");
    expect(cells[0]?.html).toContain("Own &lt;script&gt;");
    expect(cells[1]?.html).toContain("&lt;img src=x onerror=alert(1)&gt;");
    expect(JSON.stringify(cells[2]?.chart)).toContain('"values":[0,1,2,3]');
    // The wrong word is on the eleventh line of the file.
    expect(cells[3]?.html).toMatch(
      /<strong>line 11<\/strong>.*<pre class="place"> {2}nothing_here\n {2}\^<\/pre>/s,
    );
    expect(cells[4]?.html).toContain("COPY is not permitted");
    expect(lines.at(-1)).toEqual({ kind: "end" });
  });

  test("says what is wrong with a parameter", async () => {
    expect(await linesOf({ "p.days": "6" })).toMatchObject([
      { kind: "begin", parameters: [{ name: "days", value: "6" }, { name: "side" }] },
      { kind: "fault", fault: { message: expect.stringContaining("above 5") as string } },
    ]);
  });

  test("is one of the list: a path is none", async () => {
    for (const name of ["../own", "/etc/passwd", "nothing"])
      await expect(get("notebook", { name })).rejects.toThrow("there is no notebook");
  });
});

test("a commit makes another state, and the one before can still be read", async () => {
  const before = await get<LakeReport>("state");
  using reader = await openReader(lake, { verify: false });
  const request: RequestRecord = {
    runId: "r",
    pipeline: "p",
    requestId: "1",
    dataset: "bars_1d",
    endpoint: "GET /v1",
    symbols: ["600519.SH"],
    askedAt: NOW,
    status: "answered",
    attempts: 1,
    rows: 0,
    rejected: 0,
    bytes: 0,
    durationMs: 1,
    absent: [],
  };
  await landRequests(reader.session, lake, [request], { operation: "INGEST", runId: "r", now: NOW });
  const after = await get<LakeReport>("state");
  expect(after.state).not.toBe(before.state);
  const versions = (report: LakeReport): unknown =>
    report.tables.find(({ name }) => name === "requests")?.version;
  expect([versions(before), versions(after)]).toEqual([undefined, 0]);
  expect(await get("runs", { state: before.state })).toEqual({ runs: [] });
  await expect(get("runs", { state: "0123456789abcdef" })).rejects.toThrow("no longer open");
});

test("a lake that disappears is missed, not replaced by an empty one, and its return is seen", async () => {
  const before = await get<LakeReport>("state");
  renameSync(join(folder, "lake"), join(folder, "gone"));
  try {
    const reply = await visit(workspace.port, "/api/state", { cookie });
    expect(reply.status).toBe(503);
    expect((JSON.parse(reply.body) as FaultReport).message).toMatch(/^lake .*: its tables are gone$/);
    await expect(get("market", { state: before.state })).rejects.toThrow(/^(422|503)/);
  } finally {
    renameSync(join(folder, "gone"), join(folder, "lake"));
  }
  expect((await get<LakeReport>("state")).state).toBe(before.state);
  expect((await get<{ markets: MarketReport[] }>("market", { state: before.state })).markets).not.toEqual([]);
});
