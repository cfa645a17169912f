/*
 * Pictures of every view, light and dark, wide and narrow: `npm run pictures -- LAKE FOLDER [VIEW ...]`, with
 * `PICTURES_LOCALE=zh-CN` in Chinese, for which the machine needs a Chinese font, such as Debian's fonts-wqy-zenhei. They
 * are for looking at: no test compares them. `npm run pictures -- LAKE docs/pictures docs` renews those of the docs.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { hasTables, Lake } from "../../src/lake/lake.js";
import { startWorkspace } from "../../src/ui/start-workspace.js";
import { openBrowser, openPage } from "./open-browser.js";

const [location = "data/demo/lake", folder = "data/pictures", ...chosen] = process.argv.slice(2);
const lake = new Lake(location);
if (!(await hasTables(lake)))
  throw new Error(`${location} has no tables: npm run demo makes such a lake, or name another one`);
const locale = process.env.PICTURES_LOCALE ?? "en-US";
const SIZES = [
  { width: 1400, height: 900 },
  { width: 390, height: 844 },
];
/** The pictures of the docs, each the upper part of a view. */
const DOCS = [
  { file: "workspace-lake", view: "lake", height: 700 },
  { file: "workspace-instrument", view: "instrument", height: 700 },
  { file: "workspace-notebook", view: "editor", height: 900 },
  { file: "workspace-runs", view: "runs", height: 860 },
  { file: "workspace-quality", view: "quality-bars", height: 900 },
] as const;

mkdirSync(folder, { recursive: true });
await using workspace = await startWorkspace(lake, { location });
await using browser = await openBrowser();
const first = await mostTraded(0);
const views: Readonly<Record<string, string>> = {
  lake: "/",
  instrument: `/instrument/${first}`,
  compare: `/instrument/${first}?adjust=none&marks=0&compare=${await mostTraded(1)}`,
  weeks: `/instrument/${first}?period=1w&adjust=backward&log=1`,
  minutes: `/instrument/${first}?period=5m`,
  notebooks: "/notebook",
  notebook: "/notebook/instrument",
  editor: "/notebook/instrument",
  overview: "/notebook/market-overview",
  runs: "/runs",
  run: await firstLink("/runs", "section[aria-labelledby=runs] tbody th a"),
  quality: "/quality",
  "quality-symbols": "/quality/outliers",
  "quality-bars": await firstLink("/quality/outliers", "tbody th a"),
};
if (chosen[0] === "docs")
  for (const { file, view, height } of DOCS) await take(view, { width: 1160, height }, "light", file, false);
else
  for (const view of Object.keys(views))
    for (const viewport of SIZES)
      for (const scheme of ["light", "dark"] as const)
        if (chosen.length === 0 || chosen.includes(view))
          await take(view, viewport, scheme, `${view}-${viewport.width}-${scheme}`, true);

/**
 * Takes a picture of a view. @param file its name without the extension. @param fullPage whether all of the page is in
 * it
 */
async function take(
  view: string,
  viewport: { readonly width: number; readonly height: number },
  colorScheme: "light" | "dark",
  file: string,
  fullPage: boolean,
): Promise<void> {
  const page = await openPage(browser, { viewport, colorScheme, locale });
  await using _ = page.context();
  await page.goto(workspace.address(views[view]));
  await page.waitForSelector("main h1");
  await page.waitForLoadState("networkidle");
  await page.waitForSelector(".hollow, .stale, .busy", { state: "detached" });
  if (view === "editor") {
    await page
      .getByRole("button", { name: /^(Edit|编辑)$/ })
      .nth(1)
      .click({ force: true });
    await page.locator(".cm-content").waitFor();
    // The bar of the parameters stays in view, and would cover the title.
    await page.evaluate("scrollTo(0, 0)");
  }
  const path = join(folder, `${file}.png`);
  await page.screenshot({ path, fullPage });
  process.stdout.write(`${path}\n`);
}

/** Where the first link of a view leads; the view itself where it has none. */
async function firstLink(path: string, selector: string): Promise<string> {
  const page = await openPage(browser);
  await using _ = page.context();
  await page.goto(workspace.address(path));
  await page.waitForLoadState("networkidle");
  await page.waitForSelector(".hollow", { state: "detached" });
  const link = page.locator(selector).first();
  return ((await link.count()) > 0 ? await link.getAttribute("href") : undefined) ?? path;
}

/** An instrument of the list of those that were traded most. @param nth from 0 */
async function mostTraded(nth: number): Promise<string> {
  const page = await openPage(browser);
  await using _ = page.context();
  await page.goto(workspace.address());
  const href = await page.locator(".plain a").nth(nth).getAttribute("href");
  return href?.split("/").at(-1) ?? "";
}
