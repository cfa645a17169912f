import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { runImport } from "../../src/jobs/import/run-import.js";
import type { Lake } from "../../src/lake/lake.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { vacuum } from "../../src/lake/maintenance/vacuum.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { INSTRUMENTS } from "../../src/schema/reference.js";
import { startWorkspace, type Workspace } from "../../src/ui/start-workspace.js";
import { apiLake, NOW } from "../api/api-lake.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { hasChromium } from "../notebook/chromium.js";
import { openBrowser, openPage } from "./open-browser.js";
import { PATIENT } from "./patient-session.js";

const HOSTILE = '<img src=x onerror="document.title=1">';
/** A page looks for changes within this time, by the clock of the page. */
const SOON_MS = 10_000;

describe.skipIf(!hasChromium())("a page over a lake", () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-changing-"));
  let lake: Lake;
  let workspace: Workspace;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    lake = await apiLake(join(folder, "lake"));
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    workspace = await startWorkspace(lake, { limits: PATIENT });
    page = await openPage(browser);
    await page.clock.install();
  });
  afterEach(async () => {
    await page.context().close();
    await workspace.close();
  });

  const open = async (path: string): Promise<void> => {
    await page.goto(workspace.address(path));
    await page.waitForSelector(".hollow, .stale", { state: "detached" });
  };
  const land = (at: number, line: string): Promise<unknown> => {
    const file = join(folder, `instruments-${at}.csv`);
    writeFileSync(file, `symbol,name,type\n${line}\n`);
    const options = { map: {}, volumeUnit: "shares", barLabel: "end", runId: `import-${at}` } as const;
    return runImport(lake, "instruments", [file], options, virtualClock(at));
  };

  test("a commit shows a quiet sign; the page does not change until the user requests it; a name is text", async () => {
    await open("/");
    const version = "tr:has(th[title^='Instrument metadata']) td:nth-child(5)";
    const before = Number(await page.locator(version).textContent());
    await land(NOW + 3_600_000, `600000.SH,"${HOSTILE.replaceAll('"', '""')}",stock`);
    await page.clock.runFor(SOON_MS);
    await page.waitForSelector(".sign");
    expect(await page.locator(".sign").textContent()).toContain("instruments");
    expect(await page.locator(version).textContent()).toBe(String(before));
    await page.locator(".sign button").click();
    await page.waitForSelector(".sign", { state: "detached" });
    await page.waitForSelector(`${version}:text-is("${before + 1}")`);
    await page.keyboard.press("/");
    await page.keyboard.type("600000");
    await page.waitForSelector("[role=option] >> text=600000.SH");
    expect(await page.locator(".found").textContent()).toContain(HOSTILE);
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1 >> text=onerror");
    expect(await page.locator("#app img").count()).toBe(1);
    expect(await page.title()).toContain(HOSTILE);
  });

  test("the slider puts the whole workspace at an earlier version, which remains while newer ones come", async () => {
    await land(NOW + 7_200_000, "600001.SH,B,stock");
    await open("/");
    await page.locator(".asof > button").click();
    await page.locator("input[type=range]").press("Home");
    await page.waitForURL(/asof=/);
    await page.waitForSelector(".chip.past");
    await land(NOW + 10_800_000, "600002.SH,C,stock");
    await page.clock.runFor(SOON_MS);
    expect(await page.locator(".sign").count()).toBe(0);
    await page.locator("nav a", { hasText: "Instrument" }).click();
    await page.waitForURL(/instrument\/.*asof=/);
    await page.keyboard.press("/");
    await page.keyboard.type("600001");
    await page.waitForSelector("[role=option] >> text=No instrument");
  });

  test("a version whose files a vacuum has deleted says so once, and no table counts as empty", async () => {
    const own = await apiLake(join(folder, "vacuumed"));
    using session = await Session.open();
    const hour = 3_600_000;
    for (const table of [BARS_1D, INSTRUMENTS]) {
      await optimize(
        session,
        own,
        table,
        { runId: "rewritten", codec: "zstd", rewrite: true },
        virtualClock(NOW + hour),
      );
      const { deleted } = await vacuum(own, table, { now: NOW + 2 * hour, retentionMs: 0 });
      expect(deleted.length).toBeGreaterThan(0);
    }
    await using vacuumed = await startWorkspace(own, { limits: PATIENT });
    await page.goto(vacuumed.address(`/?asof=${new Date(NOW + hour / 2).toISOString()}`));
    const fault = page.locator("main > .fault");
    await fault.waitFor();
    expect(await fault.count()).toBe(1);
    expect(await fault.locator("pre").textContent()).toMatch(
      /^bars_1d cannot be read: .*\ninstruments cannot be read: .*$/,
    );
    const market = page.locator("section[aria-labelledby=market]");
    await market.locator("text=bars_1d cannot be read").waitFor();
    expect(await market.locator("text=This brings it").count()).toBe(0);
  });

  test("a lake that disappears is named, and what is shown remains; the page goes on once the lake is back", async () => {
    await open("/");
    await page.locator(".card").first().waitFor();
    const away = join(folder, "away");
    renameSync(lake.location, away);
    try {
      await page.clock.runFor(SOON_MS);
      await page.waitForSelector("[role=alert] >> text=its tables are gone");
      expect(await page.locator(".card").count()).toBeGreaterThan(0);
      expect(await page.locator(".sign").count()).toBe(0);
    } finally {
      renameSync(away, lake.location);
    }
    await page.clock.runFor(SOON_MS);
    await page.waitForSelector("[role=alert]", { state: "detached" });
  });

  test("a server that has ended is reported, and what is shown remains", async () => {
    await open("/");
    await workspace.close();
    await page.clock.runFor(SOON_MS);
    await page.waitForSelector("[role=alert] >> text=does not respond");
    expect(await page.locator(".card").count()).toBeGreaterThan(0);
  });
});
