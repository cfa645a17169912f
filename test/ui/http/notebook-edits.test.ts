import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Catalog } from "../../../src/db/catalog.js";
import { Lake } from "../../../src/lake/lake.js";
import { hashOf } from "../../../src/ui/notebooks/notebook-files.js";
import type { LakeReport, NotebookLine, NotebookSource, NotebooksReport } from "../../../src/ui/page-data.js";
import { startWorkspace, type Workspace } from "../../../src/ui/start-workspace.js";
import { smallLake } from "../../cli/small-lake.js";
import { PATIENT } from "../patient-session.js";
import { admitted, pageHeaders, type Reply, visit } from "../workspace-visit.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-edits-"));
const notebooks = join(folder, "notebooks");
let workspace: Workspace;
let cookie: string;
let state: string;

beforeAll(async () => {
  mkdirSync(notebooks);
  workspace = await startWorkspace(new Lake(await smallLake(join(folder, "lake"))), {
    notebooks,
    limits: PATIENT,
  });
  cookie = await admitted(workspace.port, workspace.address());
  state = (JSON.parse((await get("/api/state")).body) as LakeReport).state;
});
afterAll(async () => {
  await workspace.close();
  rmSync(folder, { recursive: true });
});

const get = (path: string): Promise<Reply> => visit(workspace.port, path, { cookie });
const send = (method: string, path: string, body: unknown, headers = {}): Promise<Reply> =>
  visit(
    workspace.port,
    path,
    { ...pageHeaders(workspace.port, cookie), ...headers },
    method,
    JSON.stringify(body),
  );
const save = (body: unknown, headers = {}): Promise<Reply> => send("PUT", "/api/notebook", body, headers);

async function run(text: string, cells?: readonly number[]): Promise<NotebookLine[]> {
  const { body } = await send("POST", `/api/notebook/run?state=${state}`, { name: "typed", text, cells });
  return body
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as NotebookLine);
}
const cellsOf = (lines: readonly NotebookLine[]) => lines.filter((line) => line.kind === "cell");

test("what is typed runs; one cell runs with the cells that prepare it, and alone is shown", async () => {
  const text = `-- # Typed
-- %%
CREATE TEMP TABLE t AS SELECT 41 + 1 AS answer;
-- %%
SELECT nothing_here;
-- %%
FROM t;
`;
  const cells = cellsOf(await run(text, [6]));
  expect(cells.map(({ line }) => line)).toEqual([6]);
  expect(cells[0]?.html).toContain("42");
  expect(cellsOf(await run(text)).map(({ line, fault }) => [line, fault?.line, fault?.column])).toEqual([
    [1, undefined, undefined],
    [2, undefined, undefined],
    [4, 5, 7],
    [6, undefined, undefined],
  ]);
});

test("a cell that prepares another one, and fails, is shown with its error", async () => {
  const cells = cellsOf(await run("-- %%\nCREATE TABLE t AS SELECT wrong;\n-- %%\nFROM t;\n", [3]));
  expect(cells.map(({ line, fault }) => [line, fault?.line])).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

test("an error behind another statement of its line is at its place", async () => {
  const [cell] = cellsOf(await run("-- %%\n  SELECT 1; SELECT\n  2 + nothing_here;\n"));
  expect(cell?.fault).toMatchObject({ line: 3, column: 6 });
  const [first] = cellsOf(await run("-- %%\nSELECT 1; SELECT wrong;\n"));
  expect(first?.fault).toMatchObject({ line: 2, column: 17 });
});

test("typed SQL reads the lake and nothing else", async () => {
  const [cell] = cellsOf(await run("-- %%\nFROM read_text('/etc/passwd');\n"));
  expect(cell?.fault).not.toBeNull();
  expect(cell?.html).not.toContain("root:");
});

test("script in prose and values is shown as text", async () => {
  const attack = "<img src=x onerror=alert(1)>";
  const [prose, values] = cellsOf(
    await run(`-- # A ${attack}\n-- [a](javascript:alert(1))\n-- %%\nSELECT '${attack}';\n`),
  );
  for (const cell of [prose, values]) expect(cell?.html).not.toMatch(/<img|href="javascript/);
});

test("a wrong directive is refused with its line, before anything runs", async () => {
  const { status, body } = await send("POST", `/api/notebook/run?state=${state}`, {
    name: "typed",
    text: "-- %% chart pie\nSELECT 1;",
  });
  expect([status, body]).toEqual([400, expect.stringContaining("typed:1: chart") as string]);
});

test("a notebook is created, read, saved, and defended against what has changed on the disk", async () => {
  const fresh = JSON.parse((await get("/api/notebook?name=fresh&new=1")).body) as NotebookSource;
  expect(fresh).toMatchObject({ hash: null, isShipped: false, isExact: true, folder: notebooks });
  const created = await save({ name: "fresh", text: "SELECT 1;", before: null });
  expect(created.status).toBe(200);
  const { hash } = JSON.parse((await get("/api/notebook?name=fresh&new=1")).body) as NotebookSource;
  expect(JSON.parse(created.body)).toEqual({ kind: "saved", hash });
  writeFileSync(join(notebooks, "fresh.sql"), "theirs");
  const refused = await save({ name: "fresh", text: "mine", before: hash });
  expect([refused.status, JSON.parse(refused.body)]).toMatchObject([
    409,
    { kind: "changed", theirs: { text: "theirs" } },
  ]);
  const { theirs } = JSON.parse(refused.body) as { theirs: { hash: string } };
  expect((await save({ name: "fresh", text: "mine", before: theirs.hash })).status).toBe(200);
  expect(readFileSync(join(notebooks, "fresh.sql"), "utf8")).toBe("mine");
});

test("a notebook that comes with barlake is saved as a copy, which is shown from then on", async () => {
  const shipped = JSON.parse((await get("/api/notebook?name=instrument")).body) as NotebookSource;
  expect(shipped).toMatchObject({ isShipped: true, hash: null });
  await save({ name: "instrument", text: `${shipped.text}-- mine\n`, before: null });
  const copy = JSON.parse((await get("/api/notebook?name=instrument")).body) as NotebookSource;
  expect([copy.isShipped, copy.text.endsWith("-- mine\n")]).toEqual([false, true]);
});

test("a file that is not UTF-8 is shown, and says that saving would damage it", async () => {
  writeFileSync(join(notebooks, "latin.sql"), Buffer.from([0x53, 0xe9]));
  expect(JSON.parse((await get("/api/notebook?name=latin")).body)).toMatchObject({ isExact: false });
});

test.each([
  ["../x.sql"],
  ["a/b"],
  ["a\0"],
  ["x".repeat(300)],
  ["<img src=x onerror=alert(1)>"],
  [".hidden"],
  [42],
])("no file gets the name %j", async (name) => {
  const before = readdirSync(notebooks);
  const { status, headers, body } = await save({ name, text: "x", before: null });
  expect(status).toBe(400);
  expect(headers["content-type"]).toContain("application/json");
  expect(body).not.toContain(folder);
  expect([readdirSync(notebooks), existsSync(join(folder, "x.sql"))]).toEqual([before, false]);
});

test.each<[string, Record<string, string>]>([
  ["another site", { origin: "https://evil.example" }],
  ["another port of this machine", { origin: "http://127.0.0.1:1" }],
  ["a page without an origin", { origin: "null" }],
  ["another site, as the browser says", { "sec-fetch-site": "cross-site" }],
  ["another name of this machine", { host: "evil.example" }],
])("nothing is saved or run for %s", async (_, headers) => {
  expect((await save({ name: "forged", text: "x", before: null }, headers)).status).toBe(403);
  expect((await send("POST", `/api/notebook/run?state=${state}`, {}, headers)).status).toBe(403);
  expect(existsSync(join(notebooks, "forged.sql"))).toBe(false);
});

test("nothing is saved for a program that names no origin, without a cookie, or by a form", async () => {
  const body = JSON.stringify({ name: "forged", text: "x", before: null });
  const own = pageHeaders(workspace.port, cookie);
  const { origin: _, ...nameless } = own;
  const sent = (headers: Record<string, string>): Promise<Reply> =>
    visit(workspace.port, "/api/notebook", headers, "PUT", body);
  expect((await sent(nameless)).status).toBe(403);
  expect((await sent({ ...own, cookie: "" })).status).toBe(401);
  expect((await sent({ ...own, "content-type": "text/plain" })).status).toBe(400);
  expect((await sent({ ...own, "content-type": "application/x-www-form-urlencoded" })).status).toBe(415);
  expect(existsSync(join(notebooks, "forged.sql"))).toBe(false);
});

test.each<[unknown]>([
  [null],
  ["text"],
  [{}],
  [{ name: "a" }],
  [{ name: "a", text: 1 }],
  [{ name: "a", text: "", before: 1 }],
])("the body %j is refused", async (body) => {
  expect((await save(body)).status).toBe(400);
});

test("a body of 10 MB is refused before it is read", async () => {
  const { status } = await save({ name: "large", text: "x".repeat(10_000_000), before: null });
  expect(status).toBe(413);
  expect(existsSync(join(notebooks, "large.sql"))).toBe(false);
});

test("the page of what is typed is a file that loads nothing, made in the same sandbox", async () => {
  const text =
    "-- # Paged\n-- %% param n = 1\n-- %%\nSELECT $n + 41 AS answer;\n-- %%\nFROM read_text('/etc/passwd');\n";
  const made = await send("POST", `/api/notebook/page?state=${state}&p.n=2&p.other=3`, {
    name: "typed",
    text,
  });
  expect([made.status, made.headers["content-disposition"]]).toEqual([200, "attachment"]);
  expect(made.body).toContain('<td class="n">43</td>');
  expect(made.body).not.toContain("root:");
  const refused = await send("POST", `/api/notebook/page?state=${state}&p.n=x`, { name: "typed", text });
  expect([refused.status, refused.body]).toEqual([400, expect.stringContaining("param n") as string]);
});

test("the rows of a result come in windows and as files, until it is gone", async () => {
  const [cell] = cellsOf(await run("-- %%\nSELECT i, '<b>' AS text FROM range(1000) t(i);\n"));
  expect(cell?.results).toMatchObject([{ rows: 1000 }]);
  const id = cell?.results[0]?.id ?? "";
  const window = await get(`/api/result?id=${id}&from=998&count=200`);
  expect(JSON.parse(window.body)).toEqual({
    from: 998,
    rows: 1000,
    columns: [
      ["998", "999"],
      ["<b>", "<b>"],
    ],
  });
  const file = await get(`/api/result/file?id=${id}&format=csv`);
  expect([file.headers["content-disposition"], file.body.split("\n").length]).toEqual([
    'attachment; filename="result.csv"',
    1002,
  ]);
  for (const path of ["result?id=gone&from=0&count=1", "result/file?id=gone&format=parquet"])
    expect((await get(`/api/${path}`)).status, path).toBe(410);
  for (const path of [`result?id=${id}&from=-1&count=1`, `result/file?id=${id}&format=exe`])
    expect((await get(`/api/${path}`)).status, path).toBe(400);
});

test("the catalog has tables, macros and columns with their comments", async () => {
  const catalog = JSON.parse((await get(`/api/catalog?state=${state}`)).body) as Catalog;
  const bars = catalog.relations.find(({ name }) => name === "bars_1d");
  expect(bars?.columns.find(({ name }) => name === "volume")?.comment).toMatch(/\[.+\]$/);
  expect(catalog.macros.map(({ name }) => name)).toContain("adjusted");
});

test("a lake that disappears stops the cells that read it; what was typed is saved all the same", async () => {
  renameSync(join(folder, "lake"), join(folder, "gone"));
  try {
    const lines = await run("-- %%\nSELECT min(name) FROM instruments;\n");
    expect(cellsOf(lines).every(({ fault }) => fault !== null)).toBe(true);
    expect((await save({ name: "rescued", text: "SELECT 2;", before: null })).status).toBe(200);
  } finally {
    renameSync(join(folder, "gone"), join(folder, "lake"));
  }
});

const move = (what: "rename" | "delete", body: unknown, headers = {}): Promise<Reply> =>
  send("POST", `/api/notebook/${what}`, body, headers);
const hashIn = async (name: string): Promise<string> =>
  (JSON.parse((await get(`/api/notebook?name=${name}`)).body) as NotebookSource).hash ?? "";

test("a notebook is renamed and deleted by who knows what it contains", async () => {
  writeFileSync(join(notebooks, "old.sql"), "SELECT 1;");
  writeFileSync(join(notebooks, "other.sql"), "-- # Other\n-- Of **two** lines,\n-- this one.\nSELECT 2;");
  const other = readFileSync(join(notebooks, "other.sql"), "utf8");
  const before = await hashIn("old");
  const list = JSON.parse((await get("/api/notebooks")).body) as NotebooksReport;
  const listed = (name: string) => list.notebooks.find((one) => one.name === name);
  expect(listed("old")).toMatchObject({ title: "old", description: null, hash: before });
  expect(listed("other")).toMatchObject({ title: "Other", description: "Of two lines, this one." });
  expect(listed("fundamentals")?.description).toMatch(/^What one company earns/);
  const taken = await move("rename", { name: "old", to: "other", before });
  expect([taken.status, JSON.parse(taken.body)]).toEqual([409, { kind: "taken" }]);
  expect(readFileSync(join(notebooks, "other.sql"), "utf8")).toBe(other);
  expect((await move("rename", { name: "old", to: "new 1", before })).status).toBe(200);
  expect(readdirSync(notebooks)).not.toContain("old.sql");
  expect(readFileSync(join(notebooks, "new 1.sql"), "utf8")).toBe("SELECT 1;");
  writeFileSync(join(notebooks, "new 1.sql"), "theirs");
  for (const what of ["rename", "delete"] as const)
    for (const name of ["new 1", "old"]) {
      const changed = await move(what, { name, to: "third", before });
      expect([changed.status, JSON.parse(changed.body)], `${what} ${name}`).toEqual([
        409,
        { kind: "changed" },
      ]);
    }
  expect(readFileSync(join(notebooks, "new 1.sql"), "utf8")).toBe("theirs");
  expect((await move("delete", { name: "new 1", before: await hashIn("new%201") })).status).toBe(200);
  expect(readdirSync(notebooks)).not.toContain("new 1.sql");
});

test("nothing outside of the folder is renamed or deleted, no link is followed, and no other site asks", async () => {
  const outside = join(folder, "outside.sql");
  writeFileSync(outside, "secret");
  writeFileSync(join(notebooks, "kept.sql"), "SELECT 1;");
  symlinkSync(outside, join(notebooks, "linked.sql"));
  const before = await hashIn("kept");
  const secret = hashOf("secret");
  const refused: readonly ["rename" | "delete", unknown][] = [
    ["delete", { name: "../outside", before: secret }],
    ["delete", { name: "linked", before: secret }],
    ["rename", { name: "linked", to: "a", before: secret }],
    ["rename", { name: "../outside", to: "a", before: secret }],
    ["rename", { name: "kept", to: "../a", before }],
    ["rename", { name: "kept", to: ".hidden", before }],
    ["delete", { name: "kept" }],
    ["delete", { name: "kept", before: null }],
  ];
  for (const [what, body] of refused) expect((await move(what, body)).status, JSON.stringify(body)).toBe(400);
  const shipped = await move("delete", { name: "fundamentals", before: hashOf("") });
  expect(shipped.status).toBe(409);
  const forged = { origin: "https://evil.example" };
  expect((await move("delete", { name: "kept", before }, forged)).status).toBe(403);
  expect(readFileSync(outside, "utf8")).toBe("secret");
  expect(readdirSync(notebooks)).toEqual(expect.arrayContaining(["kept.sql", "linked.sql"]));
  rmSync(join(notebooks, "linked.sql"));
});
