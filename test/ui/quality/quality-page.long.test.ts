import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { hasChromium } from "../../notebook/chromium.js";
import { openPage } from "../open-browser.js";
import { seriousAgainst, workspaceForFile } from "../watched-page.js";
import { faultyRowsLake, HOSTILE } from "./faulty-rows-lake.js";

describe.skipIf(!hasChromium())("the view Data quality in a browser", () => {
  const visit = workspaceForFile(() => ({ location: "my data" }), faultyRowsLake);
  let page: Page;
  beforeAll(async () => {
    page = await openPage(visit.browser, { viewport: { width: 390, height: 844 } });
  });

  const counted = async (): Promise<void> => {
    await page.waitForSelector("td:has-text('counting'), td:has-text('waits')", { state: "detached" });
  };
  const accessible = async (what: string): Promise<void> => {
    expect(await page.evaluate("document.documentElement.scrollWidth"), what).toBeLessThanOrEqual(390);
    expect(await seriousAgainst(page), what).toEqual([]);
  };

  test("one clicks from a rule to its symbols, and to the bars in question; every state has an address", async () => {
    await page.goto(visit.workspace.address("/quality"));
    await page.waitForSelector(".rules");
    await counted();
    await accessible("rules");
    await page.getByRole("link", { name: "Prices that contradict one another" }).click();
    await page.getByRole("link", { name: "600519.SH" }).click();
    await page.waitForSelector('.stage[data-shown="600519.SH 1m none"] canvas');
    expect(await page.locator(".values .question").textContent()).toContain("2024-01-08T03:29:00Z");
    await accessible("minutes");
    await page.getByRole("button", { name: "2024-01-06" }).click();
    await page.waitForSelector('.stage[data-shown="600519.SH 1d none"] canvas');
    expect(await page.locator(".values .question td").allTextContents()).toContain("2024-01-06");
    expect(new URL(page.url()).search).toContain("finding=bars_1d_2024-01-06_2024-01-06_");
    await page.reload();
    await page.waitForSelector('.stage[data-shown="600519.SH 1d none"] canvas');
    await page.goBack();
    await page.waitForSelector('.stage[data-shown="600519.SH 1m none"] canvas');
  });

  test("the first view lists the rules that have findings, each with a link", async () => {
    // The counts of this view remain: the first view would give up those that take long on a busy machine.
    await page.goto(visit.workspace.address("/quality"));
    await page.waitForSelector(".rules");
    await counted();
    await page.goto(visit.workspace.address("/"));
    await page.waitForSelector("[role=status] >> text=/ rules · /");
    const rule = page.locator(".found-rules li", { hasText: "Prices that contradict one another" });
    expect(Number(await rule.locator("b").textContent())).toBeGreaterThan(0);
    await accessible("the first view");
    await rule.getByRole("link").click();
    await page.waitForURL("**/quality/ohlc");
    await page.waitForSelector("tbody th >> text=600519.SH");
  });

  test("a symbol that a hostile source wrote is a text", async () => {
    await page.goto(visit.workspace.address("/quality/set_aside"));
    await page.getByRole("link", { name: HOSTILE }).click();
    await page.waitForSelector(`h1 >> text=${HOSTILE}`);
    await page.waitForSelector(".findings");
    expect(await page.locator(".findings").textContent()).toContain("it is no symbol");
    expect(await page.locator("main img").count()).toBe(0);
    await accessible("set aside");
    await page.goBack();
    // Browsers take such a part of a path for a step to another folder, also where it is encoded.
    await page.getByRole("link", { name: "..", exact: true }).click();
    await page.waitForSelector("h1 >> text=..");
    await page.reload();
    await page.waitForSelector(".findings");
    expect(await page.locator(".findings").textContent()).toContain("b.csv");
  });
});
