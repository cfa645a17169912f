import type { Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { hasChromium } from "../notebook/chromium.js";
import { openWatched, seriousAgainst, type WatchedPage, workspaceForFile } from "./watched-page.js";

describe.skipIf(!hasChromium())("the workspace in a browser", () => {
  const visit = workspaceForFile();
  let page: Page;
  let watched: WatchedPage;

  beforeEach(async () => {
    watched = await openWatched(visit.browser);
    ({ page } = watched);
  });
  afterEach(async () => {
    await watched[Symbol.asyncDispose]();
    if (watched.faults.length > 0) throw new Error(watched.faults.join("\n"));
  });

  const open = async (path: string): Promise<void> => {
    await page.goto(visit.workspace.address(path));
    await page.waitForLoadState("networkidle");
    await page.waitForSelector(".hollow, .stale", { state: "detached" });
  };
  const shown = (what: string): Promise<unknown> =>
    page.waitForSelector(`.stage[data-shown="${what}"] canvas`);
  const query = (): string => new URL(page.url()).search;
  /** Waits until the chart has been drawn, and its place is in the address. (The page's policy forbids to wait in the page.) */
  const chartRests = async (): Promise<void> => {
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    const last = (mark: string): string =>
      `(performance.getEntriesByName("${mark}").at(-1)?.startTime ?? NaN)`;
    await expect
      .poll(() => page.evaluate(`${last("chart-rests")} >= ${last("chart-moves")}`), { timeout: 60_000 })
      .toBe(true);
  };

  const VIEWS = ["/", "/instrument/", "/notebook", "/notebook/market-overview", "/runs"];
  test.each(VIEWS)("%s has nothing serious against it, light and dark, wide and narrow", async (path) => {
    await open(path);
    expect(page.url()).not.toContain("token");
    for (const width of [1400, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      expect(wide, `${path} ${width}`).toBeLessThanOrEqual(width);
      expect(await seriousAgainst(page), `${path} ${width}`).toEqual([]);
    }
  });

  test("the keyboard finds an instrument, and changes its period; back and forward work", async () => {
    await open("/");
    const href = (await page.locator(".plain a").first().getAttribute("href")) ?? "";
    const symbol = href.split("/").at(-1) ?? "";
    await page.keyboard.press("/");
    await page.keyboard.type(symbol.toLowerCase());
    await page.waitForSelector(`[role=option][aria-selected=true] >> text=${symbol}`);
    await page.keyboard.press("Enter");
    await shown(`${symbol} 1d forward`);
    await page.keyboard.press("8");
    await shown(`${symbol} 1w forward`);
    expect(query()).toBe("?period=1w");
    await page.getByRole("button", { name: "Backward", exact: true }).click();
    await shown(`${symbol} 1w backward`);
    await page.goBack();
    await shown(`${symbol} 1w forward`);
    await page.goForward();
    await shown(`${symbol} 1w backward`);
    await page.reload();
    await shown(`${symbol} 1w backward`);
    // The neighbours come with another response than the bars.
    await page.waitForLoadState("networkidle");
    await page.keyboard.press("ArrowRight");
    await page.waitForURL((url) => !url.pathname.endsWith(symbol));
    expect(query()).toBe("?period=1w&adjust=backward");
  });

  test("other instruments are compared, and where the chart was moved to is in the address", async () => {
    await open("/instrument/");
    await page.waitForURL(/instrument\/./);
    const symbol = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    await shown(`${symbol} 1d forward`);
    const next = (await page.locator(".steps a").last().getAttribute("href"))?.split("/").at(-1) ?? "";
    // A part of the symbol finds it, as in the search of the frame.
    await page.getByRole("combobox", { name: "Compare" }).fill(next.toLowerCase().slice(0, -1));
    await page.getByRole("combobox", { name: "Compare" }).press("Enter");
    await page.waitForURL((url) => url.search.includes(`compare=${next}`));
    await page.getByRole("button", { name: `${next}: Close` }).click();
    await page.waitForURL((url) => !url.search.includes("compare"));
    const box = await page.locator(".drawing").boundingBox();
    await page.mouse.move((box?.x ?? 0) + 500, (box?.y ?? 0) + 100);
    // All bars are in view at first, and nothing is before them: the wheel makes them wider.
    for (let turn = 0; turn < 4; turn++) await page.mouse.wheel(0, -400);
    await page.mouse.down();
    await page.mouse.move((box?.x ?? 0) + 800, (box?.y ?? 0) + 100, { steps: 4 });
    await page.mouse.up();
    // The drag may not be drawn yet.
    await page.waitForURL((url) => url.search.includes("at="));
    await chartRests();
    const moved = query();
    expect(moved).toMatch(/^\?at=\d{4}-\d\d-\d\d$/);
    await page.reload();
    await shown(`${symbol} 1d forward`);
    // A chart that was drawn elsewhere would write its own place there once it rests.
    await chartRests();
    expect(query()).toBe(moved);
  });

  test("a field of the coverage opens what its month lacks", async () => {
    await open("/");
    const field = page.locator("button.month").first();
    const name = (await field.getAttribute("aria-label"))?.split(",")[0]?.split(" ") ?? [];
    await field.click();
    expect(await page.locator(".missing h3").textContent()).toBe(name.join(" · "));
    // The lake of this test has no requests, as an imported one: a rule finds the sessions without a bar.
    await page.waitForSelector(".missing >> text=Requests are not compared here");
    expect(await page.locator(".missing >> text=Nothing is missing").count()).toBe(0);
    const rule = page.locator(".missing").getByRole("link", { name: "sessions without a bar" });
    const [, region, month] = name;
    expect(await rule.getAttribute("href")).toMatch(
      new RegExp(
        `^/quality/missing_(days|sessions)\\?region=${region}&from=${month}-01&to=${month}-(28|29|30|31)$`,
      ),
    );
    await page.keyboard.press("Escape");
    await page.waitForSelector(".missing", { state: "detached" });
  });

  test("a parameter of a notebook is a control, whose value is in the address and runs it again", async () => {
    await open("/notebook/instrument");
    const before = await page.locator(".figures dd").first().textContent();
    const other = before === "000001.SZ" ? "600519.SH" : "000001.SZ";
    await page.getByRole("combobox", { name: "symbol" }).fill(other);
    await page.getByRole("combobox", { name: "symbol" }).press("Enter");
    await page.waitForURL((url) => url.search.includes(other));
    await page.getByRole("spinbutton", { name: "days" }).fill("30");
    await page.getByRole("spinbutton", { name: "days" }).press("Enter");
    await page.waitForURL(/p\.days=30/);
    expect(await page.locator("h1").textContent()).toBe("Instrument");
  });

  test("a page that was not opened by its address says so", async () => {
    // The refusal itself is an error on the browser's console.
    page.removeAllListeners("console");
    await page.goto(visit.workspace.url);
    expect(await page.locator("h1").textContent()).toBe("Not opened here");
  });
});
