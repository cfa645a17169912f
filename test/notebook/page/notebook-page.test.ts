import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { notebookPage } from "../../../src/notebook/page/notebook-page.js";
import type { PackedChart } from "../../../src/notebook/page/pack-charts.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { pickFrom } from "../../sweep.js";
import { openBrowser, openPage } from "../../ui/open-browser.js";
import { countOf, hasChromium, type SeenPage } from "../chromium.js";
import { emptySession, runText } from "../run-cells.js";

const AT = Date.UTC(2026, 10, 21, 8, 30);

async function pageOf(text: string, given: Readonly<Record<string, string>> = {}): Promise<string> {
  const { notebook, runs, parameters } = await runText(text, given, await emptySession());
  const tables = [
    { name: "bars_1d", version: 12, rows: 34_567 },
    { name: "cash_flow", version: -1, rows: 0 },
  ];
  const { title, path } = notebook;
  return notebookPage({
    title,
    path,
    parameters,
    runs,
    tables,
    pointInTime: { asOf: AT - 1000 },
    madeAt: AT,
    version: "1.2.3",
  });
}

function chartsIn(page: string): PackedChart[] {
  const [, json = ""] = /<script type="application\/json" id="charts">(.*?)<\/script>/s.exec(page) ?? [];
  return JSON.parse(json) as PackedChart[];
}

const EVERY_CHART = `-- # Every chart
-- %% chart line x=d y=a,b title=Line percent=a
CREATE TEMP TABLE t AS SELECT DATE '2026-01-01' + i::INTEGER AS d, i % 7 / 10 AS a, i % 5 AS b, 'g' || i % 3 AS g FROM range(100) r(i);
FROM t;
-- %% chart line x=b y=mean low=low high=high rule=0
SELECT b, avg(a) AS mean, min(a) AS low, max(a) AS high FROM t GROUP BY b ORDER BY b;
-- %% chart bar x=g y=n
SELECT g, count(*) AS n FROM t GROUP BY g;
-- %% chart bar x=b y=n color=g
SELECT b, g, count(*) AS n FROM t GROUP BY ALL;
-- %% chart bar x=g y=n
SELECT 'a long name of number ' || i AS g, i - 20 AS n FROM range(40) r(i);
-- %% chart scatter x=a y=b color=g size=b label=d log=y
FROM t WHERE b > 0;
-- %% chart heatmap x=g y=b color=n
SELECT g, b, sum(a) - 3 AS n FROM t GROUP BY ALL;
-- %% chart histogram x=a bins=10 color=g
FROM t;
-- %% chart candlestick x=d lines=a
SELECT d, a + 1 AS open, a + 3 AS high, a AS low, a + 2 AS close, 100 AS volume, a FROM t;
-- %% chart line x=i y=v color=g
SELECT i, g, i * g AS v, 'series ' || lpad(g::VARCHAR, 2, '0') AS g FROM range(4) r(i), range(30) s(g);
-- %% figures
SELECT 1 AS one, 'two' AS second
`;

once("a page names its lake's versions, the as-of time, and when and by what it was made", async () => {
  const page = await pageOf("-- # A title\n-- %% param n = 3\n-- %%\nSELECT $n AS n");
  expect(page).toContain("<title>A title</title>");
  expect(page).toContain("<dt>n</dt><dd>3</dd>");
  expect(page).toContain("bars_1d v12 (34,567 rows)");
  expect(page).not.toContain("cash_flow");
  expect(page).toContain("The lake as of 2026-11-21 08:29:59 UTC.");
  expect(page).toContain("test.sql · made 2026-11-21 08:30:00 UTC by barlake 1.2.3");
});

once("bars within days say which days they are of, and the colours are those of their region", async () => {
  const bars = (symbol: string): string =>
    `-- %% chart candlestick x=t\nSELECT '${symbol}' AS symbol, TIMESTAMPTZ '2026-01-05 01:30:00Z' + INTERVAL (i) HOUR AS t, 1 AS open, 1 AS high, 1 AS low, 1 AS close FROM range(30) r(i)\n`;
  const page = await pageOf(bars("600519.SH") + bars("AAPL.US"));
  expect(page).toContain('<p class="note">2026-01-05 to 2026-01-06, times in UTC</p>');
  expect(chartsIn(page).map(({ chart }) => chart.rising)).toEqual(["red", "green"]);
  const given = `-- %% param symbol = '600519.SH'\n${bars("text")}`;
  expect(chartsIn(await pageOf(given.replace("'text' AS symbol, ", "")))[0]?.chart.rising).toBe("red");
});

once("the parameters are below the first cell", async () => {
  const page = await pageOf("-- # A title\n-- %% param n = 3\n-- %%\nSELECT $n AS n");
  expect(page).toMatch(/<section[^>]*>.*A title.*<\/section>\n<dl class="parameters">.*<\/dl>\n<section/s);
});

once("tables: numbers to the right, missing values, and how many rows there are", async () => {
  const page = await pageOf(
    "-- %% table rows=2 title=Rows\nSELECT 'x' AS a_b, i AS n, NULL::VARCHAR AS gone FROM range(12345) t(i)\n-- %% table empty=\"Run a pipeline.\"\nSELECT 1 WHERE false",
  );
  expect(page).toContain('<th scope="col">a b</th><th class="n" scope="col">n</th>');
  expect(page).toContain('<tr><td>x</td><td class="n">1</td><td class="null">·</td></tr>');
  expect(page).toContain("the first 2 of 12,345 rows");
  expect(page).toContain('<p class="empty">Run a pipeline.</p>');
});

once("a cell's fault is in its place", async () => {
  const page = await pageOf("-- %%\nSELECT '<b>' AS a FROM nowhere\n-- %%\nSELECT 'still here'");
  expect(page).toMatch(/role="alert"><strong>line 2<\/strong><pre>Catalog Error: [^<]*nowhere/);
  expect(page).toContain("still here");
});

once("a page loads nothing, and its policy permits its own scripts alone", async () => {
  const page = await pageOf(EVERY_CHART);
  const scripts = [...page.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = ""]) => script);
  expect(scripts).toHaveLength(3);
  const hashes = scripts.map((script) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`);
  expect(page).toContain(`content="default-src 'none'; script-src ${hashes.join(" ")}; style-src`);
  const outside = page.replaceAll(/<script>.*?<\/script>/gs, "");
  expect(outside).not.toMatch(/<(?:img|iframe|object|embed|video|audio|source)\b|\bsrc=|@import|url\(/i);
  expect([...outside.matchAll(/<link\b[^>]*>/g)].map(([link]) => link)).toEqual([
    '<link rel="icon" href="data:,">',
  ]);
});

once("a page holds the scripts of its charts alone", async () => {
  const [none, plots, candles] = await Promise.all([
    pageOf("-- %%\nSELECT 1"),
    pageOf("-- %% chart bar x=a y=b\nSELECT 1 AS a, 2 AS b"),
    pageOf(
      "-- %% chart candlestick x=d\nSELECT DATE '2026-01-01' AS d, 1 AS open, 1 AS high, 1 AS low, 1 AS close",
    ),
  ]);
  expect([none, plots, candles].map((page) => countOf(page, "<script>"))).toEqual([0, 2, 2]);
  expect(none.length).toBeLessThan(8000);
  expect(none).toContain("script-src 'none'");
});

once("charts are packed by column, a text once", async () => {
  const [chart] = chartsIn(
    await pageOf(
      "-- %% chart line x=d y=v color=g\nSELECT DATE '1970-01-01' + i::INTEGER AS d, i / 3 AS v, ['a', 'b'][i % 2 + 1] AS g FROM range(4) t(i)",
    ),
  );
  expect(chart?.channels).toEqual({
    x: [{ name: "d", kind: "date", isPercent: false, values: [0, 1, 2, 3] }],
    y: [{ name: "v", kind: "number", isPercent: false, values: [0, 0.333333333, 0.666666667, 1] }],
    color: [{ name: "g", kind: "text", isPercent: false, values: [0, 1, 0, 1], texts: ["a", "b"] }],
  });
});

const HOSTILE = [
  "</script><script>alert(1)</script>",
  "<!--<script>",
  "<img src=x onerror=alert(1)>",
  '" onmouseover="alert(1)',
  "'><svg onload=alert(1)>",
  "]]>\u2028\u2029&lt;",
  "</style><style>*{display:none}",
];
const HOSTILE_NOTEBOOK = `-- # Title of __
-- [a link](javascript:alert(1)) ![a picture](http://example.org/x.png) __
-- %% param symbol = 'a'
-- %% table title="__"
SELECT $symbol AS symbol, 1 AS "__";
-- %% figures
SELECT $symbol AS symbol, 1 AS "__";
-- %% chart bar x=symbol y=n color=symbol title="__"
SELECT $symbol AS symbol, 1 AS n;
-- %% chart scatter x=n y=n label=symbol color=symbol
SELECT $symbol AS symbol, 1 AS n;
-- %% table empty="__"
SELECT 1 WHERE false;
-- %%
SELECT error($symbol);
`;

function hostile(value: string): Promise<string> {
  return pageOf(HOSTILE_NOTEBOOK.replaceAll("__", value.replaceAll('"', '""')), { symbol: value });
}

once("values, names and prose remain text, with any content", async () => {
  const plain = await hostile("plain");
  const elements = (page: string): string[] =>
    [
      ...page.replaceAll(/<script\b.*?<\/script>|<style>.*?<\/style>/gs, "").matchAll(/<[a-z][a-z0-9]*/gi),
    ].map(([name]) => name);
  const any = fc.oneof(
    fc.constantFrom(...HOSTILE),
    fc
      .array(fc.constantFrom(...HOSTILE, "<", ">", '"', "'", "&", "`", "a"), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join("")),
  );
  await fc.assert(
    fc.asyncProperty(any, async (value) => {
      const page = await hostile(value);
      expect(countOf(page, "<script")).toBe(countOf(plain, "<script"));
      expect(elements(page).filter((name) => /script|img|svg|style|iframe/i.test(name))).toEqual([]);
      const outside = page.replaceAll(/<script\b.*?<\/script>/gs, "");
      expect(outside).not.toMatch(/<[a-z][^<>"]*(?:"[^"]*"[^<>"]*)*\son[a-z]+=/i);
      expect(outside).not.toMatch(/href="(?!https:\/\/(?:observablehq|www\.tradingview)\.com|data:,)/);
      expect(chartsIn(page).map(({ channels }) => channels.color?.[0]?.texts)).toEqual([[value], [value]]);
    }),
    { numRuns: 15, examples: HOSTILE.map((value): [string] => [value]) },
  );
});

describe.skipIf(!hasChromium())("in a browser", () => {
  /** One for all pages: to start it takes longer than to show them. */
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  /** Shows HTML. What a page does when its size is known, it has done after two frames. */
  async function show(html: string, width: number): Promise<{ page: Page; console: readonly string[] }> {
    const file = join(temporaryFolder(), "page.html");
    writeFileSync(file, html);
    const page = await openPage(browser, { viewport: { width, height: 2000 } });
    onTestFinished(() => page.context().close());
    const console: string[] = [];
    page.on("console", (message) => console.push(message.text()));
    page.on("pageerror", (error) => console.push(String(error)));
    await page.goto(pathToFileURL(file).href);
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    return { page, console };
  }

  async function look(html: string): Promise<SeenPage> {
    const { page, console } = await show(html, 1200);
    return { dom: await page.content(), console };
  }

  once("every kind of chart is drawn, without a word on the console", async () => {
    const { dom, console } = await look(await pageOf(EVERY_CHART));
    expect(console).toEqual([]);
    const marks = ["line", "area", "bar", "dot", "cell", "rect", "tip"];
    expect(marks.filter((mark) => !dom.includes(`<g aria-label="${mark}"`))).toEqual([]);
    const figures = dom.split('<figure class="chart ').slice(1);
    expect(figures).toHaveLength(10);
    for (const figure of figures.toSpliced(8, 1)) expect(figure.split("</details>")[0]).toMatch(/<svg[\s>]/);
    expect(countOf(figures[8] ?? "", "<canvas")).toBeGreaterThanOrEqual(3);
    const legend = /class="legend"[^>]*>(.*?)<\/div>/s.exec(figures[8] ?? "")?.[1];
    expect(
      legend
        ?.replaceAll(/<[^>]*>/g, "|")
        .split(/\|+/)
        .join(" ")
        .trim(),
    ).toBe("2026-04-10 O  1.100 H  3.100 L  0.100 C  2.100 V  100 a  0.100");
    expect(countOf(figures[4] ?? "", "<rect")).toBe(40);
    const strokes = [...(figures[9] ?? "").matchAll(/<path stroke="([^"]+)"/g)].map(([, stroke]) => stroke);
    expect(new Set(strokes).size).toBe(30);
  });

  once("a page is no wider than a telephone", async () => {
    const { page } = await show(await pageOf(EVERY_CHART), 390);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  });

  once("candles that were drawn on a wide screen fit on paper, and are drawn again after it", async () => {
    const { page } = await show(await pageOf(EVERY_CHART), 1440);
    const [drawn, printed] = [page.locator(".candles canvas").first(), page.locator("figure > canvas")];
    await drawn.waitFor();
    await page.evaluate('dispatchEvent(new Event("beforeprint"))');
    expect(await drawn.isVisible()).toBe(false);
    // All at once, as a browser prints: what observes the width of the figure does not see the paper.
    const [width, height] = await page.evaluate<number[]>(`(() => {
      const picture = document.querySelector("figure > canvas");
      picture.parentElement.style.width = "660px";
      const { width, height } = picture.getBoundingClientRect();
      picture.parentElement.style.width = "";
      return [width, height];
    })()`);
    expect(width).toBe(660);
    expect(height).toBeGreaterThan(100);
    await page.evaluate('dispatchEvent(new Event("afterprint"))');
    expect([await drawn.isVisible(), await printed.count()]).toEqual([true, 0]);
  });

  test.each(pickFrom(HOSTILE, { few: 1, more: 3, all: 7 }))("%j does no harm", async (value) => {
    const { dom, console } = await look(await hostile(value));
    expect(console).toEqual([]);
    expect(countOf(dom, "<img")).toBe(0);
    expect(countOf(dom, "<script")).toBe(3);
    expect(countOf(dom, "<svg")).toBeGreaterThanOrEqual(2);
  });

  once("a foreign script, and a picture, are forbidden: the console reports it", async () => {
    const page = await pageOf(EVERY_CHART);
    const { dom, console } = await look(
      page.replace(
        "<main>",
        '<main><script>document.title = "changed"</script><img src="http://127.0.0.1:9/x.png">',
      ),
    );
    expect(console).toHaveLength(2);
    expect(console.join("\n")).toMatch(/Content Security Policy/);
    expect(dom).toContain("<title>Every chart</title>");
  });
});
