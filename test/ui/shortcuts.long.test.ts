import type { BrowserContext, Page, Request } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import { hasChromium } from "../notebook/chromium.js";
import { openPage } from "./open-browser.js";

import { openWatched, workspaceForFile } from "./watched-page.js";

/** What the view Instrument loads, each by a part of its address. */
const LOADED = {
  script: "/assets/instrument-view-",
  state: "/api/state?",
  report: "/api/instrument?",
  bars: "/api/bars?",
};
type Part = keyof typeof LOADED;

/**
 * Waits until a response has arrived, or the page has given it up, as it does with the bars of an instrument that it
 * leaves: for those `finished()` of a response that has begun waits for ever.
 */
function endOf(page: Page, path: string): Promise<void> {
  return new Promise((resolve) => {
    const onEnd = (request: Request): void => {
      if (!request.url().includes(path)) return;
      page.off("requestfinished", onEnd).off("requestfailed", onEnd);
      resolve();
    };
    page.on("requestfinished", onEnd).on("requestfailed", onEnd);
  });
}

/** The orders in which they can arrive: the page requests the last two once it has the first two. */
const ORDERS: readonly (readonly Part[])[] = [
  ["script", "state", "report", "bars"],
  ["script", "state", "bars", "report"],
  ["state", "script", "report", "bars"],
  ["state", "script", "bars", "report"],
];

describe.skipIf(!hasChromium())("shortcuts while the view Instrument loads", () => {
  const visit = workspaceForFile();
  /** The first instruments of the list. */
  const symbols: string[] = [];
  /** The cookie of a browser that was admitted. */
  let admitted: Awaited<ReturnType<BrowserContext["storageState"]>>;

  beforeAll(async () => {
    const page = await openPage(visit.browser);
    await page.goto(visit.workspace.address());
    const found = await page.evaluate<string[]>(`(async () => {
      const { state } = await (await fetch("/api/state?")).json();
      const { found } = await (await fetch("/api/search?whole=1&q=&state=" + state)).json();
      return found.map(({ symbol }) => symbol);
    })()`);
    symbols.push(...found);
    admitted = await page.context().storageState();
    await page.context().close();
  });
  /** Stops each part of the view on its way to the page, until it is released. */
  async function gates(page: Page): Promise<(part: Part) => Promise<void>> {
    const release = new Map<Part, () => void>();
    for (const [part, path] of Object.entries(LOADED) as [Part, string][]) {
      const released = new Promise<void>((resolve) => release.set(part, resolve));
      await page.route(
        (url) => url.href.includes(path),
        async (route) => {
          await released;
          await route.continue();
        },
      );
    }
    return async (part) => {
      const ended = endOf(page, LOADED[part]);
      release.get(part)?.();
      await ended;
    };
  }

  // Keys are pressed before the first of these arrives, after two of them, and after all but one.
  test.each(ORDERS)("each key is taken once where %s, %s, %s, %s arrive in turn", async (...order) => {
    for (const after of [0, 2, 3]) {
      await using watched = await openWatched(visit.browser, { storageState: admitted });
      const { page, faults } = watched;
      const [first = "", second = "", third = ""] = symbols;
      const release = await gates(page);
      await page.goto(`${visit.workspace.url}/instrument/${first}`);
      const length = await page.evaluate<number>("history.length");
      for (const part of order.slice(0, after)) await release(part);
      for (const key of ["8", " ", "ArrowRight", "l", "Tab"]) await page.keyboard.press(key);
      for (const part of order.slice(after)) await release(part);
      await page.locator(`.stage[data-shown="${second} 1w forward"] canvas`).first().waitFor();
      await page.waitForSelector(`.steps a[title="${third}"]`);
      const { pathname, search } = new URL(page.url());
      expect([after, pathname, search]).toEqual([after, `/instrument/${second}`, "?period=1w&log=1"]);
      expect([after, await page.evaluate("history.length")]).toEqual([after, length + 3]);
      expect(faults).toEqual([]);
    }
  });

  test("a key is taken once between the drawing of a view and the work after it", async () => {
    await using watched = await openWatched(visit.browser, { storageState: admitted });
    const { page, faults } = watched;
    const [first = "", second = "", third = ""] = symbols;
    const release = await gates(page);
    await page.clock.install();
    await page.goto(`${visit.workspace.url}/instrument/${first}`);
    const length = await page.evaluate<number>("history.length");
    await release("state");
    await page.locator(".asof time").waitFor();
    // Without a clock, no frame comes, for which the work after a drawing waits.
    await page.clock.pauseAt(Date.now() + 60_000);
    await release("script");
    await page.locator(".controls").waitFor();
    for (const key of ["ArrowRight", "l"]) await page.keyboard.press(key);
    await page.clock.resume();
    for (const part of ["report", "bars"] as const) await release(part);
    await page.waitForSelector(`.steps a[title="${third}"]`);
    expect(new URL(page.url()).pathname).toBe(`/instrument/${second}`);
    expect(new URL(page.url()).search).toBe("?log=1");
    expect(await page.evaluate("history.length")).toBe(length + 2);
    expect(faults).toEqual([]);
  });

  test("a key that stays down counts once while the view loads; a key that is pressed twice counts twice", async () => {
    await using watched = await openWatched(visit.browser, { storageState: admitted });
    const { page, faults } = watched;
    const third = symbols[2] ?? "";
    const release = await gates(page);
    await page.goto(`${visit.workspace.url}/instrument/`);
    // After the first time it repeats itself, because it is not released.
    for (let time = 0; time < 9; time++) await page.keyboard.down("ArrowRight");
    await page.keyboard.up("ArrowRight");
    await page.keyboard.press("ArrowRight");
    for (const part of ORDERS[0] ?? []) await release(part);
    await page.locator(`.stage[data-shown="${third} 1d forward"] canvas`).first().waitFor();
    await page.waitForLoadState("networkidle");
    expect(new URL(page.url()).pathname).toBe(`/instrument/${third}`);
    expect(faults).toEqual([]);
  });

  test("the search takes its key while a view loads", async () => {
    await using watched = await openWatched(visit.browser, { storageState: admitted });
    const { page } = watched;
    await gates(page);
    await page.goto(`${visit.workspace.url}/instrument/`);
    await page.keyboard.press("/");
    expect(await page.evaluate("document.activeElement.role")).toBe("combobox");
  });

  test("keys of a view that cannot be loaded are no keys of another view", async () => {
    await using watched = await openWatched(visit.browser, { storageState: admitted });
    const { page } = watched;
    await page.route(/\/assets\/quality-view-/, (route) => route.abort());
    await page.goto(`${visit.workspace.url}/quality`);
    await page.locator("main .fault").waitFor();
    for (const key of ["8", "l"]) await page.keyboard.press(key);
    await page.locator("nav a", { hasText: "Instrument" }).click();
    await page.locator(".stage[data-shown] canvas").first().waitFor();
    expect(new URL(page.url()).search).toBe("");
  });
});
