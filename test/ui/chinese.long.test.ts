import type { Page } from "playwright-core";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { workspaceRuns } from "../../src/cli/options/service-option.js";
import { ServiceClient } from "../../src/client/service-client.js";
import { systemClock } from "../../src/client/system-clock.js";
import { definePipeline } from "../../src/jobs/pipeline/definition.js";
import { pipelineFiles } from "../../src/jobs/pipeline/load-pipeline.js";
import { runPipeline } from "../../src/jobs/run/run-pipeline.js";
import type { Lake } from "../../src/lake/lake.js";
import { openReader } from "../../src/lake/open-reader.js";
import { shippedNotebooks } from "../../src/notebook/shipped-notebooks.js";
import { startWorkspace } from "../../src/ui/start-workspace.js";
import { apiLake, NOW } from "../api/api-lake.js";
import { openScripted } from "../faults/service/scripted-server.js";
import { json } from "../faults/service/scripted-service.js";
import { dailyBars } from "../jobs/scripted-market.js";
import { hasChromium } from "../notebook/chromium.js";

import { PATIENT } from "./patient-session.js";
import { openWatched, workspaceForFile } from "./watched-page.js";

/** The texts of a page that have a Latin word and no Chinese: of elements, and of attributes that are shown or read. */
const LATIN = `(() => {
  const texts = [];
  const kinds = NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT;
  const walker = document.createTreeWalker(document.querySelector("#app"), kinds);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    // Commands, styles of plots, the brand, the path of the lake, and errors of a service.
    const others = "code, pre, kbd, style, .brand, .foot, .facts, tr[title*='status 403']";
    if (element.closest(others) !== null) continue;
    // Screen readers do not read the parts of a plot.
    if (node === element && element.closest("svg") !== null) continue;
    if (node === element)
      for (const name of ["title", "aria-label", "placeholder", "aria-valuetext"]) texts.push(node.getAttribute(name) ?? "");
    else texts.push(node.textContent);
  }
  const isLatin = (text) => /[A-Za-z]{2,}/.test(text) && !/\\p{Script=Han}/u.test(text);
  return [...new Set(texts.map((text) => text.trim()))].filter(isLatin);
})()`;

/** Names of the data, units and abbreviations, which are the same in every language. */
const NAMES: readonly RegExp[] = [
  /^(barlake|CN|HK|US|UTC|\(UTC\)|HTTP|ETF|SQL|CSV|Parquet|Arrow|MB|MA\d*|\d+ (ms|s))$/,
  // Symbols, tables by region, sizes, ids of runs, the program, endpoints.
  /^(\w+\.(SH|SZ|BJ|HK|US)|bars_1[dm]( · (CN|HK|US))?)$/,
  /^[\d.]+ [kMG]?B$/,
  /^\d{8}T\d{6}Z-/,
  /^barlake\/[\d.]+$/,
  /^GET \/v1\//,
  // Files of notebooks.
  /^[\w-]+\.(sql|html)( \(Ctrl S\))?$/,
];

describe.skipIf(!hasChromium())("in a browser of China", () => {
  let lake: Lake;
  let names: ReadonlySet<string>;
  const visit = workspaceForFile(
    () => ({}),
    async (folder) => {
      lake = await apiLake(folder);
      await runOnce(200);
      await runOnce(403);
      return lake;
    },
  );

  beforeAll(async () => {
    using reader = await openReader(lake, {});
    const all = await reader.session.json<{ name: string }>(
      `SELECT name FROM instruments UNION SELECT name_en FROM instruments UNION SELECT table_name FROM duckdb_tables()
       UNION SELECT view_name FROM duckdb_views()`,
    );
    names = new Set([
      ...all.map(({ name }) => name),
      ...(await pipelineFiles(undefined)).keys(),
      ...shippedNotebooks().map(({ name }) => name),
    ]);
  });

  /** Runs a pipeline on a service that responds with this status. */
  async function runOnce(status: number): Promise<void> {
    const service = await openScripted((seen, response) => json(response, status, { data: dailyBars(seen) }));
    const clock = { ...systemClock, now: () => NOW };
    const options = { baseUrl: service.url, apiKey: "key", clock, retries: 0, timeoutMs: 0 };
    const client = new ServiceClient(options);
    try {
      const definition = { name: "daily", kind: "bars", period: "1d", from: "2026-11-16" } as const;
      const symbols = status === 200 ? ["600659.SH"] : ["600218.SH"];
      await runPipeline(definePipeline(definition), { symbols }, { lake, client, clock });
    } finally {
      await client.close();
      await service.close();
    }
  }

  /** The English texts of a page once it has all of its data. */
  async function englishOf(page: Page): Promise<string[]> {
    await page.waitForLoadState("networkidle");
    await page.waitForSelector(".hollow, .stale, .busy", { state: "detached" });
    const texts = await page.evaluate<string[]>(LATIN);
    return texts.filter((text) => !isName(text));
  }

  const isName = (text: string): boolean => names.has(text) || NAMES.some((pattern) => pattern.test(text));

  test.each([
    "/",
    "/instrument/",
    "/notebook",
    "/notebook/instrument",
    "/notebook/market-overview",
    "/runs",
    "refused run",
    "/quality",
  ])("%s has no English text", async (path) => {
    await using watched = await openWatched(visit.browser, { locale: "zh-CN" });
    const { page } = watched;
    await page.goto(visit.workspace.address(path.startsWith("/") ? path : "/runs"));
    if (!path.startsWith("/")) {
      const run = page.locator("section[aria-labelledby=runs] tr", { hasText: "被拒绝" });
      await run.locator("a").click();
      await page.locator("#result").waitFor();
    }
    expect(await englishOf(page)).toEqual([]);
  });

  test("why nothing can be run is Chinese", async () => {
    for (const name of ["BARLAKE_URL", "BARLAKE_API_KEY"]) vi.stubEnv(name, undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    const runPlace = workspaceRuns(lake, { lake: lake.location });
    await using keyless = await startWorkspace(lake, { limits: PATIENT, runPlace });
    await using watched = await openWatched(visit.browser, { locale: "zh-CN" });
    const { page } = watched;
    await page.goto(keyless.address("/runs"));
    await page.getByRole("button", { name: "daily: 计划" }).click();
    await page.locator("dialog .fault").waitFor();
    expect(await englishOf(page)).toEqual([]);
    expect(await page.locator("dialog .fault").textContent()).toMatch(
      /^\p{Script=Han}.*再重新启动 barlake ui$/u,
    );
  });
});
