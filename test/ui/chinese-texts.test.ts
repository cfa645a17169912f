import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Catalog } from "../../src/db/catalog.js";

const ROOT = join(import.meta.dirname, "../..");
const textOf = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The paths of the sources in a folder. */
function sourcesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name));
}

let translated: (english: string) => string;
let unitText: (unit: string) => string;
let faultText: (english: string) => string;
let chineseCatalog: (catalog: Catalog) => Catalog;

beforeAll(async () => {
  vi.stubGlobal("navigator", { language: "zh-CN" });
  vi.resetModules();
  ({ translated, unitText } = await import("../../src/ui/browser/texts.js"));
  ({ faultText } = await import("../../src/ui/browser/fault-texts.js"));
  ({ chineseCatalog } = await import("../../src/ui/browser/notebook/chinese-catalog.js"));
});
afterAll(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

const isChinese = (text: string): boolean => /\p{Script=Han}/u.test(text);

interface Described {
  readonly name: string;
  readonly says: string;
  readonly columns: readonly { readonly name: string; readonly note: string; readonly unit: string }[];
}
/** The views and macros of a lake, with their comments. */
const { relations } = JSON.parse(textOf("docs/catalog.json")) as { readonly relations: readonly Described[] };

test("the comment of every table and view, and of each of their columns, is there in Chinese", () => {
  const catalog: Catalog = {
    relations: relations.map(({ name, says, columns }) => ({
      name,
      kind: "view",
      comment: says,
      columns: columns.map(({ name: column, note, unit }) => {
        return { name: column, type: undefined, comment: unit === "" ? note : `${note} [${unit}]` };
      }),
    })),
    macros: [],
    functions: [],
    keywords: [],
  };
  expect(relations.length).toBeGreaterThan(80);
  const english: string[] = [];
  for (const [at, { comment = "", columns }] of chineseCatalog(catalog).relations.entries()) {
    if (comment !== "" && !isChinese(comment)) english.push(comment);
    for (const [n, column] of columns.entries()) {
      const unit = relations[at]?.columns[n]?.unit ?? "";
      expect(column.comment?.endsWith(unit === "" ? "" : ` [${unit}]`)).toBe(true);
      if (column.comment !== "" && !isChinese(column.comment ?? "")) english.push(column.comment ?? "");
    }
  }
  expect(english).toEqual([]);
  const units = new Set(relations.flatMap(({ columns }) => columns.map(({ unit }) => unit)));
  expect([...units].filter((unit) => !isChinese(unitText(unit)))).toEqual(["", "UTC"]);
});

test("every comment in Chinese is of a table, a view or a column", () => {
  const listed = JSON.parse(textOf("src/ui/browser/notebook/chinese-comments.json")) as Record<
    string,
    string
  >;
  const all = new Set(relations.flatMap(({ says, columns }) => [says, ...columns.map(({ note }) => note)]));
  expect(Object.keys(listed).filter((text) => !all.has(text))).toEqual([]);
});

test("a comment of the user remains", () => {
  const mine = { name: "mine", kind: "view", comment: "My view.", columns: [] } as const;
  const { relations: said } = chineseCatalog({ relations: [mine], macros: [], functions: [], keywords: [] });
  expect(said).toEqual([mine]);
});

/** What no page causes, but only another program, or a fault of the workspace; and texts of two values. */
const OTHERS: readonly RegExp[] = [
  /^the body/,
  /^workspace: its page is missing$/,
  /^npm run build makes it$/,
  /^the page has gone$/,
  /^x is for no such address$/,
  // For agents.
  /^it has x columns, whose names/,
  /^name the columns that you need$/,
  // Their values are texts, too.
  /^the name "x" x$/,
  /^file x: is x$/,
  /^x$/,
];

test("every error of the workspace, and what it says to do, is there in Chinese", () => {
  const folders = [
    "http",
    "instrument",
    "lake",
    "notebooks",
    "process",
    "quality",
    "results",
    "runs",
    "session",
  ];
  const files = [...folders.flatMap((name) => sourcesIn(`src/ui/${name}`)), "src/notebook/chart-data.ts"];
  const quoted =
    /(?:new (?:Usage|Barlake|Query)Error\(|hint:|message:)\s*("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)/g;
  const said = files.flatMap((path) =>
    [...textOf(path).matchAll(quoted)].map(([, text = ""]) =>
      text
        .slice(1, -1)
        .replaceAll(
          /\$\{NARROWER\}/g,
          "narrow it down by symbol or date, or to fewer columns and shorter texts",
        )
        .replaceAll(/\$\{JSON\.stringify\((?:[^{}]|\{[^{}]*\})*\}/g, '"x"')
        .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "x"),
    ),
  );
  expect(said.length).toBeGreaterThan(40);
  const english = said.filter((text) => !isChinese(faultText(text)) && !OTHERS.some((one) => one.test(text)));
  expect([...new Set(english)]).toEqual([]);
});

test.each([
  ['the name "a/b" leads to another folder', '名称 "a/b" 指向其他文件夹'],
  ["file /n/a.sql: is a link", "文件 /n/a.sql 是链接"],
  ["it took longer than 30 s, and was stopped", "运行超过 30 秒，已停止"],
  ['notebook a:3: chart line: "colour" is no option', '笔记 a 第 3 行：chart line：没有选项 "colour"'],
  ["Catalog Error: Table with name x does not exist!", "Catalog Error: Table with name x does not exist!"],
])("%s", (english, chinese) => {
  expect(faultText(english)).toBe(chinese);
  expect(translated("reload the page")).toBe("请重新加载页面");
});

test("components of pages contain no text of their own", () => {
  const literal =
    />[^<>{}()?=;&|]*[A-Za-z]{2}[^<>{}()?=;&|]*<\/|\b(?:title|aria-label|placeholder|alt)="[^"]*[A-Za-z]/g;
  const found = sourcesIn("src/ui/browser").flatMap((path) =>
    [...textOf(path).matchAll(literal)].map(([text]) => `${path}: ${text}`),
  );
  // The brand.
  expect(found.filter((text) => !/"barlake$|>\s*barlake\s*</.test(text))).toEqual([]);
});
