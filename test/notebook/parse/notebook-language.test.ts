import { expect, test } from "vitest";
import { languageOf } from "../../../src/core/language.js";
import { notebookTexts } from "../../../src/notebook/notebook-texts.js";
import { notebookPage } from "../../../src/notebook/page/notebook-page.js";
import { notebookHead, parseNotebook, sourceCells } from "../../../src/notebook/parse/parse-notebook.js";
import { runText } from "../run-cells.js";

const TEXT = `-- # Turnover
-- What was traded.
-- zh: # 成交
-- zh: 成交了多少。
-- zh:
-- zh: 更多。
-- %% param days = 5
-- %% names.zh days=天数 kind=类型 "a b"="甲 ""乙"""
-- %% chart bar x=kind y=amount color=side title="Amounts" title.zh="成交额" empty="None."
-- Only in English.
SELECT 'a b' AS kind, 1 AS amount, 'constructor' AS side;
-- %%
FROM range(0);
`;

test("prose, titles and names are in the language, and in English where they are in no other", () => {
  const english = parseNotebook(TEXT, "t.sql");
  const chinese = parseNotebook(TEXT, "t.sql", "zh");
  expect(english.title).toBe("Turnover");
  expect(english.cells[0]?.prose).toBe("# Turnover\nWhat was traded.");
  expect(english.cells[1]?.view.title).toBe("Amounts");
  expect(english.names).toBeUndefined();
  expect(chinese.title).toBe("成交");
  expect(chinese.cells[0]?.prose).toBe("# 成交\n成交了多少。\n\n更多。");
  expect(chinese.cells[1]).toMatchObject({
    prose: "Only in English.",
    view: { title: "成交额", empty: "None." },
  });
  expect([...(chinese.names ?? [])]).toEqual([
    ["days", "天数"],
    ["kind", "类型"],
    ["a b", '甲 "乙"'],
  ]);
  const places = ({ cells }: typeof english) =>
    cells.map(({ line, sql, sqlLine }) => ({ line, sql, sqlLine }));
  expect(places(chinese)).toEqual(places(english));
  expect(sourceCells(TEXT)).toHaveLength(3);
  expect(sourceCells(TEXT).join("")).toBe(TEXT);
});

test("lists have title and description in the language", () => {
  expect(notebookHead(TEXT)).toEqual({ title: "Turnover", description: "What was traded." });
  expect(notebookHead(TEXT, "zh")).toEqual({ title: "成交", description: "成交了多少。" });
  expect(notebookHead("-- # Mine\n-- Prose.\nSELECT 1", "zh")).toEqual({
    title: "Mine",
    description: "Prose.",
  });
});

test("a chart has the names of its columns and texts, and a page no English text", async () => {
  const { notebook, runs, parameters } = await runText(TEXT, {}, undefined, "zh");
  const { channels } = runs[1]?.chart ?? {};
  expect(channels?.x?.[0]).toMatchObject({ name: "类型", values: ['甲 "乙"'] });
  expect(channels?.color?.[0]).toMatchObject({ name: "side", values: ["constructor"] });
  const facts = { parameters, tables: [], pointInTime: { asOf: 0 }, madeAt: 0, version: "1" };
  const whole = await notebookPage({ ...notebook, runs, ...facts });
  const page = whole.replaceAll(/<script>.*?<\/script>/gs, "");
  expect(page).toContain('<html lang="zh-CN">');
  for (const text of [
    "没有数据。",
    "<summary>数据</summary>",
    "数据湖截至 1970-01-01",
    "数据湖是空的。",
    ">类型</th>",
  ])
    expect(page).toContain(text);
  expect(page).not.toContain("No rows.");
  // The rows of the chart, with its words.
  expect(page).toContain("<td>甲 &quot;乙&quot;</td>");
});

test("a time axis has Chinese dates", () => {
  const { tick } = notebookTexts("zh");
  const labels = (...texts: string[]): string[] => {
    const ticks = texts.map((text) => new Date(text));
    return ticks.map((at, index) => tick?.(at, index, ticks) ?? "");
  };
  expect(labels("2025-11-01", "2025-12-01", "2026-01-01", "2026-02-01")).toEqual([
    "11月\n2025年",
    "12月",
    "1月\n2026年",
    "2月",
  ]);
  expect(labels("2024-01-01", "2025-01-01")).toEqual(["2024年", "2025年"]);
  expect(labels("2025-11-24", "2025-12-01", "2025-12-08", "2026-01-05")).toEqual([
    "24日\n2025年11月",
    "1日\n12月",
    "8日",
    "5日\n2026年1月",
  ]);
  expect(labels("2025-03-03T01:30Z", "2025-03-03T02:00Z")).toEqual(["01:30", "02:00"]);
  expect(notebookTexts("en").tick).toBeUndefined();
});

test("a wrong name says what is allowed", () => {
  expect(() => parseNotebook("-- %% names.zh days\n", "t.sql")).toThrow(
    'notebook t.sql:1: names.zh: "days" names nothing',
  );
  expect(() => parseNotebook("-- %% table title.de=x\n", "t.sql")).toThrow('"title.de=x" is no option');
});

test.each([
  ["zh", "zh"],
  ["zh-CN,zh;q=0.9,en;q=0.8", "zh"],
  ["zh_CN.UTF-8", "zh"],
  ["en-US,zh;q=0.5", "en"],
  ["zha", "en"],
  ["C.UTF-8", "en"],
  ["", "en"],
  [undefined, "en"],
])("%s is %s", (text, language) => {
  expect(languageOf(text)).toBe(language);
});
