import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditLake } from "../../../src/jobs/maintenance/audit-lake.js";
import type { Lake } from "../../../src/lake/lake.js";
import type { LakeReport } from "../../../src/ui/page-data.js";
import type {
  EvidenceReport,
  FindingsReport,
  ListPage,
  RuleCount,
  RulesReport,
  SubjectReport,
} from "../../../src/ui/quality/quality-data.js";
import { startWorkspace, type Workspace } from "../../../src/ui/start-workspace.js";
import { PATIENT } from "../patient-session.js";
import { admitted, visit } from "../workspace-visit.js";
import { faultyRowsLake, HOSTILE, LONG } from "./faulty-rows-lake.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-quality-"));
let lake: Lake;
let workspace: Workspace;
let cookie: string;
let state: string;

beforeAll(async () => {
  lake = await faultyRowsLake(join(folder, "lake"));
  workspace = await startWorkspace(lake, { location: "my data", limits: PATIENT });
  cookie = await admitted(workspace.port, workspace.address());
  state = (await get<LakeReport>("state")).state;
});
afterAll(async () => {
  await workspace.close();
  rmSync(folder, { recursive: true });
});

async function get<T>(path: string, query: Readonly<Record<string, string>> = {}): Promise<T> {
  const address = `/api/${path}?${String(new URLSearchParams(query))}`;
  const { status, body } = await visit(workspace.port, address, { cookie });
  if (status !== 200) throw new Error(`${status} ${body}`);
  return JSON.parse(body) as T;
}

const count = (rule: string): Promise<RuleCount> => get("quality/count", { state, rule });

test("every rule can be counted, and the audits find what `check --audits` finds", async () => {
  const { rules, command } = await get<RulesReport>("quality/rules");
  expect(command).toBe("npx barlake check --audits --lake 'my data'");
  const found = new Map<string, number>();
  for (const { name } of rules) {
    const { counts } = await count(name);
    const findings = counts.reduce((sum, one) => sum + one.findings, 0);
    if (findings > 0) found.set(name, findings);
  }
  const { findings } = await auditLake(lake);
  const audited = findings.map(({ name, rows }): [string, number] => [name, rows]);
  expect(Object.fromEntries(found)).toEqual({ ...Object.fromEntries(audited), set_aside: 5 });
  expect(audited.map(([name]) => name)).toEqual(expect.arrayContaining(["minute_labels", "ohlc", "units"]));
});

test("every rule lists its symbols and their findings with units, also where it has none", async () => {
  const { rules } = await get<RulesReport>("quality/rules");
  for (const { name } of rules) {
    const list = await get<ListPage<SubjectReport>>("quality/subjects", { state, rule: name });
    for (const { subject, findings } of list.rows) {
      const report = await get<FindingsReport>("quality/findings", { state, rule: name, subject });
      expect(report.total, name).toBe(findings);
    }
  }
  const query = { state, rule: "ohlc", subject: "600519.SH" };
  const { columns, rows } = await get<FindingsReport>("quality/findings", query);
  const unitOf = (name: string): unknown => columns.find((column) => column.name === name)?.unit;
  expect([unitOf("close"), unitOf("volume"), unitOf("timestamp")]).toEqual(["currency", "lot shares", "UTC"]);
  expect(rows[0]).toMatchObject({
    dataset: "bars_1m",
    evidence: "minutes",
    at: "2024-01-08T03:29:00Z",
    explains: expect.stringContaining("npx barlake sql") as string,
  });
  const early = await get<FindingsReport>("quality/findings", { ...query, to: "2024-01-07" });
  expect(early.rows.map(({ first }) => first)).toEqual(["2024-01-06"]);
});

test("the bars of a finding come with those around them, as they landed", async () => {
  const subject = "600519.SH";
  const days = await get<EvidenceReport>("quality/evidence", {
    state,
    subject,
    evidence: "days",
    first: "2024-01-06",
  });
  const column = (report: EvidenceReport, name: string): number =>
    report.columns.findIndex((one) => one.name === name);
  expect(days.rows.filter((row) => row.isInQuestion).map(({ values }) => values[0])).toEqual(["2024-01-06"]);
  expect(days.rows.map(({ values }) => values[column(days, "open")])).toEqual([
    10, 0, 10.2, 10.3, 10.4, 10.5,
  ]);
  const minutes = await get<EvidenceReport>("quality/evidence", {
    state,
    subject,
    evidence: "minutes",
    first: "2024-01-08",
    at: "2024-01-08T03:29:00Z",
  });
  expect(minutes.rows.map(({ values, isInQuestion }) => [values[0], isInQuestion])).toEqual([
    ["2024-01-08T03:29:00Z", true],
    ["2024-01-08T03:30:00Z", false],
  ]);
  const counted = await get<EvidenceReport>("quality/evidence", {
    state,
    subject,
    evidence: "minute days",
    first: "2024-01-08",
  });
  expect(counted.rows.map(({ values }) => values.slice(0, 4))).toEqual([["2024-01-08", 4, "03:29", "05:01"]]);
});

test("a row that was set aside has a page, with any symbol", async () => {
  const { rows } = await get<ListPage<SubjectReport>>("quality/subjects", {
    state,
    rule: "set_aside",
    region: "-",
  });
  expect(rows.map(({ subject, findings }) => [subject, findings])).toEqual([
    ["-", 2],
    ["..", 1],
    [HOSTILE, 1],
    [LONG, 1],
  ]);
  for (const [subject, total] of [
    ["-", 2],
    [LONG, 1],
  ] as const) {
    const own = await get<FindingsReport>("quality/findings", { state, rule: "set_aside", subject });
    expect([own.total, own.rows.length], subject.slice(0, 9)).toEqual([total, total]);
    const { status } = await visit(workspace.port, `/quality/set_aside/${subject}`, { cookie });
    expect(status).toBe(200);
  }
  const report = await get<FindingsReport>("quality/findings", {
    state,
    rule: "set_aside",
    subject: HOSTILE,
  });
  expect(report.rows[0]?.values).toEqual(expect.arrayContaining(["bad_symbol", "it is no symbol", "a.csv"]));
  expect(report.rows[0]?.explains).toBe("npx barlake runs show import-1 --lake 'my data'");
});

test("a page after the end of a list is its last one", async () => {
  const query = { state, rule: "ohlc", subject: "600519.SH" };
  for (const page of ["7", "1e9"]) {
    const subjects = await get<ListPage<SubjectReport>>("quality/subjects", { ...query, page });
    expect([subjects.page, subjects.rows.length]).toEqual([1, 1]);
    const findings = await get<FindingsReport>("quality/findings", { ...query, page });
    expect([findings.page, findings.rows.length]).toEqual([1, findings.total]);
  }
});

test("what is not known says why, and wrong addresses say what they may be", async () => {
  expect((await count("never_asked")).unknown).toBe("imported");
  const past = await get<LakeReport>("state", { asof: "2030-01-01T00:00:00Z" });
  expect((await get<RuleCount>("quality/count", { state: past.state, rule: "set_aside" })).unknown).toBe(
    "past",
  );
  const subject = "600519.SH";
  for (const list of ["subjects", "findings"]) {
    const listed = (rule: string, of: string): Promise<ListPage<unknown>> =>
      get(`quality/${list}`, { state: of, rule, subject });
    expect(await listed("set_aside", past.state), list).toMatchObject({ total: 0, unknown: "past" });
    expect(await listed("unexplained", past.state), list).toMatchObject({ total: 0, unknown: "past" });
    expect(await listed("unexplained", state), list).toMatchObject({ total: 0, unknown: "imported" });
  }
  await expect(count("nothing")).rejects.toThrow("is none of");
  await expect(get("quality/subjects", { state, rule: "ohlc", from: "x" })).rejects.toThrow(/^400/);
});
