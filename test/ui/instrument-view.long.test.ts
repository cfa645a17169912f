import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { DAY_MS } from "../../src/core/time.js";
import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { ADJUSTMENTS } from "../../src/market/period.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import type { SearchReport } from "../../src/ui/page-data.js";
import { startWorkspace } from "../../src/ui/start-workspace.js";

import { landSomeActions } from "../lake/land/some-actions.js";
import { land } from "../lake/temporary-lake.js";
import { hasChromium } from "../notebook/chromium.js";
import { HANG_MS } from "./open-browser.js";
import { PATIENT } from "./patient-session.js";
import { openWatched, workspaceForFile } from "./watched-page.js";

const WAIT = { timeout: HANG_MS };

describe.skipIf(!hasChromium())("the view Instrument in a browser", () => {
  const visit = workspaceForFile();

  /** Opens the first instrument of the list. @returns its symbol, and that of the next one. */
  async function openFirst(page: Page, query = ""): Promise<readonly [symbol: string, next: string]> {
    await page.goto(visit.workspace.address("/instrument/"));
    await page.waitForURL(/instrument\/./);
    const next = (await page.locator(".steps a").last().getAttribute("href"))?.split("/").at(-1) ?? "";
    const symbol = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    if (query !== "")
      await page.goto(`${visit.workspace.url}/instrument/${symbol}${query.replace("NEXT", next)}`);
    await page.locator(`.stage[data-shown^="${symbol} "] canvas`).first().waitFor();
    return [symbol, next];
  }

  test("other periods and adjustments of days are loaded ahead, each with one request", async () => {
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    // No request is slow, so all of them are sent.
    await page.addInitScript("performance.now = () => 0");
    const asked: string[] = [];
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/api/bars?**", async (route) => {
      const { searchParams } = new URL(route.request().url());
      asked.push(`${searchParams.get("period")} ${searchParams.get("adjust")}`);
      if (searchParams.get("period") === "1w") await released;
      await route.continue();
    });
    const [symbol] = await openFirst(page);
    await expect.poll(() => asked, WAIT).toEqual(["1d forward", "1w forward"]);
    // The chart waits for the request that was sent ahead.
    await page.keyboard.press("8");
    await page.waitForURL(/period=1w/);
    release();
    await page.locator(`.stage[data-shown="${symbol} 1w forward"] canvas`).first().waitFor();
    const others = ADJUSTMENTS.filter((adjust) => adjust !== "forward").map((adjust) => `1w ${adjust}`);
    const all = ["1d forward", "1w forward", "1M forward", "1Q forward", "1Y forward", ...others];
    await expect.poll(() => asked, WAIT).toEqual(all);
    await page.keyboard.press("9");
    await page.locator(`.stage[data-shown="${symbol} 1M forward"] canvas`).first().waitFor();
    expect(asked.filter((one) => one === "1M forward")).toHaveLength(1);
    expect(faults).toEqual([]);
  });

  test("no label of the time axis is cut by an edge", async () => {
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    // Records where each label of the axis begins and ends, in pixels, with the width of the axis.
    await page.addInitScript(`
      globalThis.labels = [];
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        if (this.textAlign === "center") {
          const half = this.measureText(text).width / 2;
          labels.push([x - half, this.canvas.clientWidth - x - half]);
        }
        return draw.call(this, text, x, y);
      };`);
    await openFirst(page);
    const box = await page.locator(".drawing").boundingBox();
    const [x, y] = [(box?.x ?? 0) + 300, (box?.y ?? 0) + 100];
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let step = 1; step <= 40; step++) await page.mouse.move(x + step * 3, y);
    await page.mouse.up();
    const labels = await page.evaluate<number[][]>("labels");
    expect(labels.length).toBeGreaterThan(10);
    expect(labels.filter((ends) => Math.min(...ends) < -0.01)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test("Enter opens what the whole text finds, also where it is pressed before the response", async () => {
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    const [, next] = await openFirst(page);
    const waiting: (() => void)[] = [];
    await page.route("**/api/search?**", async (route) => {
      const isWhole = new URL(route.request().url()).searchParams.get("q") === next;
      if (isWhole) await new Promise<void>((resolve) => waiting.push(resolve));
      await route.continue();
    });
    await page.keyboard.press("/");
    // The list shows the first instruments of the lake, and then those of the text before its last letter.
    await page.locator("[role=option] b").first().waitFor();
    await page.keyboard.type(next);
    await page.keyboard.press("Enter");
    await expect.poll(() => waiting.length, { timeout: 60_000 }).toBeGreaterThan(0);
    for (const release of waiting) release();
    await page.waitForURL((url) => url.pathname.endsWith(`/${next}`));
    expect(faults).toEqual([]);
  });

  test("Enter opens the selected instrument, also where it is selected before the response", async () => {
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    const [, next] = await openFirst(page);
    const text = next.slice(0, 1);
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const found: string[] = [];
    await page.route("**/api/search?**", async (route) => {
      if (new URL(route.request().url()).searchParams.get("q") !== text) return route.continue();
      await released;
      const response = await route.fetch();
      const report = (await response.json()) as SearchReport;
      found.splice(0, found.length, ...report.found.map(({ symbol }) => symbol));
      return route.fulfill({ response });
    });
    await page.keyboard.press("/");
    await page.locator("[role=option] b").first().waitFor();
    for (const key of [text, "ArrowDown", "Enter"]) await page.keyboard.press(key);
    release();
    await page.waitForURL((url) => found.length > 1 && url.pathname.endsWith(`/${found[1]}`));
    expect(found[1]).not.toBe(found[0]);
    expect(faults).toEqual([]);
  });

  test("a comparison reaches as far back as the chart is scrolled", async () => {
    const lake = new Lake(join(visit.folder, "minutes"), { hasDatabase: false });
    const days = Array.from({ length: 31 }, (_, n) => Date.parse("2024-01-01T09:31:00+08:00") + n * DAY_MS);
    const bars = days.flatMap((open) => Array.from({ length: 50 }, (_, n) => ({ at: open + n * 60_000 })));
    using session = await Session.open();
    for (const symbol of ["000001.SZ", "600519.SH"])
      await land(
        session,
        lake,
        BARS_1M,
        bars.map((bar) => ({ ...bar, symbol })),
      );
    await using minutes = await startWorkspace(lake, { limits: PATIENT });
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    const asked: string[] = [];
    page.on("response", (response) => {
      if (response.url().includes("/api/bars?")) asked.push(response.url());
    });
    await page.goto(minutes.address("/instrument/600519.SH?period=1m&compare=000001.SZ"));
    await page.locator('.stage[data-shown="600519.SH 1m forward"] canvas').first().waitFor();
    const box = await page.locator(".drawing").boundingBox();
    const [x, y] = [(box?.x ?? 0) + 100, (box?.y ?? 0) + 100];
    const earlierOf = (symbol: string): boolean =>
      asked.some((url) => url.includes(`symbol=${symbol}`) && url.includes("to=2024-01-2"));
    await expect
      .poll(async () => {
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.move(x + 800, y, { steps: 3 });
        await page.mouse.up();
        return [earlierOf("600519.SH"), earlierOf("000001.SZ")];
      }, WAIT)
      .toEqual([true, true]);
    expect(faults).toEqual([]);
  });

  test("in a comparison there are no averages and no log scale; what cannot be compared is named", async () => {
    await using watched = await openWatched(visit.browser, {}, "status of 4");
    const { page, faults } = watched;
    const [symbol, next] = await openFirst(page);
    await page.locator(".legend >> text=MA20").waitFor();
    const field = page.getByRole("combobox", { name: "Compare" });
    await field.fill(next);
    await field.press("Enter");
    await page.locator(".truth >> text=changes since the first bar in view").waitFor();
    expect(await page.locator(".legend >> text=MA20").count()).toBe(0);
    expect(await page.getByRole("checkbox", { name: "Log scale" }).isDisabled()).toBe(true);
    // What the lake does not have is not found: Enter adds nothing.
    await field.fill("999999");
    await page.locator(".chips [role=option] >> text=No instrument").waitFor();
    await field.press("Enter");
    expect(new URL(page.url()).searchParams.get("compare")).toBe(next);
    await page.goto(
      `${visit.workspace.url}/instrument/${symbol}?compare=${next},999999.SZ,nonsense,999998.SZ`,
    );
    await page.locator(".truth >> text=999999.SZ, 999998.SZ: The lake has no bar of it").waitFor();
    await page.locator(".stage .fault >> text=nonsense").waitFor();
    expect(await page.locator(`.stage[data-shown^="${symbol} "] canvas`).count()).toBeGreaterThan(0);
    expect(await field.isDisabled()).toBe(true);
    expect(faults).toEqual([]);
  });

  test("a range or a day moves the chart, and is in the address until it is moved by hand", async () => {
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    const [symbol] = await openFirst(page);
    const newest = await page.locator(".legend b").first().innerText();
    const inView = page.locator(".legend b").first();
    await page.getByRole("group", { name: "Range" }).getByRole("button", { name: "1M" }).click();
    await page.waitForURL(/range=1M/);
    await page.locator(`.stage[data-shown="${symbol} 1d forward"] canvas`).first().waitFor();
    const earlier = new Date(Date.parse(newest) - 60 * DAY_MS).toISOString().slice(0, 10);
    await page.getByLabel("Until").fill(earlier);
    await expect.poll(() => inView.innerText(), WAIT).not.toBe(newest);
    expect((await inView.innerText()) <= earlier).toBe(true);
    expect(new URL(page.url()).searchParams.get("range")).toBeNull();
    await page.goBack();
    await expect.poll(() => inView.innerText(), WAIT).toBe(newest);
    expect(faults).toEqual([]);
  });

  test("each range begins with its first bar, and shows none before it", async () => {
    const lake = new Lake(join(visit.folder, "ranges"), { hasDatabase: false });
    const newest = Date.parse("2026-05-31T00:00:00+08:00");
    const bars = Array.from({ length: 500 }, (_, n) => ({ at: newest - n * DAY_MS, close: 10 }));
    using session = await Session.open();
    await land(session, lake, BARS_1D, bars);
    await using ranges = await startWorkspace(lake, { limits: PATIENT });
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    await page.goto(ranges.address("/instrument/600519.SH"));
    await page.locator('.stage[data-shown="600519.SH 1d forward"] canvas').first().waitFor();
    const box = await page.locator(".drawing").boundingBox();
    const firstInView = async (): Promise<string> => {
      // The pointer moves, also where it is there already.
      await page.mouse.move((box?.x ?? 0) + 100, (box?.y ?? 0) + 200);
      await page.mouse.move((box?.x ?? 0) + 1, (box?.y ?? 0) + 200);
      return page.locator(".legend b").first().innerText();
    };
    const first = {
      // April and February have no 31st day.
      "1M": "2026-04-30",
      "3M": "2026-02-28",
      YTD: "2026-01-01",
      "1Y": "2025-05-31",
      all: "2025-01-17",
    };
    for (const [name, day] of Object.entries(first)) {
      const button = page.getByRole("group", { name: "Range" }).getByRole("button", { name, exact: true });
      await button.click();
      await expect.poll(firstInView, WAIT).toBe(day);
      expect(await button.getAttribute("aria-pressed")).toBe("true");
      expect(new URL(page.url()).search).toBe(`?range=${name}`);
    }
    expect(faults).toEqual([]);
  });

  test("a wrong symbol or address says so and offers the search", async () => {
    await using watched = await openWatched(visit.browser, {}, "status of 404");
    const { page, faults } = watched;
    const [symbol] = await openFirst(page);
    const wrong = [
      ["/instrument/999999.SZ", "999999.SZ: the lake does not know this instrument"],
      ["/instrument/nonsense", "nonsense: no symbol of the form 600519.SH, 00700.HK or AAPL.US"],
      ["/nothing", "The workspace has no page /nothing"],
    ] as const;
    for (const [path, why] of wrong) {
      await page.goto(`${visit.workspace.url}${path}`);
      await expect.poll(() => page.locator("main h1").allInnerTexts(), WAIT).toEqual([why]);
    }
    await page.locator(".wrong input").fill(symbol);
    await page.locator(".wrong input").press("Enter");
    await page.locator(`.stage[data-shown^="${symbol} "] canvas`).first().waitFor();
    expect(faults).toEqual([]);
  });

  test("watched instruments are on the first page, with their last price", async () => {
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    const [symbol] = await openFirst(page);
    await page.getByRole("button", { name: "Watch" }).click();
    await page.goto(`${visit.workspace.url}/`);
    const row = page.locator(".card", { hasText: "Watched" }).locator("tr");
    expect(await row.locator("a").getAttribute("href")).toBe(`/instrument/${symbol}`);
    expect(await row.innerText()).toMatch(/\d\.\d\d.*%.*\d{4}-\d\d-\d\d/s);
    await row.getByRole("button").click();
    await row.waitFor({ state: "detached" });
    await page.reload();
    await page.locator(".card .plain").first().waitFor();
    expect(await page.locator(".card", { hasText: "Watched" }).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("ex-dates are marked with what is known of them, and no chart without ex-events is called adjusted", async () => {
    const lake = new Lake(join(visit.folder, "actions"), { hasDatabase: false });
    using session = await Session.open();
    const days = Array.from({ length: 12 }, (_, n) => Date.parse("2026-05-11T00:00:00+08:00") + n * DAY_MS);
    const bars = days.map((at, n) => ({ at, close: 100, prevClose: n === 3 ? 80 : 100 }));
    await land(session, lake, BARS_1D, [
      ...bars,
      ...days.map((at) => ({ symbol: "000001.SZ", at, close: 10, prevClose: 10 })),
    ]);
    await landSomeActions(session, lake, Date.parse("2026-06-01T00:00:00Z"));
    await using marked = await startWorkspace(lake, { limits: PATIENT });
    await using watched = await openWatched(visit.browser, { viewport: { width: 390, height: 844 } });
    const { page, faults } = watched;
    await page.goto(marked.address("/instrument/600519.SH"));
    await page.locator(".truth >> text=adjusted forward").waitFor();
    const rows = await page.locator(".events tbody tr").allInnerTexts();
    expect(rows.map((row) => row.replaceAll(/\s+/g, " "))).toEqual([
      "2026-09-10 R Rights 1 for 5 at 4.5 test prices are not adjusted by it ·",
      "2026-06-19 S Stock dividend 3 for 10 test D Dividend 1.45 CNY announced 2026-04-20 · paid 2026-06-22 · test prices are not adjusted by it ·",
      "2026-05-14 E Close 100.00 → 80.00 1.2500 -20.00%",
    ]);
    const box = await page.locator(".drawing").boundingBox();
    const tip = page.getByRole("tooltip");
    for (let x = 0; x < 390 && (await tip.count()) === 0; x += 2)
      await page.mouse.move((box?.x ?? 0) + x, (box?.y ?? 0) + 200);
    expect((await tip.innerText()).replaceAll(/\s+/g, " ")).toBe(
      "2026-05-14 factor 1.2500 · -20.00% E Close 100.00 → 80.00",
    );
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await page.getByRole("combobox", { name: "Compare" }).fill("000001.SZ");
    await page.keyboard.press("Enter");
    await page.locator(".truth >> text=no ex-event is known of 000001.SZ").waitFor();
    await page.goto(`${marked.url}/instrument/000001.SZ`);
    await page.locator(".truth >> text=no ex-event is known: prices are as traded").waitFor();
    const { truth, drawing } = {
      truth: await page.locator(".truth").innerText(),
      drawing: await page.locator(".drawing").getAttribute("aria-label"),
    };
    expect(`${truth} ${drawing}`).not.toContain("adjusted");
    expect(await page.locator(".events").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("the keys of the log scale, also as a capital; arrow keys in a table scroll it", async () => {
    await using watched = await openWatched(visit.browser);
    const { page, faults } = watched;
    const [symbol, next] = await openFirst(page);
    await page.keyboard.press("L");
    await page.waitForURL(/log=1/);
    await page.keyboard.press("l");
    await page.waitForURL((url) => !url.search.includes("log"));
    await page.waitForLoadState("networkidle");
    await page.locator(".halves .table").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(".steps a").last().focus();
    expect(page.url()).toContain(symbol);
    await page.keyboard.press("ArrowRight");
    await page.waitForURL(`**/instrument/${next}`);
    expect(faults).toEqual([]);
  });

  test("no bars of another instrument remain under a heading, where its own cannot be loaded", async () => {
    await using watched = await openWatched(visit.browser);
    const { page } = watched;
    const [, next] = await openFirst(page);
    let fail = (): void => {};
    const failed = new Promise<void>((resolve) => {
      fail = resolve;
    });
    await page.route(`**/api/bars?*symbol=${next}*`, async (route) => {
      await failed;
      await route.abort();
    });
    await page.keyboard.press("ArrowRight");
    await page.waitForURL(new RegExp(next));
    await page.locator(".stage.stale").waitFor();
    expect(await page.locator(".stage .legend").count()).toBe(0);
    fail();
    await page.locator(".stage .fault").waitFor();
    expect(await page.locator(".stage").getAttribute("data-shown")).toBe("");
    expect(await page.locator(".stage canvas").count()).toBe(0);
  });
});
