import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServiceClient } from "../../src/client/service-client.js";
import { systemClock } from "../../src/client/system-clock.js";
import { DAY_MS } from "../../src/core/time.js";
import { Session } from "../../src/db/session/session.js";
import { runImport } from "../../src/jobs/import/run-import.js";
import { Lake } from "../../src/lake/lake.js";
import { BARS_1M } from "../../src/schema/bars.js";
import type { RunPlace } from "../../src/ui/runs/started-runs.js";
import { startWorkspace, type WorkspaceOptions } from "../../src/ui/start-workspace.js";
import { apiLake } from "../api/api-lake.js";
import { openScripted } from "../faults/service/scripted-server.js";
import { json } from "../faults/service/scripted-service.js";
import { dailyBars } from "../jobs/scripted-market.js";
import { land } from "../lake/temporary-lake.js";
import { hasChromium } from "../notebook/chromium.js";
import { HANG_MS, openBrowser } from "./open-browser.js";
import { PATIENT } from "./patient-session.js";
import { openWatched, seriousAgainst } from "./watched-page.js";

/** Real market data: see its SOURCES.md for where it is from and which defects it has. */
const DATA = resolve(process.env.BARLAKE_REALDATA ?? "../shared/realdata");
const hasData = existsSync(join(DATA, "MANIFEST.csv"));
if (!hasData) console.warn(`skipped: no real data at ${DATA}; set BARLAKE_REALDATA to its folder`);

const WAIT = { timeout: HANG_MS };

describe.skipIf(!hasChromium())("a view in the browser", () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-views-"));
  let browser: Browser;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  /** Opens pages of a workspace; at the end it fails with what the pages complained of. */
  async function visited(
    lake: Lake,
    options: WorkspaceOptions,
    visit: (page: Page, open: (path: string) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    await using workspace = await startWorkspace(lake, { limits: PATIENT, ...options });
    await using watched = await openWatched(browser);
    const { page, faults } = watched;
    await visit(page, async (path) => {
      await page.goto(workspace.address(path));
      await page.waitForLoadState("networkidle");
      await page.waitForSelector(".hollow, .stale", { state: "detached" });
    });
    expect(faults).toEqual([]);
  }

  test("minutes are fetched while the chart is scrolled to the past", async () => {
    const lake = new Lake(join(folder, "minutes"), { hasDatabase: false });
    const days = Array.from({ length: 31 }, (_, n) => Date.parse("2024-01-01T09:31:00+08:00") + n * DAY_MS);
    using session = await Session.open();
    const bars = days.flatMap((open) => Array.from({ length: 50 }, (_, n) => ({ at: open + n * 60_000 })));
    await land(session, lake, BARS_1M, bars);
    await visited(lake, {}, async (page, open) => {
      const asked: string[] = [];
      page.on("response", (response) => {
        if (response.url().includes("/api/bars?")) asked.push(response.url());
      });
      await open("/instrument/600519.SH?period=1m");
      await page.locator('.stage[data-shown="600519.SH 1m forward"] canvas').first().waitFor();
      expect(asked.filter((url) => url.includes("to="))).toEqual([]);
      const box = await page.locator(".drawing").boundingBox();
      const [x, y] = [(box?.x ?? 0) + 100, (box?.y ?? 0) + 100];
      const drag = async (): Promise<void> => {
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.move(x + 800, y, { steps: 3 });
        await page.mouse.up();
      };
      await expect
        .poll(async () => {
          await drag();
          return asked.some((url) => url.includes("to=2024-01-2"));
        }, WAIT)
        .toBe(true);
      // What was fetched is drawn: the chart can be moved there.
      await expect
        .poll(async () => {
          await drag();
          return new URL(page.url()).searchParams.get("at") ?? "";
        }, WAIT)
        .toMatch(/^2024-01-(0|1)/);
    });
  });

  test("a refused value in the address leaves the controls, by which the notebook runs", async () => {
    const notebooks = join(folder, "notebooks");
    mkdirSync(notebooks, { recursive: true });
    const text =
      "-- # Bounded\n-- %% param days = 3 max=5\n-- %%\nSELECT 41 AS other;\n-- %%\nSELECT $days AS days;\n";
    writeFileSync(join(notebooks, "bounded.sql"), text);
    await visited(await apiLake(join(folder, "lake")), { notebooks }, async (page, open) => {
      await open("/notebook/bounded?p.days=9");
      await page.locator("[role=alert] >> text=above 5").waitFor();
      const days = page.getByRole("spinbutton", { name: "days" });
      expect(await days.inputValue()).toBe("9");
      expect(await seriousAgainst(page)).toEqual([]);
      await days.fill("4");
      await days.press("Enter");
      await page.locator("td >> text=41").waitFor();
      await page.locator("td >> text=4").last().waitFor();
      expect(await page.locator("[role=alert]").count()).toBe(0);
    });
  });

  test("an open list, a table that scrolls and its files have nothing serious against them", async () => {
    const notebooks = join(folder, "tables");
    mkdirSync(notebooks, { recursive: true });
    writeFileSync(
      join(notebooks, "long.sql"),
      "-- # Long\n-- %%\nSELECT i, i * 2 AS twice FROM range(100000) t(i);\n",
    );
    await visited(await apiLake(join(folder, "lake-tables")), { notebooks }, async (page, open) => {
      await open("/");
      await page.locator("button.month").first().click();
      await page.locator(".missing h3").waitFor();
      expect(await seriousAgainst(page)).toEqual([]);
      await open("/notebook/long");
      const table = page.locator(".table.virtual");
      await table.waitFor();
      await table.evaluate((element) => {
        element.scrollTop = element.scrollHeight / 2;
      });
      await page.locator(".table.virtual td >> text=/^5\\d,?\\d{3}$/").first().waitFor();
      expect(await seriousAgainst(page)).toEqual([]);
    });
  });

  test("a run is started from the page, after its plan was shown, and is among the past ones", async () => {
    const pipelines = join(folder, "pipelines");
    mkdirSync(pipelines, { recursive: true });
    const mine = { name: "mine", kind: "bars", period: "1d", from: "2024-01-08", symbols: ["600519.SH"] };
    writeFileSync(join(pipelines, "mine.mjs"), `export default ${JSON.stringify(mine)};\n`);
    const clock = { ...systemClock, now: () => Date.parse("2024-01-13T00:00:00Z") };
    const service = await openScripted((seen, response) => json(response, 200, { data: dailyBars(seen) }));
    try {
      const limits = { requestsPerMinute: { klines: 60 }, symbolsPerRequest: {}, rowCap: {} };
      const runPlace: RunPlace = {
        kind: "ready",
        host: new URL(service.url).host,
        requestsPerMinute: undefined,
        limits: async () => limits,
        open: async () => {
          const client = new ServiceClient({
            baseUrl: service.url,
            apiKey: "key-of-the-test",
            clock,
            retries: 0,
            timeoutMs: 0,
          });
          const own = { limits, note: undefined, learn: () => {}, saved: async () => {} };
          return { client, limits: own, lost: new AbortController().signal, close: () => client.close() };
        },
      };
      const lake = new Lake(join(folder, "run"), { hasDatabase: false });
      await visited(lake, { pipelines, clock, runPlace }, async (page, open) => {
        await open("/runs");
        const run = page.getByRole("button", { name: "mine: Run …" });
        const dialog = page.getByRole("dialog");
        await run.press("Enter");
        await dialog
          .getByText("at 60 a minute")
          .or(dialog.getByText("600519"))
          .or(dialog.locator("table"))
          .first()
          .waitFor();
        expect(await dialog.locator("p").first().textContent()).toMatch(/^1 requests?/);
        expect(await seriousAgainst(page)).toEqual([]);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
        await run.click();
        await dialog.locator("table").waitFor();
        await dialog.getByRole("button", { name: "Run it" }).click();
        const past = page.locator("section[aria-labelledby=runs] tbody tr");
        await past.first().waitFor();
        expect(await past.first().textContent()).toContain("mine");
        await past.first().locator("a").first().click();
        await page.locator("main >> text=bars_1d").first().waitFor();
      });
    } finally {
      await service.close();
    }
  });

  describe.skipIf(!hasData)("over real data", () => {
    test("market, chart, notebook and data quality show it", async () => {
      const lake = new Lake(join(folder, "real"));
      const files = ["000001.SZ", "000858.SZ", "00700.HK"].map((one) =>
        join(DATA, "bars_1d", `${one}.csv.gz`),
      );
      const options = { map: {}, volumeUnit: "shares", barLabel: "end", runId: "import" } as const;
      await runImport(lake, "bars_1d", files, options, systemClock);
      await visited(lake, {}, async (page, open) => {
        await open("/");
        await page
          .locator("main >> text=000001.SZ")
          .or(page.locator("main >> text=000858.SZ"))
          .first()
          .waitFor();
        expect(await seriousAgainst(page)).toEqual([]);
        await open("/instrument/000858.SZ?period=1M&adjust=backward");
        await page.locator('.stage[data-shown="000858.SZ 1M backward"] canvas').first().waitFor();
        await open("/notebook/instrument?p.symbol=000858.SZ");
        await page.locator("[role=status] >> text=/^ran: /").waitFor();
        await open("/quality/outliers");
        const subject = page.locator("tbody th a").first();
        await subject.or(page.locator(".empty")).first().waitFor();
        await open("/quality");
        await expect.poll(() => page.locator("td >> text=/^(counting|waits)/").count(), WAIT).toBe(0);
        expect(await page.locator(".fault").count()).toBe(0);
      });
    });
  });
});
